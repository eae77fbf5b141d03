package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrprism/internal/app/command"
	"mrprism/internal/data/synthetic"
	"mrprism/weights"
)

const syntheticIntro = `train synthetic - makes a data set with a known truth

usage: train synthetic SCENARIO DIR [flags]
       train synthetic foreign DIR [flags]     makes pictures without a disc; see "train synthetic foreign -h"

It paints eyes, and simulated raters mark disc and cup. DIR is a data set, and also receives truth/, which "evaluate"
scores, and calibrated/, the raters' mean probability in closed form, in 16 bits. A seed always makes the same files.

scenarios:
`

const syntheticExamples = `
examples:
  train synthetic one-expert data/one-expert -images 60
  train -data data/one-expert -out runs/one-expert -name one-expert -epochs 25
  evaluate -weights runs/one-expert/one-expert.safetensors -data data/one-expert
` + syntheticExits

const foreignIntro = `train synthetic foreign - makes a data set of pictures without anything to mark

usage: train synthetic foreign DIR [flags]

It draws pictures without an optic disc, of all kinds in turn, and empty masks of one rater, "nobody". Train with them by
-also, and the network learns to mark nothing there; pictures of another seed test that. A seed always makes the same
files.

kinds:
`

const foreignExamples = `
examples:
  train synthetic foreign data/foreign -images 160
  train -data data/discs -also data/foreign -anchor disc -name discs -out runs/discs
` + syntheticExits

const syntheticExits = `
exit codes: 0 written, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C (DIR lacks dataset.json and is no data set)
`

// runSynthetic is the program as "train synthetic"; it returns the exit code.
func runSynthetic(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "foreign" {
		return runForeign(ctx, args[1:], stdout, stderr)
	}
	var images, side int
	var seed uint64
	flags := command.NewGroups()
	flags.Add("flags", func(f *flag.FlagSet) {
		f.IntVar(&images, "images", 100, "number of images; every fifth is held out")
		f.IntVar(&side, "side", 128, "image side in pixels")
		f.Uint64Var(&seed, "seed", 1, "decides every eye and every mark")
	})
	intro := syntheticIntro
	for _, s := range synthetic.Scenarios {
		intro += fmt.Sprintf("  %-14s %s\n", s.Name, s.Description)
	}
	p := command.Program{Name: program + " synthetic", Intro: intro, Examples: syntheticExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if len(rest) != 2 {
			return command.Wrong("a SCENARIO and a DIR are needed")
		}
		if rest[0] == "foreign" {
			return command.Wrong("foreign comes before the flags")
		}
		scenario, err := synthetic.FindScenario(rest[0])
		if err != nil {
			return command.Wrong("%w", err)
		}
		if err := checkSize(images, side); err != nil {
			return err
		}
		if err := synthetic.WriteDataset(ctx, rest[1], scenario, images, side, seed); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%s: %d images of %d² with %d raters\n", rest[1], images, side, len(scenario.Raters))
		return nil
	})
}

// checkSize returns an error of wrong usage for impossible numbers of images or pixels.
func checkSize(images, side int) error {
	if images < 1 {
		return command.Wrong("-images %d: at least 1 is needed", images)
	}
	if side < 16 || side > 4096 {
		return command.Wrong("-side %d: 16 to 4096 pixels", side)
	}
	return nil
}

// runForeign is the program as "train synthetic foreign"; it returns the exit code.
func runForeign(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := synthetic.ForeignSet{Kinds: synthetic.ForeignKinds, Classes: []string{"disc"}}
	flags := command.NewGroups()
	flags.Add("flags", func(f *flag.FlagSet) {
		f.IntVar(&s.Images, "images", 100, "number of images of all kinds together; every fifth is held out")
		f.IntVar(&s.Images, "n", 100, "the same as -images")
		f.IntVar(&s.Side, "side", 512, "the longer side of the images in pixels; their shapes vary")
		f.Uint64Var(&s.Seed, "seed", 1, "decides every picture")
		command.Parsed(f, &s.Kinds, "kinds", "`KINDS` to draw, separated by commas (default all)", foreignKinds)
		command.Parsed(f, &s.Classes, "classes", "`CLASSES` that are in no picture, separated by commas (default disc)", classNames)
	})
	intro := foreignIntro
	for _, k := range synthetic.ForeignKinds {
		intro += fmt.Sprintf("  %-14s %s\n", k.Name, k.Description)
	}
	p := command.Program{Name: program + " synthetic foreign", Intro: intro, Examples: foreignExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if len(rest) != 1 {
			return command.Wrong("a DIR is needed")
		}
		if err := checkSize(s.Images, s.Side); err != nil {
			return err
		}
		if err := synthetic.WriteForeign(ctx, rest[0], s); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%s: %d images of %d kinds, without %s\n", rest[0], s.Images, len(s.Kinds), strings.Join(s.Classes, " and "))
		return nil
	})
}

// foreignKinds parses the names of kinds.
func foreignKinds(text string) (kinds []synthetic.ForeignKind, err error) {
	for _, name := range strings.Split(text, ",") {
		k, err := synthetic.FindForeign(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(kinds, func(other synthetic.ForeignKind) bool { return other.Name == k.Name }) {
			return nil, fmt.Errorf("%s appears twice", k.Name)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

// classNames parses the names of classes.
func classNames(text string) (classes []string, err error) {
	for _, class := range strings.Split(text, ",") {
		class = strings.TrimSpace(class)
		if !weights.IsName(class) {
			return nil, fmt.Errorf("%q is not letters (a to z), digits, hyphens and underscores", class)
		}
		if slices.Contains(classes, class) {
			return nil, fmt.Errorf("%s appears twice", class)
		}
		classes = append(classes, class)
	}
	return classes, nil
}
