package main

import (
	"bytes"
	"cmp"
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

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"
)

// fuseRequest holds the flags of evaluate fuse.
type fuseRequest struct {
	data, out, region string
	on, split         string  // which images
	weights           *string // empty without a network
	precision         *model.Precision
	device            command.Device
}

// fuser fuses the marks of a data set and keeps figures of raters and methods.
type fuser struct {
	fuseRequest
	data     *dataset.Dataset
	cases    []dataset.Case
	session  *command.Session   // nil without -weights
	column   []int              // by class: the model's
	heads    bool               // the network has a map of each of these raters
	trusts   bool               // they say how far it trusts him, and not what he marks
	learned  []*fusion.Contours // by class
	crowds   []*fusion.MaxMIG   // by class; nil without a network
	progress *command.Progress

	raters []raterRow
	scores []scoreRow
	images int // done
}

// runFuse is the program as "evaluate fuse"; it returns the exit code.
func runFuse(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r fuseRequest
	flags := cli.NewGroups()
	flags.Add("flags", func(set *flag.FlagSet) {
		set.StringVar(&r.data, "data", "", "`DIR`: a data set of named raters, as \"train -h\" describes it")
		set.StringVar(&r.on, "on", "all", "`PART` of -data to fuse, and to learn the raters from: all, train, validation or test")
		set.StringVar(&r.split, "split", "", "`FILE` that lists the images for train, validation and test, in place of split.json in the data's folder. Without both every fifth image is held out, or every fifth group of groups.csv")
		set.StringVar(&r.out, "out", "", "new or empty folder `DIR` for the maps and the CSVs")
	})
	flags.Add("with a network", func(set *flag.FlagSet) {
		r.weights = command.WeightsFlag(set)
		set.StringVar(&r.region, "roi", "none", "`REGION` of the images that the network sees: none (the whole image) or auto (search the image first)")
	})
	flags.Add("computing, with -weights", func(set *flag.FlagSet) {
		r.precision, r.device = command.PrecisionFlag(set), command.DeviceFlags(set)
	})
	p := cli.Program{Name: program + " fuse", Intro: fuseIntro + "  " + command.Shipped() + "\n", Examples: fuseExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if err := cmp.Or(checkFuse(&r, rest, flags.Given()), r.device.Check()); err != nil {
			return err
		}
		return fuseMarks(ctx, r, stdout, stderr)
	})
}

// fuseMarks fuses the marks of all images and delivers maps and figures.
func fuseMarks(ctx context.Context, r fuseRequest, stdout, stderr io.Writer) error {
	f := fuser{fuseRequest: r}
	if err := f.open(); err != nil {
		return err
	}
	if err := checkImages(ctx, f.cases, nil, f.data.Classes, stderr); err != nil {
		return err
	}
	f.progress = command.NewProgress(stderr, len(f.cases))
	if f.session != nil {
		f.session.Precision, f.session.Open = *r.precision, r.device.Open
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

// checkFuse returns an error of usage.
func checkFuse(f *fuseRequest, rest []string, given map[string]bool) error {
	switch {
	case len(rest) > 0:
		return cli.Wrong("unexpected argument %q; give the data set as -data DIR", rest[0])
	case f.data == "":
		return cli.Wrong("which data? give -data DIR")
	case strings.Contains(f.data, ","):
		return cli.Wrong("-data %s: fuse one data set at a time", f.data)
	case f.out == "":
		return cli.Wrong("where to? give -out DIR")
	case !slices.Contains(parts, f.on):
		return cli.Wrong("-on %s: choose %s", f.on, partNames)
	case f.region != "none" && f.region != "auto":
		return cli.Wrong("-roi %s: choose none or auto", f.region)
	}
	for _, name := range []string{"roi", "precision", "device", "dawn-lib"} {
		if given[name] && *f.weights == "" {
			return cli.Wrong("-%s needs -weights", name)
		}
	}
	return nil
}

// open opens the data set and the weights, and checks that the maps can be written.
func (f *fuser) open() (err error) {
	if err := vacant(f.out); err != nil {
		return err
	}
	if f.data, err = openDivided(f.split, f.fuseRequest.data); err != nil {
		return err
	}
	if f.cases, err = partOf(f.data, f.on); err != nil {
		return err
	}
	if f.data.Levels {
		return fmt.Errorf("%s: the labels are agreement levels. They say how many experts marked a pixel and not who, so that no expert's rates can be estimated: give a data set of named raters", f.fuseRequest.data)
	}
	if *f.weights == "" {
		return nil
	}
	m, err := command.Weights(*f.weights)
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
			return fmt.Errorf("%s: %s does not segment the %s, but %s: leave -weights out, or give weights of all classes of the data", f.fuseRequest.data, about.Name, class, strings.Join(about.Classes, ", "))
		}
		f.column = append(f.column, k)
	}
	f.trusts = segment.Trusts(about)
	f.heads = (segment.HasHeads(about) || f.trusts) && about.Labels != weights.LabelsAgreementLevels && slices.Equal(about.Raters, f.data.Raters)
	f.session = &command.Session{Model: m}
	return nil
}

// fuse fuses and writes all structures of an image, and keeps their figures.
func (f *fuser) fuse(l *dataset.Loaded, seen *networkMaps) error {
	var raters []raterRow
	var scores []scoreRow
	for k, class := range f.data.Classes {
		marks := each(len(l.Masks), func(m int) []uint8 { return l.Masks[m][k] })
		mask, err := readTruth(l.Case, class)
		if err != nil {
			return err
		}
		for _, method := range f.methods() {
			fit := method.fuse(f.panel(k, marks, l.Image.W, seen))
			if !fit.Converged {
				f.progress.Note("evaluate fuse", fmt.Sprintf("%s, %s: %s still changed after %d iterations", l.Name, class, method.name, fusion.MaxIterations))
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
