package main

import (
	"cmp"
	"context"
	"flag"
	"io"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/program/cli"
	"mrprism/internal/study/fuse"
	"mrprism/model"
)

// runFuse is the program as "evaluate fuse"; it returns the exit code.
func runFuse(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r fuse.Request
	var weights *string
	var precision *model.Precision
	var device command.Device
	flags := cli.NewGroups()
	flags.Add("flags", func(set *flag.FlagSet) {
		imageFlags(set, &r.Images, "`DIR`: a data set of named raters, as \"train -h\" describes it. The raters are learned from the part that is fused", "all")
		set.StringVar(&r.Out, "out", "", "new or empty folder `DIR` for the maps and the CSVs")
	})
	flags.Add("with a network", func(set *flag.FlagSet) {
		weights, precision, device = command.WeightsFlag(set), command.PrecisionFlag(set), command.DeviceFlags(set)
	})
	p := cli.Program{Name: program + " fuse", Intro: fuseIntro + "  " + command.Shipped() + "\n", Examples: fuseExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		r.Weights, r.Precision, r.Device = *weights, *precision, device.Open
		if err := cmp.Or(r.Check(), checkFuse(&r, rest, flags.Given()), device.Check()); err != nil {
			return err
		}
		return fuse.Run(ctx, r, stdout, stderr)
	})
}

// checkFuse returns an error of usage.
func checkFuse(f *fuse.Request, rest []string, given map[string]bool) error {
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
	for _, name := range []string{"roi", "precision", "device", "dawn-lib"} {
		if given[name] && f.Weights == "" {
			return cli.Wrong("-%s needs -weights", name)
		}
	}
	return nil
}
