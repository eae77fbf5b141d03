package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/output/table"
	"mrprism/internal/program/cli"
)

const checkIntro = `train check - reads a data set as training would, and lists its faults

usage: train check DIR[,DIR] [flags]

Errors are faults that training and evaluate refuse: unreadable files, masks of another size than their image, of colours,
of labels such as 0, 1 and 2, transparent or of other values than 0 and 255, folders that dataset.json does not name. "train
-skip-bad" leaves out images with faulty files. Warnings are about what is unusual: masks of 0 and 1, which are read as 0
and 255, masks that are empty or exchanged with their background, classes that nobody marked in any image, images to which
groups.csv gives no group, or that need one by their names, raters and single masks far from the others, raters who mark
aside from the others, so that a model learns them only with -orientation upright, missing labels,
the same picture twice (if one of them is held out also saved again, scaled, brighter, mirrored or turned), images of odd
size or colour, and images that look brighter because they use fewer of their 16 bits.

The table has, by class and rater
  masks, missing, empty   the number of masks, of missing masks, and of masks that mark nothing
  share                   the mean share of the image that is marked
  Dice                    the mean Dice with the other raters; a rater 0.1 below the median rater gets a warning
  area                    the mean area over that of the others; a rater at 1.5 or more, or 1/1.5 or less, gets a warning
  dx, dy                  how far to the right and down their centre of gravity lies from that of the others' majority: the
                          mean over images, or groups of them, with its 95 % interval, in % of the structure's diameter
                          (of a disc of its area). An interval beyond 2 % gets a warning
  least                   the lowest Dice, and its image
A mask gets a warning if its Dice with the others is 0.25 lower than theirs with each other.
`

const checkExamples = `
examples:
  train check data/qubiq-brain-growth
  train check data/drishti-gs1-crop,data/drishti-gs1-full -most 0
  train check my-hospital -json - | jq '.findings[] | select(.kind == "inverted mask") | .file'

exit codes: 0 training can begin (there may be warnings), 1 it would fail, 2 wrong usage, 130 stopped by Ctrl-C
`

// runCheck is the program as "train check"; it returns the exit code.
func runCheck(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := cli.NewGroups()
	var figures *command.Figures
	var most int
	flags.Add("flags", func(f *flag.FlagSet) {
		figures = command.FiguresFlag(f, "everything")
		f.IntVar(&most, "most", 10, "print at most this `NUMBER` of errors, and of each kind of warning (0: all)")
	})
	p := cli.Program{Name: program + " check", Intro: checkIntro, Examples: checkExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if len(rest) != 1 {
			return cli.Wrong("give one DIR, or several that commas separate")
		}
		if err := command.CheckOutputs(figures.File()); err != nil {
			return err
		}
		bar := newProgress(stderr)
		report := dataset.Check(ctx, strings.Split(rest[0], ","), bar.reading)
		bar.end()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := figures.Write(stdout, report, func(w io.Writer) error { return printReport(w, report, most) }); err != nil || !report.Failed() {
			return err
		}
		return cli.Exit(cli.Failed)
	})
}

// printReport writes the table, and at most a number of errors and of each kind of warning (0:
// all).
func printReport(to io.Writer, r *dataset.Report, most int) error {
	t := table.New(2, 0)
	if len(r.Classes) == 0 {
		t.Line("%s", r.Name)
	} else {
		aside := ""
		if r.Aside > 0 {
			aside = fmt.Sprintf(", %d set aside to score by", r.Aside)
		}
		t.Line("%s: %d images, %d to train on%s, %d held out; %s, %s; %.1f MiB of memory while training", r.Name, r.Images, r.Training, aside,
			r.HeldOut, several(len(r.Raters), "rater", "raters"), several(len(r.Classes), "class", "classes"), float64(r.Memory)/(1<<20))
	}
	if r.Levels {
		t.Line("the raters are agreement levels and not people: they should be nested, and check calls none an outlier")
	}
	if len(r.Figures) > 0 {
		t.Line("\nclass\trater\tmasks\tmissing\tempty\tshare\tDice\tarea\tdx, %%\tdy, %%\tleast")
	}
	few := false
	for _, f := range r.Figures {
		beside := "-\t-\t-\t-\t-"
		if f.Compared > 0 {
			dx, dy := f.Displaced.X.Text("%+.*f", 100, 1), f.Displaced.Y.Text("%+.*f", 100, 1)
			few = few || strings.Contains(dx, " [n = ")
			beside = fmt.Sprintf("%.3f\t%.2f\t%s\t%s\t%.3f %s", f.Dice, f.Area, dx, dy, f.Least, f.Worst)
		}
		t.Line("%s\t%s\t%d\t%d\t%d\t%.1f %%\t%s", f.Class, f.Rater, f.Masks, f.Missing, f.Empty, 100*f.Share, beside)
	}
	if few {
		t.Line("%s", metric.FewSaid)
	}
	errors, kinds, of := 0, []string{}, map[string][]dataset.Finding{}
	for _, f := range r.Findings {
		kind := f.Kind
		if f.Error {
			errors++
			kind = "errors: training or evaluate would fail"
		}
		if of[kind] == nil {
			kinds = append(kinds, kind)
		}
		of[kind] = append(of[kind], f)
	}
	for _, kind := range kinds {
		found := of[kind]
		if kind == dataset.KindDirection {
			kind += ", see train -orientation"
		}
		t.Title("%s (%d)", kind, len(found))
		shown := len(found)
		if most > 0 {
			shown = min(shown, most)
		}
		for _, f := range found[:shown] {
			text := f.Text
			if f.File != "" {
				text = f.File + ": " + text
			}
			t.Line("  %s", text)
		}
		if more := len(found) - shown; more > 0 {
			t.Line("  … and %d more; -most 0 shows all", more)
		}
	}
	t.Title("errors: %d, warnings: %d", errors, len(r.Findings)-errors)
	return t.Print(to)
}
