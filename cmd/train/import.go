//go:build !js

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/importer"
	"mrprism/internal/output/table"
	"mrprism/internal/program/cli"
)

const importIntro = `train import - makes a data set from a labelling tool's, a published one, or sessions of the page

usage: train import LAYOUT SRC DST [flags]

SRC is an unpacked folder. import only reads it. DST appears when it is complete. import names what it leaves out, with
the reason. A rater's unusable mask becomes a missing label. An image that lacks all masks of a class is left out. The
publishers' terms hold for DST as for SRC.

Of labelling tools (coco, labelme, cvat, label-studio) an attribute "rater", "annotator", "reader" or "grader" of shapes
says who drew, if there is one; else the tool says it; else files (coco, cvat), folders (labelme) or tasks (cvat) that
have the same images are raters. What is no area, such as a box, is named.

layouts:
`

const importExamples = `
examples:
  train import coco annotations data/mine
  train import cvat export data/mine -rater doctor -classes disc=rim+cup,cup     a disc that was drawn as rim and cup
  train import riga downloads/RIGA data/riga
  train import refuge downloads/REFUGE data/refuge -longest 768
  train import qubiq downloads/training_data_v3_QC/brain-growth data/brain-growth
  train import qubiq downloads/training_data_v3_QC/prostate data/prostate -classes prostate,central-gland
  train import sessions returned data/ours
  train check data/riga
  train -data data/riga -out runs/riga -name riga -anchor disc

exit codes: 0 written, 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C (nothing is written)
`

// runImport is the program as "train import"; it returns the exit code.
func runImport(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o importer.Options
	flags := cli.NewGroups()
	flags.Add("flags", func(f *flag.FlagSet) {
		f.BoolVar(&o.Force, "force", false, "replace the data set in DST")
		cli.Parsed(f, &o.Classes, "classes", "`NAMES` of the classes, in order, separated by commas. NAME=LABEL+LABEL says which labels a class has (default every label, larger ones first; of qubiq's tasks the organ, or task01, …)", func(text string) ([]string, error) { return strings.Split(text, ","), nil })
		f.IntVar(&o.Longest, "longest", 1024, "shrink images, and their masks, to `PIXELS` on the longer side (0: no change). Training keeps images in memory")
	})
	flags.Add("only with coco, labelme, cvat and label-studio", func(f *flag.FlagSet) {
		f.StringVar(&o.Rater, "rater", "", "the `ATTRIBUTE` of shapes that says who drew them")
		f.BoolVar(&o.Empty, "empty", false, "a rater who drew nothing in an image saw nothing there (default such an image counts as not read)")
	})
	flags.Add("only with qubiq and nnunet", func(f *flag.FlagSet) {
		cli.Parsed(f, &o.Channels, "channels", "`NUMBERS` of modalities: one becomes grey; three, separated by commas, become red, green and blue (default 1)", channels)
		cli.Parsed(f, &o.Window, "window", "`LOW,HIGH`: the intensities that become black and white, such as -125,275 for CT (default each image's 0.5 and 99.5 percentiles)", window)
		f.BoolVar(&o.AllSlices, "all-slices", false, "take every marked slice of a volume, and not only the slice with the most marks. groups.csv keeps a volume together")
	})
	intro := importIntro
	for _, l := range importer.Layouts() {
		intro += fmt.Sprintf("  %-13s %s\n", l.Name, l.Description)
	}
	p := cli.Program{Name: program + " import", Intro: intro, Examples: importExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if len(rest) != 3 {
			return cli.Wrong("give a LAYOUT, SRC and DST")
		}
		layout, err := importer.FindLayout(rest[0])
		if err != nil {
			return cli.Wrong("%w", err)
		}
		if o.Longest < 0 {
			return cli.Wrong("-longest %d: give a number of pixels, or 0 for no change", o.Longest)
		}
		o.Source, o.Destination = rest[1], rest[2]
		bar := newProgress(stderr)
		o.Progress = bar.reading
		summary, err := layout.Run(ctx, o)
		bar.end()
		if err != nil {
			return err
		}
		return printSummary(stdout, summary, o.Destination)
	})
}

// channels parses one or three numbers from 1 on.
func channels(text string) (numbers []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a number from 1 on", part)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) != 1 && len(numbers) != 3 {
		return nil, fmt.Errorf("%d numbers: give one or three", len(numbers))
	}
	return numbers, nil
}

// window parses two intensities.
func window(text string) (*[2]float64, error) {
	var w [2]float64
	var rest string
	if n, _ := fmt.Sscanf(text+" ", "%g,%g%s", &w[0], &w[1], &rest); n != 2 {
		return nil, fmt.Errorf("%q is not LOW,HIGH", text)
	}
	if !(w[0] < w[1]) {
		return nil, fmt.Errorf("%q: LOW must be lower than HIGH", text)
	}
	return &w, nil
}

// printSummary prints what import left out and what it wrote.
func printSummary(to io.Writer, s *importer.Summary, destination string) error {
	t := table.New(2, tabwriter.AlignRight)
	if len(s.Skipped) > 0 {
		t.Line("not taken (%d)", len(s.Skipped))
		for _, skip := range s.Skipped {
			t.Line("  %s: %s", skip.File, skip.Reason)
		}
		t.Line("")
	}
	t.Line("%s: %s, %d images\n", destination, s.Name, s.Images)
	t.Line("masks\t%s\t", strings.Join(s.Classes, "\t"))
	for m, rater := range s.Raters {
		t.Line("%s\t%s\t", rater, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.Masks[m])), "\t"), "[]"))
	}
	if s.Split.Note != "" {
		t.Title("%s: %s (%s)", dataset.SplitFile, s.Split.String(), s.Split.Note)
	}
	t.Title("Next: train check %s", destination)
	return t.Print(to)
}
