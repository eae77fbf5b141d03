package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"math"

	"mrprism/cmd/study/internal/display"
	"mrprism/cmd/study/internal/plan"
	"mrprism/cmd/study/internal/readers"
	"mrprism/internal/command"
	output "mrprism/internal/output/table"
	"mrprism/internal/program/cli"
	"mrprism/internal/study/report"
)

// runPlan is the program as "evaluate plan"; it returns the exit code.
func runPlan(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r plan.Report
	var truth, figure, components, out string
	var figures *command.Figures
	flags := cli.NewGroups()
	flags.Add("flags", func(f *flag.FlagSet) {
		f.Float64Var(&r.Difference, "difference", 0, "the smallest `DIFFERENCE` of the figure that the study must not miss")
		f.Float64Var(&r.Power, "power", .8, "the `SHARE` of studies that find it")
		f.Float64Var(&r.Width, "width", 0, "in place of -difference: the `HALF-WIDTH` of the difference's 95 % interval, .03 for ± .03")
		f.StringVar(&figure, "figure", "", "`COLUMN` of the pilot; of scores soft_dice or score, if it is not given")
		f.StringVar(&truth, "truth", "", "`FILE` with the truth of the cases of readings, as \"evaluate readers -h\" has it")
		f.StringVar(&components, "components", "", "`NAME=NUMBER`[,NAME=NUMBER]: variances in place of a pilot")
		f.StringVar(&out, "out", "", "new or empty folder `DIR` for report.html, with a plot, and report.json")
	})
	flags.AddFrom(program, func(f *flag.FlagSet) { figures = command.FiguresFlag(f, "all figures") })
	p := cli.Program{Name: program + " plan", Intro: planIntro, Examples: planExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		switch given := flags.Given(); {
		case len(rest) > 1 || (len(rest) == 1) == given["components"]:
			return cli.Wrong("give one pilot, as evaluate plan readings.csv, or -components")
		case given["difference"] == given["width"] || given["power"] && given["width"]:
			return cli.Wrong("which goal? give -difference, the smallest one that matters, and -power, or else -width")
		case given["difference"] && !(r.Difference > 0) || given["width"] && !(r.Width > 0) || math.IsInf(r.Difference+r.Width, 1):
			return cli.Wrong("-difference and -width are above 0, in the unit of the figure: no study finds a difference of nothing")
		case !(r.Power > .05 && r.Power < 1):
			return cli.Wrong("-power %g: give a share above .05, which chance finds, and below 1, as .8", r.Power)
		}
		if err := errors.Join(display.CheckVacant(out), command.CheckOutputs(figures.File())); err != nil {
			return err
		}
		r.Made = origin(program+" plan", flags)
		studies, err := pilot(&r, rest, truth, figure, components)
		if err != nil {
			return err
		}
		for _, s := range studies {
			r.Add(s)
		}
		if out != "" {
			err = report.Save(out, map[string]func(io.Writer) error{"report.html": r.Document().HTML, "report.json": func(w io.Writer) error { return output.JSON(w, r) }})
		}
		return errors.Join(err, figures.Write(stdout, r, r.Document().Print))
	})
}

// pilot are the studies that a file of readings or scores expects, or components.
func pilot(r *plan.Report, files []string, truth, figure, components string) (studies []*plan.Study, err error) {
	if len(files) == 0 {
		s, err := plan.OfComponents(components)
		return []*plan.Study{s}, wrong(err)
	}
	var known *readers.Table
	if truth != "" {
		if known, err = table(truth, r.Made, readers.ReadTruth); err != nil {
			return nil, err
		}
	}
	_, err = table(files[0], r.Made, func(name string, file io.Reader) (*readers.Table, error) {
		var data bytes.Buffer
		if _, err := data.ReadFrom(file); err != nil {
			return nil, err
		}
		studies, err = plan.OfPilot(name, data.Bytes(), known, figure)
		return nil, err
	})
	return studies, err
}
