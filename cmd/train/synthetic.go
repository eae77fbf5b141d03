package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/synthetic"
)

const syntheticIntro = `train synthetic - makes a data set whose truth is known

usage: train synthetic SCENARIO DIR [flags]
       train synthetic foreign DIR [flags]     makes pictures without a disc; see "train synthetic foreign -h"

Paints eyes and lets simulated raters mark disc and cup. Beside what a data set has, DIR receives truth/ (scored by "evaluate") and
calibrated/, the raters' mean probability in closed form, in 16 bits. The same seed makes the same files.

scenarios:
`

const syntheticExamples = `
example:
  train synthetic one-expert data/one-expert -images 60
  train -data data/one-expert -out runs/one-expert -name one-expert -epochs 25
  evaluate -weights runs/one-expert/one-expert.safetensors -data data/one-expert

exit codes: 0 written, 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C (without dataset.json: not a data set)
`

// runSynthetic is the program as "train synthetic"; it returns the exit code.
func runSynthetic(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "foreign" {
		return runForeign(ctx, args[1:], stdout, stderr)
	}
	f := flag.NewFlagSet(program+" synthetic", flag.ContinueOnError)
	images := f.Int("images", 100, "images to make; every fifth is held out")
	side := f.Int("side", 128, "image side in pixels")
	seed := f.Uint64("seed", 1, "decides every eye and every mark")
	var intro strings.Builder
	intro.WriteString(syntheticIntro)
	for _, s := range synthetic.Scenarios {
		fmt.Fprintf(&intro, "  %-14s %s\n", s.Name, s.Description)
	}
	rest, code, done := command.Parse(f, intro.String(), syntheticExamples, args, stdout, stderr)
	if done {
		return code
	}
	if len(rest) != 2 {
		return command.Misused(stderr, f.Name(), "a SCENARIO and a DIR are needed")
	}
	if rest[0] == "foreign" {
		return command.Misused(stderr, f.Name(), "foreign comes before the flags")
	}
	scenario, err := synthetic.FindScenario(rest[0])
	switch {
	case err != nil:
		return command.Misused(stderr, f.Name(), "%v", err)
	case *images < 1:
		return command.Misused(stderr, f.Name(), "-images %d: at least 1 is needed", *images)
	case *side < 16 || *side > 4096:
		return command.Misused(stderr, f.Name(), "-side %d: 16 to 4096 pixels", *side)
	}
	if err := synthetic.WriteDataset(ctx, rest[1], scenario, *images, *side, *seed); err != nil {
		return command.Fail(ctx, stderr, f.Name(), err)
	}
	fmt.Fprintf(stderr, "%s: %d images of %d² with %d raters\n", rest[1], *images, *side, len(scenario.Raters))
	return command.Done
}
