package main

import (
	"cmp"
	"context"
	"flag"
	"io"
	"slices"
	"strings"

	"mrprism/cmd/study/internal/compare"
	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/statistics"
	"mrprism/internal/program/cli"
	"mrprism/model"
)

// runCompare is the program as "evaluate compare"; it returns the exit code.
func runCompare(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r compare.Request
	var precision *model.Precision
	var device *computing.Device
	flags := compareFlags(&r)
	flags.AddFrom(program, func(f *flag.FlagSet) {
		imageFlags(f, &r.Images, "test")
		r.Figures = command.FiguresFlag(f, "all figures")
		precision, device = computing.Flags(f)
	})
	p := cli.Program{Name: program + " compare", Intro: compareIntro + "  " + computing.Shipped() + "\n", Examples: compareExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		r.Precision, r.Device = *precision, device.Open
		if err := cmp.Or(wrong(r.Check()), checkCompare(&r, flags, rest), device.Check()); err != nil {
			return err
		}
		r.Made = origin(program+" compare", flags)
		return compare.Run(ctx, r, stdout, stderr)
	})
}

// compareFlags are the flags of methods, images and output.
func compareFlags(r *compare.Request) *cli.Groups {
	flags := cli.NewGroups()
	flags.Add("methods", func(f *flag.FlagSet) {
		f.Func("weights", "`NAME`[,FILE,NAME=FILE]: shipped models, and .safetensors files; A+B+C is the mean of several models' maps, and a NAME= that is given again is another run of the method", func(list string) error { return r.Add(list, false) })
		f.Func("predictions", "`NAME=DIR`[,NAME=DIR]: folders of predictions, each with the method's name, and several of one name are its runs: a folder for each class, files as segment names them, or label maps", func(list string) error { return r.Add(list, true) })
	})
	flags.Add("possible masks", func(f *flag.FlagSet) {
		f.IntVar(&r.Draws, "draws", 0, "also compare this `NUMBER` of masks with the raters' marks, by GED: those that padl and tab draw, and of all others what lies above evenly spaced levels of the maps of raters, or of the mask without these")
	})
	flags.Add("images", func(f *flag.FlagSet) {
		dataFlag(f, &r.Images)
		f.StringVar(&r.Reference, "reference", "mean", "`REFERENCE`: mean (the raters' mean vote), truth (truth/CLASS/NAME.png) or rater:NAME")
	})
	flags.Add("output", func(f *flag.FlagSet) {
		f.StringVar(&r.Out, "out", "", "new or empty folder `DIR` for report.html, the tables and the figures of every image")
	})
	return flags
}

// mostDraws bounds -draws: each is a map of every image.
const mostDraws = 64

// checkCompare returns an error if the flags are wrong.
func checkCompare(r *compare.Request, flags *cli.Groups, rest []string) error {
	ofWeights := statistics.Filter(r.Named, func(n compare.NamedMethod) bool { return !n.Predictions })
	for _, name := range []string{"roi", "precision", "device"} {
		if flags.Given()[name] && len(ofWeights) == 0 {
			return cli.Wrong("-%s needs -weights", name)
		}
	}
	unnamed := slices.IndexFunc(r.Named, func(n compare.NamedMethod) bool { return n.Predictions && n.Name == "" })
	switch {
	case len(rest) > 0:
		return cli.Wrong("unexpected argument %q; give methods as -weights and -predictions", rest[0])
	case r.Data == "":
		return cli.Wrong("which data? give -data DIR")
	case len(r.Named) == 0:
		return cli.Wrong("which methods? give -weights NAME,FILE or -predictions NAME=DIR (shipped: %s)", computing.Shipped())
	case unnamed >= 0:
		return cli.Wrong("-predictions %s: name the method, as in -predictions ours=%s", r.Named[unnamed].Given, r.Named[unnamed].Given)
	case r.Draws < 0 || r.Draws > mostDraws:
		return cli.Wrong("-draws %d: give 0 to %d; papers draw 16", r.Draws, mostDraws)
	case r.Reference != "mean" && r.Reference != "truth" && !strings.HasPrefix(r.Reference, "rater:"):
		return cli.Wrong("-reference %s: choose mean, truth or rater:NAME", r.Reference)
	}
	return nil
}
