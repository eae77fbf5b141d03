// Package fuse makes one map of the marks of all raters, and says how each rater marks beside it.
package fuse

import (
	"context"
	"errors"
	"fmt"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/statistics"
)

// Method is a way to fuse marks, by its name in the CSVs.
type Method struct {
	Name string
	Fuse func(p Panel) *fusion.Fit
}

// The methods that need nothing but marks and image.
var (
	MeanVote = Method{"mean-vote", func(p Panel) *fusion.Fit { return fusion.MeanVote(p.Marks) }}
	Majority = Method{"majority", func(p Panel) *fusion.Fit { return fusion.Majority(p.Marks) }}
	STAPLE   = Method{"staple", func(p Panel) *fusion.Fit { return fusion.STAPLE(p.Marks, nil) }}
	// Edges weighs whole marks, or is the majority. It learns from all images.
	Edges = Method{"edges", func(p Panel) *fusion.Fit { return p.Edges.Fuse(p.Marks, p.RGB, p.Width) }}
)

// Panel is what a method may know of a structure in an image.
type Panel struct {
	Class int
	Marks [][]uint8 // by rater; nil for a missing mark
	Width int
	RGB   []uint8       // the image
	Edges *fusion.Edges // from all images; nil before Study.Learn
}

// Request says what to fuse, and how.
type Request struct {
	Out     string // folder
	Methods []Method
	Note    func(text string) // receives what the user should know; nil: nobody does

	// The hooks of whoever does more with images and maps; each may be nil.
	Look  func(ctx context.Context, l *dataset.Loaded) error // before an image is learned from or fused
	Add   func(l *dataset.Loaded, k int)                     // learns from an image
	Learn func()                                             // after all images
	Keep  func(l *dataset.Loaded, k int, fits []Fused) error // takes the maps
}

// Study fuses the marks of a data set and keeps figures of raters.
type Study struct {
	Request
	data  *dataset.Dataset
	cases []dataset.Case
	edges []*fusion.Edges // by class

	raters []RaterRow
	images int // done
}

// New begins a study of cases of a data set.
func New(data *dataset.Dataset, cases []dataset.Case, r Request) *Study {
	if r.Note == nil {
		r.Note = func(string) {}
	}
	return &Study{Request: r, data: data, cases: cases}
}

// Done is the number of images that have been fused.
func (f *Study) Done() int { return f.images }

// Edges is what was learned of class k.
func (f *Study) Edges(k int) *fusion.Edges { return f.edges[k] }

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
func (f *Study) Fuse(l *dataset.Loaded, k int) (all []Fused) {
	p := Panel{Class: k, Marks: l.ByRater(k), Width: l.Image.W, RGB: l.Image.Pix}
	if f.edges != nil {
		p.Edges = f.edges[k]
	}
	for _, method := range f.Methods {
		fit := method.Fuse(p)
		if !fit.Converged {
			f.Note(fmt.Sprintf("%s, %s: %s still changed after %d iterations", l.Name, f.data.Classes[k], method.Name, fusion.MaxIterations))
		}
		all = append(all, Fused{method.Name, fit})
	}
	return all
}

// learn learns the raters from all images.
func (f *Study) learn(ctx context.Context, before func(name, doing string)) error {
	f.edges = make([]*fusion.Edges, len(f.data.Classes))
	for k := range f.edges {
		f.edges[k] = new(fusion.Edges)
	}
	units := dataset.Units(f.cases)
	err := f.each(ctx, "learning the raters", before, func(i int, l *dataset.Loaded) error {
		for k, e := range f.edges {
			e.Add(l.ByRater(k), l.Image.Pix, l.Image.W, statistics.Unit(1+units[i]))
			if f.Add != nil {
				f.Add(l, k)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range f.edges {
		e.Learn()
	}
	if f.Learn != nil {
		f.Learn()
	}
	return nil
}

// Fusing is what is done to an image when its marks are fused.
const Fusing = "fusing"

// fuseAll fuses the images until one fails.
func (f *Study) fuseAll(ctx context.Context, before func(name, doing string)) error {
	return f.each(ctx, Fusing, before, func(_ int, l *dataset.Loaded) error {
		var rows []RaterRow
		for k, class := range f.data.Classes {
			fits := f.Fuse(l, k)
			for _, fit := range fits {
				rows = append(rows, f.rate(fit.Method, l.Name, class, l.ByRater(k), fit.Fit)...)
			}
			if f.Keep == nil {
				continue
			}
			if err := f.Keep(l, k, fits); err != nil {
				return err
			}
		}
		f.raters = append(f.raters, rows...)
		f.images++
		return nil
	})
}

// each reads the images, and then does something with them, until one fails. The error names the
// image or its files.
func (f *Study) each(ctx context.Context, doing string, before func(name, doing string), do func(i int, l *dataset.Loaded) error) error {
	for i, c := range f.cases {
		before(c.Name, doing)
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := dataset.Load(c)
		if errors.Is(err, dataset.ErrLeft) {
			continue
		} else if err != nil {
			return err // it names the files, which have changed since the program checked them
		}
		if f.Look != nil {
			if err := f.Look(ctx, l); err != nil {
				return fmt.Errorf("%s: %w", c.Image, err)
			}
		}
		if err := do(i, l); err != nil {
			return err
		}
	}
	return nil
}
