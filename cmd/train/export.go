//go:build !js

package main

import (
	"context"
	"fmt"
	"io"

	"mrprism/internal/data/importer"
	"mrprism/internal/program/cli"
)

const exportIntro = `train export - writes a data set in the form of other programs

usage: train export FORM DIR DST

DIR is a data set. DST, a new folder, appears when it is complete. Images are PNGs of 8 bits, turned as EXIF says. export
names what the form cannot say. "train import" reads the result, also what another program has changed in it.

forms:
`

const exportExamples = `
examples:
  train export coco data/mine mine-coco
  train export nnunet data/mine nnUNet_raw/Dataset101_Mine

exit codes: 0 written, 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C (nothing is written)
`

// runExport is the program as "train export"; it returns the exit code.
func runExport(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	intro := exportIntro
	for _, f := range importer.Forms {
		intro += fmt.Sprintf("  %-8s %s\n", f.Name, f.Description)
	}
	p := cli.Program{Name: program + " export", Intro: intro, Examples: exportExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, cli.NewGroups(), args, func(rest []string) error {
		if len(rest) != 3 {
			return cli.Wrong("give a FORM, DIR and DST")
		}
		form, err := importer.FindForm(rest[0])
		if err != nil {
			return cli.Wrong("%w", err)
		}
		bar := newProgress(stderr)
		left, err := form.Run(ctx, rest[1], rest[2], bar.reading)
		bar.end()
		if err != nil {
			return err
		}
		for _, one := range left {
			fmt.Fprintf(stdout, "%s: %s\n", one.File, one.Reason)
		}
		fmt.Fprintf(stdout, "%s is written\n", rest[2])
		return nil
	})
}
