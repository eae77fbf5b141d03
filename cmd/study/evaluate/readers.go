package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mrprism/cmd/study/internal/display"
	"mrprism/cmd/study/internal/readers"
	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/program/cli"
	"mrprism/internal/study/report"
)

// runReaders is the program as "evaluate readers"; it returns the exit code.
func runReaders(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var truth, out, format string
	var figures *command.Figures
	flags := cli.NewGroups()
	flags.Add("flags", func(set *flag.FlagSet) {
		set.StringVar(&truth, "truth", "", "`FILE` with the truth of each case, in columns that are called as those of the readings")
		set.StringVar(&out, "out", "", "new or empty folder `DIR` for report.html, the JSON and the CSV")
		set.StringVar(&format, "format", "table", "print a table, or `imrmc`: the figure whose truth is 0 or 1 as a file for the program iMRMC")
	})
	flags.AddFrom(program, func(set *flag.FlagSet) { figures = command.FiguresFlag(set, "all figures") })
	p := cli.Program{Name: program + " readers", Intro: readersIntro, Examples: readersExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		switch {
		case len(rest) != 1:
			return cli.Wrong("give one file of readings: evaluate readers readings.csv")
		case format != "table" && format != "imrmc":
			return cli.Wrong("-format %s: choose table or imrmc", format)
		case format == "imrmc" && truth == "":
			return cli.Wrong("-format imrmc needs -truth")
		}
		if err := errors.Join(display.CheckVacant(out), command.CheckOutputs(figures.File())); err != nil {
			return err
		}
		made := origin(program+" readers", flags)
		t, err := table(rest[0], made, readers.Read)
		if err != nil {
			return err
		}
		var known *readers.Table
		if truth != "" {
			if known, err = table(truth, made, readers.ReadTruth); err != nil {
				return err
			}
		}
		r := readers.New(t, known, made)
		print := r.Document().Print
		if format == "imrmc" {
			print = r.IMRMC
		}
		if out != "" {
			err = r.Save(out)
		}
		return errors.Join(err, figures.Write(stdout, r, print), dataset.Problems(r.Failed).AsError())
	})
}

// table reads a file, and adds it to what a report says of how it was made.
func table(path string, made *report.Origin, read func(string, io.Reader) (*readers.Table, error)) (*readers.Table, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	made.Data = append(made.Data, report.Source{Name: filepath.Base(path), Files: 1, SHA256: fmt.Sprintf("%x", sha256.Sum256(data))})
	return read(filepath.Base(path), bytes.NewReader(data))
}
