package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/synthetic"
	"mrprism/weights"
)

const foreignIntro = `train synthetic foreign - makes a data set of pictures in which there is nothing to mark

usage: train synthetic foreign DIR [flags]

Draws pictures without an optic disc, the kinds in turn, and empty masks of one rater, "nobody". Train with them by -also, so that the network
learns to mark nothing there; other seeds test whether it does. The same seed makes the same files.

kinds:
`

const foreignExamples = `
example:
  train synthetic foreign data/foreign -images 160
  train -data data/discs -also data/foreign -anchor disc -name discs -out runs/discs

exit codes: 0 written, 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C (without dataset.json: not a data set)
`

// runForeign is the program as "train synthetic foreign"; it returns the exit code.
func runForeign(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet(program+" synthetic foreign", flag.ContinueOnError)
	var s synthetic.ForeignSet
	f.IntVar(&s.Images, "images", 100, "images to make, of all kinds together; every fifth is held out")
	f.IntVar(&s.Images, "n", 100, "the same as -images")
	f.IntVar(&s.Side, "side", 512, "the longer side of the images in pixels; their shapes vary")
	f.Uint64Var(&s.Seed, "seed", 1, "decides every picture")
	kinds := f.String("kinds", "", "`KINDS` to draw, separated by commas (default all)")
	classes := f.String("classes", "disc", "`CLASSES` that are in no picture, separated by commas")
	var intro strings.Builder
	intro.WriteString(foreignIntro)
	for _, k := range synthetic.ForeignKinds {
		fmt.Fprintf(&intro, "  %-14s %s\n", k.Name, k.Description)
	}
	rest, code, done := command.Parse(f, intro.String(), foreignExamples, args, stdout, stderr)
	if done {
		return code
	}
	if len(rest) != 1 {
		return command.Misused(stderr, f.Name(), "a DIR is needed")
	}
	if s.Images < 1 {
		return command.Misused(stderr, f.Name(), "-images %d: at least 1 is needed", s.Images)
	}
	if s.Side < 16 || s.Side > 4096 {
		return command.Misused(stderr, f.Name(), "-side %d: 16 to 4096 pixels", s.Side)
	}
	if err := foreignLists(&s, *kinds, *classes); err != nil {
		return command.Misused(stderr, f.Name(), "%v", err)
	}
	if err := synthetic.WriteForeign(ctx, rest[0], s); err != nil {
		return command.Fail(ctx, stderr, f.Name(), err)
	}
	fmt.Fprintf(stderr, "%s: %d images of %d kinds, without %s\n", rest[0], s.Images, len(s.Kinds), strings.Join(s.Classes, " and "))
	return command.Done
}

// foreignLists reads the lists of kinds, all where it is empty, and of classes.
func foreignLists(s *synthetic.ForeignSet, kinds, classes string) error {
	s.Kinds = synthetic.ForeignKinds
	if kinds != "" {
		s.Kinds = nil
		for _, name := range strings.Split(kinds, ",") {
			k, err := synthetic.FindForeign(strings.TrimSpace(name))
			if err != nil {
				return err
			}
			if slices.ContainsFunc(s.Kinds, func(other synthetic.ForeignKind) bool { return other.Name == k.Name }) {
				return fmt.Errorf("-kinds: %s appears twice", k.Name)
			}
			s.Kinds = append(s.Kinds, k)
		}
	}
	for _, class := range strings.Split(classes, ",") {
		class = strings.TrimSpace(class)
		if !weights.IsName(class) {
			return fmt.Errorf("-classes: %q is not letters (a to z), digits, hyphens and underscores", class)
		}
		if slices.Contains(s.Classes, class) {
			return fmt.Errorf("-classes: %s appears twice", class)
		}
		s.Classes = append(s.Classes, class)
	}
	return nil
}
