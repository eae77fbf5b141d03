package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"mrprism/internal/command"
	"mrprism/internal/dataset"
)

const checkIntro = `train check - reads a data set as training would, before an epoch is spent

usage: train check DIR[,DIR] [flags]

Errors are what training and evaluate refuse: files that cannot be read, masks of another size than their image or of other values than
0 and 255, folders that dataset.json does not name; "train -skip-bad" leaves out images whose own files are at fault. Warnings are what
they take though it can hardly be meant: masks that are empty or exchanged with their background, raters and single masks far from the
others, missing labels, the same picture twice (most of all across the held-out split), images of odd size or colour, or shown brighter
than the others because they use fewer of their 16 bits.

The table has, by class and rater
  masks, missing, empty   how many there are
  share                   of the image that is marked, mean
  Dice                    mean Dice with the other raters; a rater 0.1 below the median one is warned of
  area                    to the others' mean; from 1.5 times on, or 1/1.5, the rater is warned of
  least                   the lowest Dice and its image
A mask is warned of where its Dice with the others is 0.25 lower than theirs with each other.
`

const checkExamples = `
examples:
  train check data/qubiq-brain-growth
  train check data/drishti-gs1-crop,data/drishti-gs1-full -most 0
  train check my-hospital -json | jq '.findings[] | select(.kind == "inverted mask") | .file'

exit codes: 0 training can begin (there may be warnings), 1 it would fail, 2 wrong usage, 130 stopped by Ctrl-C
`

// runCheck is the program as "train check"; it returns the exit code.
func runCheck(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet(program+" check", flag.ContinueOnError)
	asJSON := f.Bool("json", false, "print everything as JSON")
	most := f.Int("most", 10, "errors, and warnings of a kind, that are printed; 0: all")
	rest, code, done := command.Parse(f, checkIntro, checkExamples, args, stdout, stderr)
	if done {
		return code
	}
	if len(rest) != 1 {
		return command.Misused(stderr, f.Name(), "one DIR, or several separated by commas, is needed")
	}
	bar := newProgress(stderr)
	report := dataset.Check(ctx, strings.Split(rest[0], ","), bar.reading)
	bar.end()
	if ctx.Err() != nil {
		return command.Fail(ctx, stderr, f.Name(), ctx.Err())
	}
	var err error
	if *asJSON {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = printReport(stdout, report, *most)
	}
	switch {
	case err != nil:
		return command.Fail(ctx, stderr, f.Name(), err)
	case report.Failed():
		return command.Failed
	}
	return command.Done
}

// printReport writes the table and the findings, of the errors and of each kind of warning so many at most (0: all).
func printReport(to io.Writer, r *dataset.Report, most int) error {
	var text strings.Builder
	fmt.Fprint(&text, r.Name)
	if len(r.Classes) > 0 {
		fmt.Fprintf(&text, ": %d images, %d to train on, %d held out; %s, %s; %.1f MiB of memory while training", r.Images, r.Training,
			r.HeldOut, several(len(r.Raters), "rater", "raters"), several(len(r.Classes), "class", "classes"), float64(r.Memory)/(1<<20))
	}
	fmt.Fprintln(&text)
	if r.Levels {
		fmt.Fprintln(&text, "the raters are agreement levels, not people: they are wanted nested, and none is called an outlier")
	}
	printFigures(&text, r.Figures)
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
		fmt.Fprintf(&text, "\n%s (%d)\n", kind, len(found))
		shown := len(found)
		if most > 0 {
			shown = min(shown, most)
		}
		for _, f := range found[:shown] {
			if f.File != "" {
				fmt.Fprintf(&text, "  %s: %s\n", f.File, f.Text)
			} else {
				fmt.Fprintf(&text, "  %s\n", f.Text)
			}
		}
		if more := len(found) - shown; more > 0 {
			fmt.Fprintf(&text, "  … and %d more; -most 0 shows all\n", more)
		}
	}
	fmt.Fprintf(&text, "\nerrors: %d, warnings: %d\n", errors, len(r.Findings)-errors)
	_, err := io.WriteString(to, text.String())
	return err
}

func printFigures(to io.Writer, figures []dataset.Figure) {
	if len(figures) == 0 {
		return
	}
	fmt.Fprintln(to)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "class\trater\tmasks\tmissing\tempty\tshare\tDice\tarea\tleast")
	for _, f := range figures {
		beside := "-\t-\t-"
		if f.Compared > 0 {
			beside = fmt.Sprintf("%.3f\t%.2f\t%.3f %s", f.Dice, f.Area, f.Least, f.Worst)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%.1f %%\t%s\n", f.Class, f.Rater, f.Masks, f.Missing, f.Empty, 100*f.Share, beside)
	}
	_ = table.Flush() // a strings.Builder takes everything
}
