package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrprism/cmd/study/internal/display"
	"mrprism/cmd/study/internal/fuse"
	"mrprism/cmd/study/internal/input"
	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/model"
)

// runFuse is the program as "evaluate fuse"; it returns the exit code.
func runFuse(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var images input.Images
	var out string
	var weights *string
	var precision *model.Precision
	var device *computing.Device
	flags := cli.NewGroups()
	flags.Add("flags", func(set *flag.FlagSet) {
		set.StringVar(&images.Data, "data", "", "`DIR`: a data set of named raters, as \"train -h\" describes it. The raters are learned from the part that is fused, which is all of it without -on")
		set.StringVar(&out, "out", "", "new or empty folder `DIR` for the maps and the CSVs")
	})
	flags.Add("with a network", func(set *flag.FlagSet) {
		weights = computing.WeightsFlag(set)
	})
	flags.AddFrom(program, func(set *flag.FlagSet) {
		imageFlags(set, &images, "all")
		precision, device = computing.Flags(set)
	})
	p := cli.Program{Name: program + " fuse", Intro: fuseIntro + "  " + computing.Shipped() + "\n", Examples: fuseExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if err := cmp.Or(wrong(images.Check()), checkFuse(images, out, *weights, rest, flags.Given()), device.Check()); err != nil {
			return err
		}
		return fuseMarks(ctx, images, out, *weights, &segment.Session{Precision: *precision, Open: device.Open}, stdout, stderr)
	})
}

// fuseMarks fuses the marks of images and delivers maps and figures. weights may be empty; the
// session has no model yet.
func fuseMarks(ctx context.Context, images input.Images, out, weights string, s *segment.Session, stdout, stderr io.Writer) error {
	data, err := images.Open()
	if err == nil {
		err = display.CheckVacant(out)
	}
	if err != nil {
		return err
	}
	cases, err := images.Part(data)
	if err != nil {
		return err
	}
	if data.Levels {
		return fmt.Errorf("%s: the labels are agreement levels. They say how many experts marked a pixel and not who, so that no expert's rates can be estimated: give a data set of named raters", images.Data)
	}
	r := fuse.Request{Data: images.Data, Out: out}
	if weights != "" {
		if r.Network, err = network(s, weights, data, images); err != nil {
			return err
		}
		defer r.Network.Close()
	}
	if err := input.CheckImages(ctx, cases, nil, data.Classes, stderr); err != nil {
		return err
	}
	progress := command.NewProgress(stderr, len(cases))
	r.Note = func(text string) { progress.Note("evaluate fuse", text) }
	s.Note = r.Note
	f := fuse.New(data, cases, r)
	stopped := f.All(ctx, func(name, doing string) {
		if doing == fuse.Fusing {
			progress.Begin()
		}
		progress.Show("%s: %s", name, doing)
	})
	progress.Clear()
	if f.Done() == 0 {
		return stopped
	}
	return errors.Join(stopped, f.Save(), f.Document().Print(stdout))
}

// checkFuse returns an error of usage.
func checkFuse(images input.Images, out, weights string, rest []string, given map[string]bool) error {
	switch {
	case len(rest) > 0:
		return cli.Wrong("unexpected argument %q; give the data set as -data DIR", rest[0])
	case images.Data == "":
		return cli.Wrong("which data? give -data DIR")
	case strings.Contains(images.Data, ","):
		return cli.Wrong("-data %s: fuse one data set at a time", images.Data)
	case out == "":
		return cli.Wrong("where to? give -out DIR")
	}
	for _, name := range []string{"roi", "precision", "device"} {
		if given[name] && weights == "" {
			return cli.Wrong("-%s needs -weights", name)
		}
	}
	return nil
}

// network opens weights for a fusion. The session has no model yet.
func network(s *segment.Session, nameOrFile string, data *dataset.Dataset, images input.Images) (*fuse.Network, error) {
	m, err := computing.Weights(nameOrFile)
	if err != nil {
		return nil, err
	}
	about := &m.Metadata
	if err := images.Searched(about); err != nil {
		return nil, err
	}
	var column []int // by class of the data: the model's
	for _, class := range data.Classes {
		k := slices.Index(about.Classes, class)
		if k < 0 {
			return nil, fmt.Errorf("%s: %s does not segment the %s, but %s: leave -weights out, or give weights of all classes of the data", images.Data, about.Name, class, strings.Join(about.Classes, ", "))
		}
		column = append(column, k)
	}
	s.Model = m
	n := &fuse.Network{Name: about.Name, Trusts: segment.Trusts(about), Close: s.Close}
	n.Heads = (segment.HasHeads(about) || n.Trusts) && input.SameRaters(about, data)
	o := segment.Options{Recurrences: segment.Feedbacks(about), ROI: images.Region}
	n.See = func(ctx context.Context, img *imageio.Image) (seen *fuse.Maps, err error) {
		err = s.Do(ctx, func(e *segment.Engine) error {
			r, err := e.Segment(ctx, img, o)
			if err != nil || !r.Found {
				return err
			}
			seen = &fuse.Maps{Masks: statistics.Tabulate(len(column), func(k int) []float32 { return r.Probability(column[k]) })}
			if n.Heads {
				seen.Heads = statistics.Tabulate(len(column), func(k int) [][]float32 {
					return statistics.Tabulate(len(data.Raters), func(m int) []float32 { return r.Rater(m, column[k]) })
				})
			}
			return nil
		})
		return seen, err
	}
	return n, nil
}
