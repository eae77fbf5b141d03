package fuse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/score"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
)

const (
	meanVote = "mean-vote" // the method with which the others are compared
	edges    = "edges"     // the method that weighs whole marks
)

// fusionMethod is a way to fuse marks, by the name of its folder and in the CSVs.
type fusionMethod struct {
	Name  string
	Needs need
	fuse  func(p panel) *fusion.Fit
}

// need is what a method needs beside the marks.
type need int

const (
	MarksAlone need = iota
	aNetwork
	itsRaters // a network with a head for each rater of the data
	itsTrust  // a network that says how far it trusts each of them
)

var Methods = []fusionMethod{
	{meanVote, MarksAlone, func(p panel) *fusion.Fit { return fusion.MeanVote(p.marks) }},
	{"majority", MarksAlone, func(p panel) *fusion.Fit { return fusion.Majority(p.marks) }},
	{"staple", MarksAlone, func(p panel) *fusion.Fit { return fusion.STAPLE(p.marks, nil) }},
	{"dawid-skene", MarksAlone, func(p panel) *fusion.Fit { return fusion.DawidSkene(p.marks, nil) }},
	{"contours", MarksAlone, func(p panel) *fusion.Fit { return p.learned.Fuse(p.marks, p.width) }},
	{edges, MarksAlone, func(p panel) *fusion.Fit { return p.edges.Fuse(p.marks, p.rgb, p.width) }},
	{"dawid-skene-prior", aNetwork, func(p panel) *fusion.Fit { return fusion.DawidSkene(p.marks, p.prior) }},
	{"max-mig", aNetwork, func(p panel) *fusion.Fit { return p.crowd.Fuse(p.marks, p.prior) }},
	{"mrprism", itsRaters, func(p panel) *fusion.Fit {
		if p.heads == nil {
			return fusion.MeanVote(p.marks)
		}
		return fusion.Likely(p.marks, p.heads)
	}},
	{"diag", itsTrust, func(p panel) *fusion.Fit {
		if p.heads == nil {
			return fusion.MeanVote(p.marks)
		}
		return fusion.Trusted(p.marks, p.heads)
	}},
}

// methods are those that the network, if there is one, allows.
func (f *Study) methods() []fusionMethod {
	n := cmp.Or(f.Network, &Network{})
	has := map[need]bool{MarksAlone: true, aNetwork: f.Network != nil, itsRaters: n.Heads && !n.Trusts, itsTrust: n.Heads && n.Trusts}
	return statistics.Filter(Methods, func(m fusionMethod) bool { return has[m.Needs] && f.uses(m.Name) })
}

func (f *Study) uses(method string) bool {
	return f.Methods == nil || slices.Contains(f.Methods, method)
}

// panel is what a method may know of a structure in an image.
type panel struct {
	marks   [][]uint8 // by rater; nil for a missing mark
	width   int
	rgb     []uint8          // the image
	prior   []float32        // the network's mask, or nil
	heads   [][]float32      // the network's map of each rater, or nil: what he marks, or how far it trusts him
	learned *fusion.Contours // from all images
	edges   *fusion.Edges    // from all images
	crowd   *fusion.MaxMIG   // from all images; nil without a network
}

// panel gathers what is known of class k. seen is nil without a network, and if it found nothing.
func (f *Study) panel(k int, marks [][]uint8, image *imageio.Image, seen *Maps) panel {
	p := panel{marks: marks, width: image.W, rgb: image.Pix}
	if f.learned != nil {
		p.learned, p.edges = f.learned[k], f.edges[k]
	}
	if f.crowds != nil {
		p.crowd = f.crowds[k]
	}
	if seen != nil {
		p.prior = seen.Masks[k]
		if seen.Heads != nil {
			p.heads = seen.Heads[k]
		}
	}
	return p
}

// learn learns the raters from all images, and beside a network what it makes of them.
func (f *Study) learn(ctx context.Context, before func(name, doing string)) error {
	for range f.data.Classes {
		f.learned = append(f.learned, fusion.NewContours(len(f.data.Raters)))
		f.edges = append(f.edges, new(fusion.Edges))
		if f.Network != nil {
			f.crowds = append(f.crowds, fusion.NewMaxMIG(len(f.data.Raters)))
		}
	}
	err := f.each(ctx, "learning the raters", before, func(l *dataset.Loaded, seen *Maps) error {
		for k := range f.data.Classes {
			marks := score.Marks(l, k)
			if f.uses("contours") {
				f.learned[k].Add(marks, l.Image.W)
			}
			f.edges[k].Add(marks, l.Image.Pix, l.Image.W)
			if seen != nil {
				f.crowds[k].Add(marks, seen.Masks[k])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for k := range f.learned {
		f.learned[k].Learn()
		f.edges[k].Learn()
		if f.crowds != nil {
			f.crowds[k].Learn()
		}
	}
	return nil
}

// Fusing is what is done to an image when its marks are fused.
const Fusing = "fusing"

// fuseAll fuses the images until one fails.
func (f *Study) fuseAll(ctx context.Context, before func(name, doing string)) error {
	return f.each(ctx, Fusing, before, func(l *dataset.Loaded, seen *Maps) error {
		if seen == nil && f.Network != nil {
			f.Note(l.Name + ": the network found nothing; dawid-skene-prior estimates the prior from the marks")
		}
		if err := f.fuse(l, seen); err != nil {
			return err
		}
		f.images++
		return nil
	})
}

// each reads and segments the images, and then does something with them, until one fails. seen is
// nil without a network, and if it found nothing. The error names the image or its files.
func (f *Study) each(ctx context.Context, doing string, before func(name, doing string), do func(l *dataset.Loaded, seen *Maps) error) error {
	for _, c := range f.cases {
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
		var seen *Maps
		if f.Network != nil {
			if seen, err = f.Network.See(ctx, l.Image); err != nil {
				return fmt.Errorf("%s: %w", c.Image, err)
			}
		}
		if err := do(l, seen); err != nil {
			return err
		}
	}
	return nil
}
