package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/internal/study/fuse"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
	"mrprism/model"
)

// runFuse is the program as "evaluate fuse"; it returns the exit code.
func runFuse(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r fuse.Request
	var weights *string
	var precision *model.Precision
	var device *computing.Device
	flags := cli.NewGroups()
	flags.Add("flags", func(set *flag.FlagSet) {
		set.StringVar(&r.Data, "data", "", "`DIR`: a data set of named raters, as \"train -h\" describes it. The raters are learned from the part that is fused, which is all of it without -on")
		set.StringVar(&r.Out, "out", "", "new or empty folder `DIR` for the maps and the CSVs")
	})
	flags.Add("with a network", func(set *flag.FlagSet) {
		weights = computing.WeightsFlag(set)
	})
	flags.AddFrom(program, func(set *flag.FlagSet) {
		imageFlags(set, &r.Images, "all")
		precision, device = computing.Flags(set)
	})
	p := cli.Program{Name: program + " fuse", Intro: fuseIntro + "  " + computing.Shipped() + "\n", Examples: fuseExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if err := cmp.Or(wrong(r.Check()), checkFuse(&r, *weights, rest, flags.Given()), device.Check()); err != nil {
			return err
		}
		if *weights != "" {
			r.Network = func(data *dataset.Dataset, note func(string)) (*fuse.Network, error) {
				return network(&computing.Session{Precision: *precision, Open: device.Open, Note: note}, *weights, data, r.Images)
			}
		}
		return fuse.Run(ctx, r, stdout, stderr)
	})
}

// checkFuse returns an error of usage.
func checkFuse(f *fuse.Request, weights string, rest []string, given map[string]bool) error {
	switch {
	case len(rest) > 0:
		return cli.Wrong("unexpected argument %q; give the data set as -data DIR", rest[0])
	case f.Data == "":
		return cli.Wrong("which data? give -data DIR")
	case strings.Contains(f.Data, ","):
		return cli.Wrong("-data %s: fuse one data set at a time", f.Data)
	case f.Out == "":
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
func network(s *computing.Session, nameOrFile string, data *dataset.Dataset, images score.Images) (*fuse.Network, error) {
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
	n.Heads = (segment.HasHeads(about) || n.Trusts) && score.SameRaters(about, data)
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
