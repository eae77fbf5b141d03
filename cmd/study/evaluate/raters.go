package main

import (
	"context"
	"flag"
	"io"

	"mrprism/internal/program/cli"
	"mrprism/internal/study/agree"
	"mrprism/internal/study/report"
)

// runRaters is the program as "evaluate raters"; it returns the exit code.
func runRaters(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var out string
	flags := cli.NewGroups()
	flags.Add("flags", func(set *flag.FlagSet) {
		set.StringVar(&out, "out", "", "new or empty folder `DIR` for the CSVs, the JSON, the Markdown and the page")
	})
	p := cli.Program{Name: program + " raters", Intro: ratersIntro, Examples: ratersExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if len(rest) != 1 {
			return cli.Wrong("give one data set: evaluate raters DIR")
		}
		return agree.Run(ctx, rest[0], out, report.NewOrigin(program+" raters", flags), stdout, stderr)
	})
}
