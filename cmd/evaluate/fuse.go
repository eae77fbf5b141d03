package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/app/command"
	"mrprism/internal/app/segment"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
	"mrprism/model"
)

const meanVote = "mean-vote" // the method with which the others are compared

// fusionMethods are the methods by the names of their folders and in the CSVs.
var fusionMethods = []struct {
	name string
	fuse func(p panel) *fusion.Fit
}{
	{meanVote, func(p panel) *fusion.Fit { return fusion.MeanVote(p.marks) }},
	{"staple", func(p panel) *fusion.Fit { return fusion.STAPLE(p.marks, nil) }},
	{"dawid-skene", func(p panel) *fusion.Fit { return fusion.DawidSkene(p.marks, p.prior) }},
	{"contours", func(p panel) *fusion.Fit { return p.learned.Fuse(p.marks, p.width) }},
}

// panel is what a method may know of a structure in an image.
type panel struct {
	marks   [][]uint8 // by rater; nil for a missing mark
	width   int
	prior   []float32        // the network's mask, or nil
	learned *fusion.Contours // from all images
}

// fuser fuses the marks of a data set and keeps figures of raters and methods.
type fuser struct {
	out, region string
	data        *dataset.Dataset
	session     *command.Session   // nil without -weights
	column      []int              // by class: the model's
	learned     []*fusion.Contours // by class
	progress    *command.Progress

	raters []raterRow
	scores []scoreRow
	images int // done
}

// runFuse is the program as "evaluate fuse"; it returns the exit code.
func runFuse(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f fuser
	var dir string
	var named *string
	var precision *model.Precision
	var device command.Device
	flags := command.NewGroups()
	flags.Add("flags", func(set *flag.FlagSet) {
		set.StringVar(&dir, "data", "", "`DIR`: a data set of named raters, as \"train -h\" describes it")
		set.StringVar(&f.out, "out", "", "new or empty folder `DIR` for the maps and the CSVs")
	})
	flags.Add("with a network", func(set *flag.FlagSet) {
		named = command.WeightsFlag(set)
		set.StringVar(&f.region, "roi", "none", "`REGION` of the images that the network sees: none (the whole image) or auto (search the image first)")
	})
	flags.Add("computing, with -weights", func(set *flag.FlagSet) {
		precision, device = command.PrecisionFlag(set), command.DeviceFlags(set)
	})
	p := command.Program{Name: program + " fuse", Intro: fuseIntro + "  " + command.Shipped() + "\n", Examples: fuseExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		given := flags.Given()
		switch {
		case len(rest) > 0:
			return command.Wrong("unexpected argument %q; give the data set as -data DIR", rest[0])
		case dir == "":
			return command.Wrong("which data? give -data DIR")
		case strings.Contains(dir, ","):
			return command.Wrong("-data %s: fuse one data set at a time", dir)
		case f.out == "":
			return command.Wrong("where to? give -out DIR")
		case f.region != "none" && f.region != "auto":
			return command.Wrong("-roi %s: choose none or auto", f.region)
		}
		for _, name := range []string{"roi", "precision", "device", "dawn-lib"} {
			if given[name] && *named == "" {
				return command.Wrong("-%s needs -weights", name)
			}
		}
		if err := device.Check(); err != nil {
			return err
		}
		if err := f.open(dir, *named); err != nil {
			return err
		}
		in := &input{data: f.data, cases: f.data.Cases}
		if err := in.check(ctx, f.data.Classes, stderr); err != nil {
			return err
		}
		f.progress = command.NewProgress(stderr, len(f.data.Cases))
		if f.session != nil {
			f.session.Precision, f.session.Open = *precision, device.Open
			f.session.Note = func(text string) { f.progress.Note(p.Name, text) }
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
		return errors.Join(stopped, f.deliver(dir, stdout))
	})
}

// open opens the data set and the weights, and checks that the maps can be written.
func (f *fuser) open(dir, named string) (err error) {
	if err := vacant(f.out); err != nil {
		return err
	}
	if f.data, err = dataset.Open(dir); err != nil {
		return err
	}
	if f.data.Levels {
		return fmt.Errorf("%s: the labels are agreement levels. They say how many experts marked a pixel and not who, so that no expert's rates can be estimated: give a data set of named raters", dir)
	}
	if named == "" {
		return nil
	}
	m, err := command.Weights(named)
	if err != nil {
		return err
	}
	about := &m.Metadata
	if f.region == "auto" && about.Anchor == "" {
		return fmt.Errorf("%s does not search photographs (it was trained without -anchor): leave -roi auto out", about.Name)
	}
	for _, class := range f.data.Classes {
		k := slices.Index(about.Classes, class)
		if k < 0 {
			return fmt.Errorf("%s: %s does not segment the %s, but %s: leave -weights out, or give weights of all classes of the data", dir, about.Name, class, strings.Join(about.Classes, ", "))
		}
		f.column = append(f.column, k)
	}
	f.session = &command.Session{Model: m}
	return nil
}

// learn learns the raters from all images.
func (f *fuser) learn(ctx context.Context) error {
	for k := range f.data.Classes {
		learned := fusion.NewContours(len(f.data.Raters))
		for _, c := range f.data.Cases {
			if err := ctx.Err(); err != nil {
				return err
			}
			f.progress.Show("%s: learning the raters", c.Name)
			marks := make([][]uint8, len(c.Masks))
			for m, paths := range c.Masks {
				if paths[k] == "" {
					continue
				}
				var err error
				if marks[m], err = c.Mask(paths[k]); err != nil {
					return err
				}
			}
			learned.Add(marks, c.W)
		}
		learned.Learn()
		f.learned = append(f.learned, learned)
	}
	return nil
}

// fuseAll fuses the images until one fails. The error names that image.
func (f *fuser) fuseAll(ctx context.Context) error {
	for _, c := range f.data.Cases {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.progress.Begin()
		f.progress.Show("%s: reading", c.Name)
		l, err := dataset.Load(c)
		if err != nil {
			return err // it names the files, which have changed since input.check
		}
		priors, err := f.priors(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Image, err)
		}
		f.progress.Show("%s: fusing", c.Name)
		if err := f.fuse(l, priors); err != nil {
			return err
		}
		f.images++
	}
	return nil
}

// priors are the network's maps of an image by class. A map is nil without a network, and if the
// network found nothing.
func (f *fuser) priors(ctx context.Context, l *dataset.Loaded) (priors [][]float32, err error) {
	priors = make([][]float32, len(f.data.Classes))
	if f.session == nil {
		return priors, nil
	}
	f.progress.Show("%s: segmenting", l.Name)
	o := segment.Options{Recurrences: segment.Feedbacks(&f.session.Model.Metadata), ROI: f.region}
	err = f.session.Do(ctx, func(e *segment.Engine) error {
		r, err := e.Segment(ctx, l.Image, o)
		if err == nil && r.Found {
			priors = each(len(priors), func(k int) []float32 { return r.Probability(f.column[k]) })
		} else if err == nil {
			f.session.Note(l.Name + ": the network found nothing; Dawid–Skene estimates the prior from the marks")
		}
		return err
	})
	return priors, err
}

// fuse fuses and writes all structures of an image, and keeps their figures.
func (f *fuser) fuse(l *dataset.Loaded, priors [][]float32) error {
	var raters []raterRow
	var scores []scoreRow
	for k, class := range f.data.Classes {
		marks := each(len(l.Masks), func(m int) []uint8 { return l.Masks[m][k] })
		mask, err := readTruth(l.Case, class)
		if err != nil {
			return err
		}
		for _, method := range fusionMethods {
			fit := method.fuse(panel{marks, l.Image.W, priors[k], f.learned[k]})
			if !fit.Converged {
				f.progress.Note(program+" fuse", fmt.Sprintf("%s, %s: %s still changed after %d iterations", l.Name, class, method.name, fusion.MaxIterations))
			}
			if err := writeMap(filepath.Join(f.out, method.name, class, l.Name+".png"), fit.Map, l.Image.W, l.Image.H); err != nil {
				return err
			}
			raters = append(raters, f.rate(method.name, l.Name, class, marks, fit)...)
			if mask != nil {
				scores = append(scores, score(newTruth(mask, metric.Count(l.Given(k)...)), method.name, l.Name, class, fit.Map))
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
