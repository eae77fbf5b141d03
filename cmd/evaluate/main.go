// Command evaluate scores weights on data sets.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/dataset"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"
)

const program = "evaluate"

const intro = `evaluate - how good weights are, on images that several raters have marked

usage: evaluate -weights NAME|FILE -data DIR[,DIR] [flags]

It segments every image of the split and compares, at the image's own size,
  - the calibrated masks of Rec0 to RecN with the mean vote: soft Dice, the mean over the thresholds .1 .3 .5 .7 .9, in percent
    where the data set has truth/CLASS/NAME.png, also with that: Dice of the pixels above one half, and Brier score
  - the last one's calibration: expected calibration error and Brier score inside the union of all marks, where background does not drown it
  - its outline: the 95 %% Hausdorff distance from the majority's; and how far the raters themselves agree: Fleiss' kappa, and the intraclass
    correlation of their areas
  - each rater's or level's head with the marks of every one (Dice): a head should be nearest to its own
  - for models of named raters, their heads as a set of possible marks: generalized energy distance, Dice_max, Dice_match
  - for models of named raters, the weight that each rater's marks get by their likelihood under his own head, and how it ranks the raters
    beside their Dice with the truth or the majority of the others; marks grossly unlike the others' are named
  - for models of named raters, how the mask moves when one rater has all the weight: change of area, and Dice with that rater before
    and after
  - the vertical cup-to-disc ratio with that of the majority's masks; a slope of predicted by true well below 1 means that sizes are
    guessed toward the middle, and the smallest quarter shows by how much
  - with -changed, how the last mask fares where the same images look as from another camera: blurred, paler, darker, brighter, bluish,
    from farther, and left for right
Of weights whose raters' heads were not trained (recipes baseline, one-pass and bce) what needs heads is left out.
Brackets hold 95 %% intervals, from 2,000 bootstrap samples of two images or more; p-values are of Wilcoxon's signed-rank test over the images. An image
in which nothing was found counts as an empty mask.

What compares heads with raters, or gives raters weights, needs data of the model's raters, in the same order. Ctrl-C ends the program with what was
scored until then, which says so.

A data set is a folder: dataset.json, images/NAME.png|jpg, raters/RATER/CLASS/NAME.png ("train -h" says more). Every fifth image in sorted
order is held out of training.

The weights that ship:
  %s
`

const examples = `
examples:
  evaluate -weights newborn-brain -data data/qubiq-brain-growth            the held-out images
  evaluate -weights fundus -data data/drishti-gs1-full -roi auto           whole photographs, searched first
  evaluate -weights fundus -data data/drishti-gs1-crop -against baseline.safetensors   beside a model without recurrence
  evaluate -weights fundus -data data/drishti-gs1-crop -changed            also blurred, paler, darker, brighter, bluish, from farther, mirrored
  evaluate -weights fundus -data data/drishti-gs1-crop -csv scores.csv     also image by image, for a spreadsheet or R
  evaluate -weights fundus -data data/drishti-gs1-crop -json scores.json   everything, for programs

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`

func main() { command.Main(run) }

// request is what the user asked for.
type request struct {
	weightsName, againstName string
	precision                model.Precision
	data, split, region      string
	recurrences              int
	changed                  bool
	jsonPath, csvPath        string
}

// jsonFile is the file to write the JSON to; empty: none.
func (r *request) jsonFile() string {
	if r.jsonPath == "-" {
		return ""
	}
	return r.jsonPath
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r request
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	weightsName := command.WeightsFlag(flags)
	precision := command.PrecisionFlag(flags)
	wish := command.DeviceFlags(flags)
	flags.StringVar(&r.againstName, "against", "", "`NAME` or FILE of weights trained without recurrence, whose Rec0 is set beside (recipe baseline, one-pass or bce)")
	flags.StringVar(&r.data, "data", "", "`DIR`[,DIR]: data set folders of the same classes and raters (required)")
	flags.StringVar(&r.split, "split", "heldout", "`SPLIT`: heldout, train or all")
	flags.StringVar(&r.region, "roi", "none", "`REGION`: none (the image is the region) or auto (search it first)")
	flags.IntVar(&r.recurrences, "recurrences", -1, fmt.Sprintf("feedbacks `N`: Rec0 to RecN are scored (-1: %d, or 0 of weights that learned none)", segment.DefaultRecurrences))
	flags.BoolVar(&r.changed, "changed", false, "also score every image as it would look from another camera, and mirrored; takes about as long again for each")
	flags.StringVar(&r.jsonPath, "json", "", "`FILE` to write all figures to as JSON; - for standard output, instead of the table")
	flags.StringVar(&r.csvPath, "csv", "", "`FILE` to write a line an image and structure to, for statistics programs")
	names := command.Shipped()
	rest, code, done := command.Parse(flags, fmt.Sprintf(intro, names), examples, args, stdout, stderr)
	if done {
		return code
	}
	r.weightsName, r.precision = *weightsName, *precision
	misused := func(format string, args ...any) int { return command.Misused(stderr, program, format, args...) }
	switch {
	case r.weightsName == "":
		return misused("which weights? give -weights NAME or FILE (that ship: %s)", names)
	case r.data == "":
		return misused("which data? give -data DIR")
	case len(rest) > 0:
		return misused("unexpected argument %q; data sets are given as -data DIR,DIR", rest[0])
	case !slices.Contains([]string{"heldout", "train", "all"}, r.split):
		return misused("-split %s: choose heldout, train or all", r.split)
	case r.region != "none" && r.region != "auto":
		return misused("-roi %s: choose none or auto", r.region)
	case r.csvPath == "-":
		return misused("-csv -: name a file; what goes to standard output is the table, or the JSON with -json -")
	case r.recurrences < -1 || r.recurrences > segment.MaxRecurrences:
		return misused("-recurrences %d: 0 to %d are possible", r.recurrences, segment.MaxRecurrences)
	}
	if err := wish.Check(); err != nil {
		return misused("%v", err)
	}
	if err := evaluate(ctx, r, wish, stdout, stderr); err != nil {
		return command.Fail(ctx, stderr, program, err)
	}
	return command.Done
}

func evaluate(ctx context.Context, r request, wish command.Device, stdout, stderr io.Writer) error {
	if err := command.CheckOutputs(r.jsonFile(), r.csvPath); err != nil {
		return err
	}
	scored, err := command.Weights(r.weightsName)
	if err != nil {
		return err
	}
	if r.recurrences < 0 {
		r.recurrences = segment.Feedbacks(&scored.Metadata)
	}
	var against *weights.Model
	if r.againstName != "" {
		if against, err = command.Weights(r.againstName); err != nil {
			return err
		}
	}
	data, err := dataset.Open(strings.Split(r.data, ",")...)
	if err != nil {
		return err
	}
	cases, err := split(data, r.split)
	if err != nil {
		return err
	}
	for _, m := range []*weights.Model{scored, against} {
		if m != nil && !slices.Equal(m.Metadata.Classes, data.Classes) {
			return fmt.Errorf("%s segments %s, and %s is about %s: give data of the same classes in the same order", m.Metadata.Name,
				strings.Join(m.Metadata.Classes, ", "), r.data, strings.Join(data.Classes, ", "))
		}
	}
	if r.region == "auto" {
		for _, m := range []*weights.Model{scored, against} {
			if m != nil && m.Metadata.Anchor == "" {
				return fmt.Errorf("%s does not search photographs (it was trained without -anchor): leave -roi auto out", m.Metadata.Name)
			}
		}
	}
	if err := check(ctx, cases, data.Classes, command.NewProgress(stderr, len(cases))); err != nil {
		return err
	}
	images := len(cases)
	if r.changed {
		images += len(cases) * len(changes)
	}
	progress := command.NewProgress(stderr, images)
	note := func(text string) {
		progress.Clear()
		fmt.Fprintf(stderr, "%s: %s\n", program, text)
	}
	s := &scorer{request: r, data: data, progress: progress, session: command.Session{Model: scored, Precision: r.precision, Open: wish.Open, Note: note}}
	defer s.session.Close()
	if against != nil {
		s.against = &command.Session{Model: against, Precision: r.precision, Open: wish.Open, Note: note}
		defer s.against.Close()
	}
	if text := s.strangers(); text != "" {
		note(text)
	}
	stopped := s.scoreAll(ctx, cases)
	progress.Clear()
	if len(s.cases) == 0 {
		return stopped
	}
	return errors.Join(stopped, deliver(s.report(len(cases)), r, stdout))
}

// check reads every image, mask and truth of the cases as score will, a few cases at a time, before minutes are computed in vain. The error is a
// dataset.Problems that names every bad file, or that of ctx.
func check(ctx context.Context, cases []dataset.Case, classes []string, progress *command.Progress) error {
	defer progress.Clear()
	var problems dataset.Problems
	for few := range slices.Chunk(cases, runtime.GOMAXPROCS(0)) {
		progress.Show("%s: reading", few[0].Name)
		_, bad, err := dataset.LoadSound(ctx, few, nil)
		if err != nil {
			return err
		}
		problems = append(problems, bad...)
		for _, c := range few {
			progress.Begin()
			for _, class := range classes {
				if _, err := readTruth(c, class); err != nil {
					problems = append(problems, err.Error())
				}
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// split picks the cases.
func split(d *dataset.Dataset, name string) (cases []dataset.Case, err error) {
	switch name {
	case "heldout":
		cases = d.HeldOut()
	case "train":
		cases = d.Training()
	default:
		cases = d.Cases
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s: no images in the split %s; every fifth image is held out, so give at least %d, or -split all", d.Name, name, dataset.HoldOut)
	}
	return cases, nil
}

// deliver writes the files, -csv first, and then prints the table, or with -json - the JSON: whoever reads standard output may go away, which ends
// the program. What cannot be written keeps nothing else from being so; all errors are returned together.
func deliver(report *report, r request, stdout io.Writer) error {
	asJSON := func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
	show := report.table
	if r.jsonPath == "-" {
		show = asJSON
	}
	var failed []error
	for _, file := range []struct {
		path    string
		content func(io.Writer) error
	}{{r.csvPath, report.csv}, {r.jsonFile(), asJSON}} {
		if file.path != "" {
			failed = append(failed, weights.WriteAtomic(file.path, file.content))
		}
	}
	return errors.Join(append(failed, show(stdout))...)
}
