package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"mrprism/internal/command"
	"mrprism/internal/importer"
)

const importIntro = `train import - turns a published set into a data set that train, evaluate and "train check" read

usage: train import LAYOUT SRC DST [flags]

SRC is the set's folder as it is unpacked from where it is published; it is only read. DST appears whole at the end or not at all. Every
file that is not taken is named with the reason; a rater's mask that cannot be used is a missing label, and an image of which a class
has no mask is left out. The data's own terms hold for DST as for SRC: nothing of it is ours to give on.

layouts:
`

const importExamples = `
examples:
  train import riga downloads/RIGA data/riga
  train import refuge downloads/REFUGE data/refuge -longest 768
  train import qubiq downloads/training_data_v3_QC/brain-growth data/brain-growth
  train import qubiq downloads/training_data_v3_QC/prostate data/prostate -classes prostate,central-gland
  train check data/riga
  train -data data/riga -out runs/riga -name riga -anchor disc

exit codes: 0 written, 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C (nothing is written)
`

// runImport is the program as "train import"; it returns the exit code.
func runImport(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet(program+" import", flag.ContinueOnError)
	var o importer.Options
	f.BoolVar(&o.Force, "force", false, "replace the data set that is in DST")
	f.IntVar(&o.Longest, "longest", 1024, "`PIXELS` that the longer side of an image is brought down to, the masks with it; 0: as published (training keeps images in memory)")
	f.Func("classes", "`NAMES` of QUBIQ's tasks, in order and separated by commas (default the organ, or task01, …)", func(text string) error {
		o.Classes = strings.Split(text, ",")
		return nil
	})
	f.Func("channels", "one `NUMBER` or three, separated by commas: which of a QUBIQ image's modalities become grey, or red, green and blue (default 1)",
		func(text string) (err error) {
			o.Channels, err = channels(text)
			return err
		})
	f.Func("window", "`LOW,HIGH`: intensities of QUBIQ that become black and white, as -125,275 for CT (default each image's 0.5 and 99.5 percentiles)",
		func(text string) (err error) {
			o.Window, err = window(text)
			return err
		})
	f.BoolVar(&o.AllSlices, "all-slices", false, "of QUBIQ's volumes every slice that anybody marked, not only that with the most marks; the held-out fifth then shows people who are trained on too")
	var intro strings.Builder
	intro.WriteString(importIntro)
	for _, l := range importer.Layouts {
		fmt.Fprintf(&intro, "  %-8s %s\n", l.Name, l.Description)
	}
	rest, code, done := command.Parse(f, intro.String(), importExamples, args, stdout, stderr)
	if done {
		return code
	}
	if len(rest) != 3 {
		return command.Misused(stderr, f.Name(), "a LAYOUT, SRC and DST are needed")
	}
	layout, err := importer.FindLayout(rest[0])
	switch {
	case err != nil:
		return command.Misused(stderr, f.Name(), "%v", err)
	case o.Longest < 0:
		return command.Misused(stderr, f.Name(), "-longest %d: a number of pixels, or 0", o.Longest)
	}
	o.Source, o.Destination = rest[1], rest[2]
	bar := newProgress(stderr)
	o.Progress = bar.reading
	summary, err := layout.Run(ctx, o)
	bar.end()
	if err != nil {
		return command.Fail(ctx, stderr, f.Name(), err)
	}
	printSummary(stdout, summary, o.Destination)
	return command.Done
}

// channels reads one or three numbers from 1 on.
func channels(text string) (numbers []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a number from 1 on", part)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) != 1 && len(numbers) != 3 {
		return nil, fmt.Errorf("%d numbers; one or three are needed", len(numbers))
	}
	return numbers, nil
}

// window reads two intensities.
func window(text string) (*[2]float64, error) {
	low, high, _ := strings.Cut(text, ",")
	var w [2]float64
	for i, part := range []string{low, high} {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not LOW,HIGH", text)
		}
		w[i] = v
	}
	if !(w[0] < w[1]) {
		return nil, fmt.Errorf("%q: LOW must be lower than HIGH", text)
	}
	return &w, nil
}

// printSummary tells what was left out and what was written.
func printSummary(to io.Writer, s *importer.Summary, destination string) {
	if len(s.Skipped) > 0 {
		fmt.Fprintf(to, "not taken (%d)\n", len(s.Skipped))
		for _, skip := range s.Skipped {
			fmt.Fprintf(to, "  %s: %s\n", skip.File, skip.Reason)
		}
		fmt.Fprintln(to)
	}
	fmt.Fprintf(to, "%s: %s, %d images\n\n", destination, s.Name, s.Images)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "masks\t%s\t\n", strings.Join(s.Classes, "\t"))
	for m, rater := range s.Raters {
		fmt.Fprintf(table, "%s\t", rater)
		for _, n := range s.Masks[m] {
			fmt.Fprintf(table, "%d\t", n)
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush()
	fmt.Fprintf(to, "\nThe terms of those who published the data hold for it. Next: train check %s\n", destination)
}
