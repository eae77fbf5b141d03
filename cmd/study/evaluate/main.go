package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"

	"mrprism/cmd/study/internal/evaluate"
	"mrprism/cmd/study/internal/input"
	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/model"
)

const program = "evaluate"

func main() { cli.Main(run) }

// programs are those that the first argument can name.
var programs = cli.Subprograms{"compare": runCompare, "evidence": runEvidence, "fuse": runFuse, "plan": runPlan, "raters": runRaters, "readers": runReaders}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r evaluate.Request
	var weights *string
	var precision *model.Precision
	var device *computing.Device
	flags := cli.NewGroups()
	flags.Add("weights", func(f *flag.FlagSet) {
		weights = computing.EnsembleFlag(f)
		f.IntVar(&r.Recurrences, "recurrences", -1, fmt.Sprintf("score Rec0 to Rec`N` (-1: N is %d, or 0 for weights that were trained without recurrence)", segment.DefaultRecurrences))
	})
	flags.Add("images", func(f *flag.FlagSet) {
		dataFlag(f, &r.Images)
		imageFlags(f, &r.Images, "test")
		f.BoolVar(&r.Changed, "changed", false, fmt.Sprintf("also score each image of -data and -centres under %d changes: other exposures and colours, blurred, from farther away and mirrored. Each takes as long as one run", len(evaluate.Changes)))
		f.StringVar(&r.Centres, "centres", "", "`FILE`[,FILE]: CSVs that give the place of the structure in whole photographs")
		f.BoolVar(&r.Turned, "turned", false, "also judge each photograph of -centres turned by 90, 180 and 270 degrees clockwise")
		f.StringVar(&r.Foreign, "foreign", "", "`DIR`[,DIR]: folders of pictures of another kind than the model's images")
	})
	flags.Add("output", func(f *flag.FlagSet) {
		r.Figures = command.FiguresFlag(f, "all figures")
		f.StringVar(&r.CSV, "csv", "", "write a line for each image of -data and structure, or for each photograph of -centres, to `FILE`")
		f.StringVar(&r.Out, "out", "", "new or empty folder `DIR` for report.html with curves and pictures, the tables and all figures")
	})
	flags.Add("computing", func(f *flag.FlagSet) { precision, device = computing.Flags(f) })
	p := cli.Program{Name: program, Subprograms: programs, Intro: intro + "  " + computing.Shipped() + "\n", Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		r.Weights, r.Precision, r.Device = *weights, *precision, device.Open
		if err := cmp.Or(wrong(r.Check()), checkRequest(&r, flags, rest), device.Check()); err != nil {
			return err
		}
		r.Made = origin(program, flags)
		return evaluate.Run(ctx, r, stdout, stderr)
	})
}

// wrong makes an error one of usage; nil stays nil.
func wrong(err error) error {
	if err == nil {
		return nil
	}
	return cli.Wrong("%w", err)
}

// dataFlag is -data of one or several data sets.
func dataFlag(f *flag.FlagSet, i *input.Images) {
	f.StringVar(&i.Data, "data", "", "`DIR`[,DIR]: data sets with the same classes and raters")
}

// origin is that of a report of a program that has parsed its flags.
func origin(program string, flags *cli.Groups) *report.Origin {
	return report.NewOrigin(program, flags.Line("out", "json", "csv")...) // but those that say where it goes
}

// imageFlags are the flags that choose images of -data. part is the default of -on.
func imageFlags(f *flag.FlagSet, i *input.Images, part string) {
	f.StringVar(&i.On, "on", part, "`PART` of -data: test (the held-out images), validation, train or all")
	f.StringVar(&i.Split, "split", "", "`FILE` that lists the images for train, validation and test, in place of split.json in the data's folder. Without both every fifth image is held out, or every fifth group of groups.csv")
	f.StringVar(&i.Region, "roi", "none", "`REGION` of the images of -data that a model of -weights sees: none (the whole image) or auto (search the image first)")
}

// checkRequest returns an error if the flags contradict each other.
func checkRequest(r *evaluate.Request, flags *cli.Groups, rest []string) error {
	given := flags.Given()
	switch {
	case len(rest) > 0:
		return cli.Wrong("unexpected argument %q; give data sets as -data DIR,DIR", rest[0])
	case r.Weights == "":
		return cli.Wrong("which weights? give -weights NAME or FILE (shipped: %s)", computing.Shipped())
	case r.Data == "" && r.Centres == "" && r.Foreign == "":
		return cli.Wrong("which data? give -data DIR, -centres FILE or -foreign DIR")
	case slices.Contains([]string{"heldout", "train", "all"}, r.Split):
		return cli.Wrong("-split %s: -split names a file; choose the images by -on test, validation, train or all", r.Split)
	case r.CSV == "-":
		return cli.Wrong("-csv -: name a file; standard output shows the table, or the JSON with -json -")
	case r.CSV != "" && r.Data != "" && r.Centres != "":
		return cli.Wrong("-csv has other columns for -data than for -centres: give one of the two")
	case r.Recurrences < -1 || r.Recurrences > segment.MaxRecurrences:
		return cli.Wrong("-recurrences %d: choose 0 to %d", r.Recurrences, segment.MaxRecurrences)
	}
	for _, name := range []string{"changed", "csv"} {
		if given[name] && r.Data == "" && r.Centres == "" {
			return cli.Wrong("-%s needs -data or -centres", name)
		}
	}
	for _, name := range [][2]string{
		{"split", "data"}, {"on", "data"}, {"roi", "data"}, {"turned", "centres"},
	} {
		if given[name[0]] && flags.Lookup(name[1]).Value.String() == "" {
			return cli.Wrong("-%s needs -%s", name[0], name[1])
		}
	}
	return nil
}
