package main

import (
	"context"
	"errors"
	"flag"
	"io"

	"mrprism/cmd/study/internal/display"
	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/program/cli"
	"mrprism/internal/study/agree"
	"mrprism/internal/study/report"
)

// runRaters is the program as "evaluate raters"; it returns the exit code.
func runRaters(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var out string
	var figures *command.Figures
	flags := cli.NewGroups()
	flags.Add("flags", func(set *flag.FlagSet) {
		set.StringVar(&out, "out", "", "new or empty folder `DIR` for the CSVs, the JSON and the page")
	})
	flags.AddFrom(program, func(set *flag.FlagSet) { figures = command.FiguresFlag(set, "all figures") })
	p := cli.Program{Name: program + " raters", Intro: ratersIntro, Examples: ratersExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if len(rest) != 1 {
			return cli.Wrong("give one data set: evaluate raters DIR")
		}
		if err := errors.Join(display.CheckVacant(out), command.CheckOutputs(figures.File())); err != nil {
			return err
		}
		r, stopped := agreement(ctx, rest[0], origin(program+" raters", flags), out != "", stderr)
		if r == nil {
			return stopped
		}
		if out != "" {
			stopped = errors.Join(stopped, r.Save(out))
		}
		return errors.Join(stopped, figures.Write(stdout, r, r.Document().Print))
	})
}

// agreement measures the agreement of the raters of a data set, with pictures if it is to be
// illustrated. The report is nil if there is none; beside an error it is of a part of the images.
// made says how, but for the data.
func agreement(ctx context.Context, dir string, made *report.Origin, illustrated bool, stderr io.Writer) (*agree.Report, error) {
	data, err := dataset.Open(dir)
	if err != nil {
		return nil, err
	}
	s, err := agree.New(data, made)
	if err != nil {
		return nil, err
	}
	if err := made.AddData(ctx, data.Cases, data.Classes); err != nil {
		return nil, err
	}
	progress := command.NewProgress(stderr, len(data.Cases))
	stopped := s.Gather(ctx, func(name string) {
		progress.Begin()
		progress.Show("%s: comparing the raters", name)
	})
	progress.Clear()
	r := s.Report()
	if problems := (dataset.Problems)(nil); r.Images == 0 || errors.As(stopped, &problems) {
		return nil, stopped // figures without the faulty images would look like those of all
	}
	if illustrated {
		stopped = errors.Join(stopped, s.Illustrate(r))
	}
	return r, stopped
}
