// Command evaluate scores weights on data sets, and fuses raters' marks.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"
)

const program = "evaluate"

func main() { cli.Main(run) }

// request holds the flags.
type request struct {
	weights, against string // names or files
	precision        model.Precision
	recurrences      int
	sources
	outputs
}

// sources are the images to score, and how.
type sources struct {
	data, split, region string
	on                  string // the part of the split
	centres, foreign    string
	changed, turned     bool
}

// outputs are the files to write; empty names are not written. The JSON goes to standard output if
// its name is "-".
type outputs struct{ json, csv, risk, worst string }

// files are the files to write, without standard output.
func (o outputs) files() []string {
	if o.json == "-" {
		o.json = ""
	}
	return []string{o.csv, o.json, o.risk, o.worst}
}

// programs are those that the first argument can name.
var programs = cli.Subprograms{"compare": runCompare, "evidence": runEvidence, "fuse": runFuse, "raters": runRaters}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && programs[args[0]] != nil {
		return programs[args[0]](ctx, args[1:], stdout, stderr)
	}
	var r request
	var weights *string
	var precision *model.Precision
	var device command.Device
	flags := cli.NewGroups()
	flags.Add("weights", func(f *flag.FlagSet) {
		weights = command.EnsembleFlag(f)
		f.StringVar(&r.against, "against", "", "`NAME` or FILE of weights trained without recurrence (recipe baseline, one-pass or bce): with -data, their Rec0 is compared")
		f.IntVar(&r.recurrences, "recurrences", -1, fmt.Sprintf("score Rec0 to Rec`N` (-1: N is %d, or 0 for weights that were trained without recurrence)", segment.DefaultRecurrences))
	})
	flags.Add("images", func(f *flag.FlagSet) {
		f.StringVar(&r.data, "data", "", "`DIR`[,DIR]: data sets with the same classes and raters")
		f.StringVar(&r.on, "on", "test", "`PART` of -data to score: test (the held-out images), validation, train or all")
		f.StringVar(&r.split, "split", "", "`FILE` that lists the images for train, validation and test, in place of split.json in the data's folder. Without both every fifth image is held out, or every fifth group of groups.csv")
		f.StringVar(&r.region, "roi", "none", "`REGION` of the images of -data: none (the whole image) or auto (search the image first)")
		f.BoolVar(&r.changed, "changed", false, fmt.Sprintf("also score each image of -data and -centres under %d changes: other exposures and colours, blurred, from farther away and mirrored. Each takes as long as one run", len(changes)))
		f.StringVar(&r.centres, "centres", "", "`FILE`[,FILE]: CSVs that give the place of the structure in whole photographs")
		f.BoolVar(&r.turned, "turned", false, "also judge each photograph of -centres turned by 90, 180 and 270 degrees clockwise")
		f.StringVar(&r.foreign, "foreign", "", "`DIR`[,DIR]: folders of pictures of another kind than the model's images")
	})
	flags.Add("output", func(f *flag.FlagSet) {
		f.StringVar(&r.json, "json", "", "write all figures to `FILE` as JSON; - prints the JSON instead of the table")
		f.StringVar(&r.csv, "csv", "", "write a line for each image of -data and structure, or for each photograph of -centres, to `FILE`")
		f.StringVar(&r.risk, "risk", "", "draw the risk–coverage curve of -data to `FILE.svg`")
		f.StringVar(&r.worst, "worst", "", "draw a contact sheet of the ten worst results of -data and of -centres to `FILE.jpg`")
	})
	flags.Add("computing", func(f *flag.FlagSet) { precision, device = command.PrecisionFlag(f), command.DeviceFlags(f) })
	p := cli.Program{Name: program, Subprograms: programs, Intro: intro + "  " + command.Shipped() + "\n", Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		r.weights, r.precision = *weights, *precision
		if err := cmp.Or(checkRequest(&r, flags, rest), device.Check()); err != nil {
			return err
		}
		return evaluate(ctx, r, device, stdout, stderr)
	})
}

// checkRequest returns an error if the flags contradict each other.
func checkRequest(r *request, flags *cli.Groups, rest []string) error {
	given := flags.Given()
	ends := func(path string, extensions ...string) bool {
		return path == "" || slices.Contains(extensions, strings.ToLower(filepath.Ext(path)))
	}
	switch {
	case len(rest) > 0:
		return cli.Wrong("unexpected argument %q; give data sets as -data DIR,DIR", rest[0])
	case r.weights == "":
		return cli.Wrong("which weights? give -weights NAME or FILE (shipped: %s)", command.Shipped())
	case r.data == "" && r.centres == "" && r.foreign == "":
		return cli.Wrong("which data? give -data DIR, -centres FILE or -foreign DIR")
	case !slices.Contains(parts, r.on):
		return cli.Wrong("-on %s: choose %s", r.on, partNames)
	case slices.Contains([]string{"heldout", "train", "all"}, r.split):
		return cli.Wrong("-split %s: -split names a file; choose the images by -on test, validation, train or all", r.split)
	case r.region != "none" && r.region != "auto":
		return cli.Wrong("-roi %s: choose none or auto", r.region)
	case r.csv == "-":
		return cli.Wrong("-csv -: name a file; standard output shows the table, or the JSON with -json -")
	case !ends(r.risk, ".svg"):
		return cli.Wrong("-risk %s: the curve is an SVG picture; name a file that ends in .svg", r.risk)
	case r.csv != "" && r.data != "" && r.centres != "":
		return cli.Wrong("-csv has other columns for -data than for -centres: give one of the two")
	case !ends(r.worst, ".jpg", ".jpeg"):
		return cli.Wrong("-worst %s: the sheet is a JPEG picture; name a file that ends in .jpg or .jpeg", r.worst)
	case r.recurrences < -1 || r.recurrences > segment.MaxRecurrences:
		return cli.Wrong("-recurrences %d: choose 0 to %d", r.recurrences, segment.MaxRecurrences)
	}
	for _, name := range []string{"worst", "changed", "csv"} {
		if given[name] && r.data == "" && r.centres == "" {
			return cli.Wrong("-%s needs -data or -centres", name)
		}
	}
	for _, name := range [][2]string{
		{"against", "data"}, {"split", "data"}, {"on", "data"}, {"roi", "data"}, {"risk", "data"}, {"turned", "centres"},
	} {
		if given[name[0]] && flags.Lookup(name[1]).Value.String() == "" {
			return cli.Wrong("-%s needs -%s", name[0], name[1])
		}
	}
	return nil
}

// evaluate reads the input, scores it and delivers the report.
func evaluate(ctx context.Context, r request, device command.Device, stdout, stderr io.Writer) error {
	if err := command.CheckOutputs(r.files()...); err != nil {
		return err
	}
	scored, against, err := r.models()
	if err != nil {
		return err
	}
	in, err := r.open(scored)
	if err != nil {
		return err
	}
	if err := r.checkSheet(in, scored); err != nil {
		return err
	}
	if err := checkImages(ctx, in.cases, in.pictures(), scored.Metadata.Classes, stderr); err != nil {
		return err
	}
	progress := command.NewProgress(stderr, in.images(&r))
	note := func(text string) { progress.Note("evaluate", text) }
	open := func(m *weights.Model) command.Session {
		return command.Session{Model: m, Precision: r.precision, Open: device.Open, Note: note}
	}
	s := &scorer{request: r, data: in.data, progress: progress, session: open(scored)}
	s.sheet = s.newSheet()
	defer s.session.Close()
	if against != nil {
		s.against = new(open(against))
		defer s.against.Close()
	}
	if s.data != nil && s.data.UnlistedNote() != "" {
		note(s.data.UnlistedNote())
	}
	if s.data != nil && !sameRaters(&scored.Metadata, s.data) {
		note(otherRaters(&scored.Metadata, s.data))
	}
	stopped := s.scoreInput(ctx, in)
	progress.Clear()
	if len(s.cases)+len(s.centred)+len(s.foreign) == 0 {
		return stopped
	}
	return errors.Join(stopped, s.report(in).deliver(r.outputs, stdout))
}

// scoreInput scores all of the input until something fails or ctx ends.
func (s *scorer) scoreInput(ctx context.Context, in *input) error {
	if err := s.scoreAll(ctx, in.cases); err != nil {
		return err
	}
	if err := s.judgeCentres(ctx, in.centres); err != nil {
		return err
	}
	return s.judgeForeign(ctx, in.foreign)
}

// models opens the weights and those of -against, which are nil without that flag. It also sets the
// number of recurrences if the user has not.
func (r *request) models() (scored, against *weights.Model, err error) {
	if scored, err = command.Ensemble(r.weights); err != nil {
		return nil, nil, err
	}
	switch settles := segment.SettlesAround(&scored.Metadata); {
	case settles && r.recurrences > 0:
		return nil, nil, fmt.Errorf("%s makes further passes around given marks alone: leave -recurrences out, or see evaluate evidence -h", scored.Metadata.Name)
	case settles:
		r.recurrences = 0
	case r.recurrences < 0:
		r.recurrences = segment.Feedbacks(&scored.Metadata)
	}
	if r.against != "" {
		if against, err = command.Ensemble(r.against); err != nil {
			return nil, nil, err
		}
		if !slices.Equal(against.Metadata.Classes, scored.Metadata.Classes) {
			return nil, nil, fmt.Errorf("%s segments %s, and %s segments %s: compare weights of the same classes in the same order",
				scored.Metadata.Name, strings.Join(scored.Metadata.Classes, ", "), against.Metadata.Name, strings.Join(against.Metadata.Classes, ", "))
		}
	}
	for _, need := range []struct {
		model *weights.Model
		flag  string
		given bool
	}{
		{scored, "-roi auto", r.region == "auto"}, {against, "-roi auto", r.region == "auto"}, {scored, "-centres", r.centres != ""},
	} {
		if need.given && need.model != nil && need.model.Metadata.Anchor == "" {
			return nil, nil, fmt.Errorf("%s does not search photographs (it was trained without -anchor): leave %s out", need.model.Metadata.Name, need.flag)
		}
	}
	return scored, against, nil
}

// deliver writes the files and then prints the table, or the JSON. It tries each of them even if
// another fails, and returns all errors. Standard output comes last: if its reader has gone away,
// writing to it ends the program.
func (r *report) deliver(o outputs, stdout io.Writer) error {
	asJSON := func(w io.Writer) error { return command.WriteJSON(w, r) }
	show := r.table
	if o.json == "-" {
		show = asJSON
	}
	var failed []error
	for i, content := range []func(io.Writer) error{r.csv, asJSON, r.riskSVG, r.sheet.jpeg} {
		if path := o.files()[i]; path != "" {
			failed = append(failed, weights.WriteAtomic(path, content))
		}
	}
	return errors.Join(append(failed, show(stdout))...)
}
