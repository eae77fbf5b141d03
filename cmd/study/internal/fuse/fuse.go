// Package fuse fuses marks in more ways than the page does, beside a network too, and scores the
// maps by a truth.
package fuse

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"path/filepath"

	"mrprism/cmd/study/internal/score"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
	"mrprism/internal/study/fuse"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// Fusing is what is done to an image when its marks are fused.
const Fusing = fuse.Fusing

// Request says what to fuse, and how.
type Request struct {
	Data    string            // where the data set lies, for people
	Out     string            // folder
	Network *Network          // that segments the images of the data set; nil: there is none
	Note    func(text string) // receives what the user should know; nil: nobody does
}

// Network is what methods use of a network.
type Network struct {
	Name   string
	Heads  bool // it has a map of each of the raters
	Trusts bool // the maps say how far it trusts a rater, and not what he marks
	// See segments an image. It returns nil if the network found nothing.
	See   func(ctx context.Context, img *imageio.Image) (*Maps, error)
	Close func()
}

// Maps are what a network makes of an image.
type Maps struct {
	Masks [][]float32   // by class of the data set
	Heads [][][]float32 // by class and rater; nil without Network.Heads
}

// Study fuses the marks of a data set, writes the maps, and keeps figures of raters and methods.
type Study struct {
	*fuse.Study
	Network *Network
	from    string // where the data set lies
	data    *dataset.Dataset
	cases   []dataset.Case
	units   []int       // by case: the number of its group
	learned []*Contours // by class
	crowds  []*MaxMIG   // by class; nil without a network
	seen    *Maps       // of the present image

	rows   []scoreRow // of the present image
	scores []scoreRow
}

// New begins a study of cases of a data set.
func New(data *dataset.Dataset, cases []dataset.Case, r Request) *Study {
	s := &Study{Network: r.Network, from: r.Data, data: data, cases: cases, units: dataset.Units(cases)}
	for range data.Classes {
		s.learned = append(s.learned, NewContours(len(data.Raters)))
		if r.Network != nil {
			s.crowds = append(s.crowds, NewMaxMIG(len(data.Raters)))
		}
	}
	s.Study = fuse.New(data, cases, fuse.Request{Out: r.Out, Methods: s.methods(), Note: r.Note, Look: s.look, Add: s.add, Learn: s.learn, Keep: s.keep})
	return s
}

// look segments an image.
func (s *Study) look(ctx context.Context, l *dataset.Loaded) (err error) {
	if s.Network != nil {
		s.seen, err = s.Network.See(ctx, l.Image)
	}
	return err
}

// keep writes and scores the maps of class k.
func (s *Study) keep(l *dataset.Loaded, k int, fits []fuse.Fused) error {
	if k == 0 {
		s.rows = nil
		if s.seen == nil && s.Network != nil {
			s.Note(l.Name + ": the network found nothing; dawid-skene-prior estimates the prior from the marks")
		}
	}
	class := s.data.Classes[k]
	mask, err := l.Case.Truth(class)
	if err != nil {
		return err
	}
	var vote [len(scoreNames)]float64 // of the mean vote, which is the first method
	for _, fit := range fits {
		if err := writeMap(s.Out, filepath.Join(fit.Method, class), l.Name+".png", fit.Map, l.Image.W, l.Image.H); err != nil {
			return err
		}
		if mask == nil {
			continue
		}
		row := scoreMap(score.TargetOf(l, k, mask), fit.Method, l.Name, class, fit.Map)
		row.Unit = statistics.Unit(1 + s.units[s.Done()])
		if fit.Method == fuse.MeanVote.Name {
			vote = row.figures
		}
		for j, v := range vote {
			row.gains[j] = row.figures[j] - v
		}
		s.rows = append(s.rows, row)
	}
	if k == len(s.data.Classes)-1 {
		s.scores = append(s.scores, s.rows...)
	}
	return nil
}

// writeMap writes a map (h·w) of 0..1 as a grey PNG of 16 bits, whole or not at all. It rounds
// halves down: one half, a tie of votes, stays below the middle.
func writeMap(folder, within, name string, p []float64, w, h int) error {
	m := image.NewGray16(image.Rect(0, 0, w, h))
	for i, v := range p {
		level := uint16(math.Ceil(v*math.MaxUint16 - 0.5))
		m.Pix[2*i], m.Pix[2*i+1] = uint8(level>>8), uint8(level)
	}
	var data bytes.Buffer
	if err := png.Encode(&data, m); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	path, err := disk.Folder(folder, within)
	if err != nil {
		return err
	}
	return weights.WriteAtomic(filepath.Join(path, name), func(w io.Writer) error {
		_, err := data.WriteTo(w)
		return err
	})
}
