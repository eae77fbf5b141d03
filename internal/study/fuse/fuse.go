// Package fuse makes one map of the marks of all raters, and scores it.
package fuse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
	"mrprism/model"
	"mrprism/weights"
)

// Request holds the flags of evaluate fuse.
type Request struct {
	score.Images
	Out       string   // folder
	Weights   string   // empty without a network
	Methods   []string // those to use; none: all that the data and the network allow
	Precision model.Precision
	Device    command.Opener
}

// fusionStudy fuses the marks of a data set and keeps figures of raters and methods.
type fusionStudy struct {
	Request
	data     *dataset.Dataset
	cases    []dataset.Case
	units    []int              // by case: the number of its group
	session  *command.Session   // nil without -weights
	column   []int              // by class: the model's
	heads    bool               // the network has a map of each of these raters
	trusts   bool               // they say how far it trusts him, and not what he marks
	learned  []*fusion.Contours // by class
	edges    []*fusion.Edges    // by class
	crowds   []*fusion.MaxMIG   // by class; nil without a network
	progress *command.Progress

	raters []raterRow
	scores []scoreRow
	images int // done
}

// Run fuses the marks of all images and delivers maps and figures.
func Run(ctx context.Context, r Request, stdout, stderr io.Writer) error {
	f := fusionStudy{Request: r}
	if err := f.open(); err != nil {
		return err
	}
	if err := score.CheckImages(ctx, f.cases, nil, f.data.Classes, stderr); err != nil {
		return err
	}
	f.progress = command.NewProgress(stderr, len(f.cases))
	if f.session != nil {
		f.session.Precision, f.session.Open = r.Precision, r.Device
		f.session.Note = func(text string) { f.progress.Note("evaluate fuse", text) }
		defer f.session.Close()
	}
	stopped := f.learn(ctx)
	if stopped == nil {
		stopped = f.fuseAll(ctx)
	}
	f.progress.Clear()
	if f.images == 0 {
		return stopped
	}
	return errors.Join(stopped, f.deliver(stdout))
}

// open opens the data set and the weights, and checks that the maps can be written.
func (f *fusionStudy) open() (err error) {
	if err := report.CheckVacant(f.Out); err != nil {
		return err
	}
	if f.data, err = f.Images.Open(); err != nil {
		return err
	}
	if f.cases, err = f.Part(f.data); err != nil {
		return err
	}
	f.units = dataset.Units(f.cases)
	if f.data.Levels {
		return fmt.Errorf("%s: the labels are agreement levels. They say how many experts marked a pixel and not who, so that no expert's rates can be estimated: give a data set of named raters", f.Images.Data)
	}
	if f.Weights == "" {
		return nil
	}
	m, err := command.Weights(f.Weights)
	if err != nil {
		return err
	}
	about := &m.Metadata
	if err := f.Searched(about); err != nil {
		return err
	}
	for _, class := range f.data.Classes {
		k := slices.Index(about.Classes, class)
		if k < 0 {
			return fmt.Errorf("%s: %s does not segment the %s, but %s: leave -weights out, or give weights of all classes of the data", f.Images.Data, about.Name, class, strings.Join(about.Classes, ", "))
		}
		f.column = append(f.column, k)
	}
	f.trusts = segment.Trusts(about)
	f.heads = (segment.HasHeads(about) || f.trusts) && about.Labels != weights.LabelsAgreementLevels && slices.Equal(about.Raters, f.data.Raters)
	f.session = &command.Session{Model: m}
	return nil
}

// fuse fuses and writes all structures of an image, and keeps their figures.
func (f *fusionStudy) fuse(l *dataset.Loaded, seen *networkMaps) error {
	var raters []raterRow
	var scores []scoreRow
	for k, class := range f.data.Classes {
		marks := score.Marks(l, k)
		var vote [len(scoreNames)]float64 // of the mean vote, which is the first method
		mask, err := score.ReadTruth(l.Case, class)
		if err != nil {
			return err
		}
		for _, method := range f.methods() {
			fit := method.fuse(f.panel(k, marks, l.Image, seen))
			if !fit.Converged {
				f.progress.Note("evaluate fuse", fmt.Sprintf("%s, %s: %s still changed after %d iterations", l.Name, class, method.Name, fusion.MaxIterations))
			}
			if err := writeMap(filepath.Join(f.Out, method.Name, class, l.Name+".png"), fit.Map, l.Image.W, l.Image.H); err != nil {
				return err
			}
			raters = append(raters, f.rate(method.Name, l.Name, class, marks, fit)...)
			if mask != nil {
				row := scoreMap(score.TargetOf(l, k, mask), method.Name, l.Name, class, fit.Map)
				row.Unit = statistics.Unit(1 + f.units[f.images])
				if method.Name == meanVote {
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
func writeMap(path string, p []float64, w, h int) error {
	m := image.NewGray16(image.Rect(0, 0, w, h))
	for i, v := range p {
		level := uint16(math.Ceil(v*math.MaxUint16 - 0.5))
		m.Pix[2*i], m.Pix[2*i+1] = uint8(level>>8), uint8(level)
	}
	var data bytes.Buffer
	if err := png.Encode(&data, m); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return command.WriteFile(path, data.Bytes())
}
