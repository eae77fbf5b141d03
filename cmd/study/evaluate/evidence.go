package main

import (
	"context"
	"errors"
	"flag"
	"io"

	"mrprism/cmd/study/internal/given"
	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/model"
)

// runEvidence is the program as "evaluate evidence"; it returns the exit code.
func runEvidence(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r given.Request
	var weights *string
	var precision *model.Precision
	var device *computing.Device
	flags := cli.NewGroups()
	flags.Add("flags", func(set *flag.FlagSet) {
		weights = computing.WeightsFlag(set)
		set.StringVar(&r.Data, "data", "", "`DIR`: a data set of the model's raters, as \"train -h\" describes it. Every fifth image is scored")
	})
	flags.AddFrom(program, func(set *flag.FlagSet) {
		r.Figures = command.FiguresFlag(set, "all figures")
		precision, device = computing.Flags(set)
	})
	p := cli.Program{Name: program + " evidence", Intro: evidenceIntro + "  " + computing.Shipped() + "\n", Examples: evidenceExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		r.Weights, r.Precision, r.Device = *weights, *precision, device.Open
		switch {
		case len(rest) > 0:
			return cli.Wrong("unexpected argument %q; give the data set as -data DIR", rest[0])
		case r.Weights == "":
			return cli.Wrong("which weights? give -weights NAME or FILE (shipped: %s)", computing.Shipped())
		case r.Data == "":
			return cli.Wrong("which data? give -data DIR")
		}
		if err := errors.Join(device.Check(), command.CheckOutputs(r.Figures.File())); err != nil {
			return err
		}
		return given.Run(ctx, r, stdout, stderr)
	})
}
