// Package fuse makes one map of the marks of all raters, and scores it.
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

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/score"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// Request says what to fuse, and how.
type Request struct {
	Data    string            // where the data set lies, for people
	Out     string            // folder
	Methods []string          // those to use; none: all that the data and the network allow
	Figures bool              // no maps are written
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

// Study fuses the marks of a data set and keeps figures of raters and methods.
type Study struct {
	Request
	data    *dataset.Dataset
	cases   []dataset.Case
	units   []int              // by case: the number of its group
	learned []*fusion.Contours // by class
	edges   []*fusion.Edges    // by class
	crowds  []*fusion.MaxMIG   // by class; nil without a network

	raters []raterRow
	scores []scoreRow
	images int // done
}

// New begins a study of cases of a data set.
func New(data *dataset.Dataset, cases []dataset.Case, r Request) *Study {
	if r.Note == nil {
		r.Note = func(string) {}
	}
	return &Study{Request: r, data: data, cases: cases, units: dataset.Units(cases)}
}

// Done is the number of images that have been fused.
func (f *Study) Done() int { return f.images }

// All learns the raters from all images, and then fuses all. before is called before each image, with
// what is done to it.
func (f *Study) All(ctx context.Context, before func(name, doing string)) error {
	if err := f.learn(ctx, before); err != nil {
		return err
	}
	return f.fuseAll(ctx, before)
}

// Fused is what a method makes of the marks of a structure in an image.
type Fused struct {
	Method string
	*fusion.Fit
}

// Fuse fuses the marks of class k by each method.
func (f *Study) Fuse(l *dataset.Loaded, k int) []Fused { return f.fits(l, k, nil) }

func (f *Study) fits(l *dataset.Loaded, k int, seen *Maps) (all []Fused) {
	p := f.panel(k, score.Marks(l, k), l.Image, seen)
	for _, method := range f.methods() {
		fit := method.fuse(p)
		if !fit.Converged {
			f.Note(fmt.Sprintf("%s, %s: %s still changed after %d iterations", l.Name, f.data.Classes[k], method.Name, fusion.MaxIterations))
		}
		all = append(all, Fused{method.Name, fit})
	}
	return all
}

// fuse fuses and writes all structures of an image, and keeps their figures.
func (f *Study) fuse(l *dataset.Loaded, seen *Maps) error {
	var raters []raterRow
	var scores []scoreRow
	for k, class := range f.data.Classes {
		var vote [len(scoreNames)]float64 // of the mean vote, which is the first method
		mask, err := score.ReadTruth(l.Case, class)
		if err != nil {
			return err
		}
		for _, fit := range f.fits(l, k, seen) {
			if !f.Figures {
				if err := writeMap(f.Out, filepath.Join(fit.Method, class), l.Name+".png", fit.Map, l.Image.W, l.Image.H); err != nil {
					return err
				}
			}
			raters = append(raters, f.rate(fit.Method, l.Name, class, score.Marks(l, k), fit.Fit)...)
			if mask != nil {
				row := scoreMap(score.TargetOf(l, k, mask), fit.Method, l.Name, class, fit.Map)
				row.Unit = statistics.Unit(1 + f.units[f.images])
				if fit.Method == meanVote {
					vote = row.figures
				}
				for j, v := range vote {
					row.gains[j] = row.figures[j] - v
				}
				scores = append(scores, row)
			}
		}
	}
	f.raters, f.scores = append(f.raters, raters...), append(f.scores, scores...)
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
