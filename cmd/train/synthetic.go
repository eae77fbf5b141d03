//go:build !js

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mrprism/internal/data/foreign"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/program/cli"
	"mrprism/weights"
)

const syntheticIntro = `train synthetic - draws a data set with a known truth

usage: train synthetic SCENARIO DIR [flags]
       train synthetic foreign DIR [flags]
       train synthetic fields|touching DATA[,DATA] DIR [flags]

A SCENARIO draws eyes, and simulated raters mark disc and cup. DIR becomes a data set. It also receives truth/, against
which "evaluate" scores, and calibrated/, the raters' mean probability in closed form, in 16 bits.

foreign draws pictures without an optic disc, of all kinds in turn, and empty masks of one rater, "nobody". Train with
them by -also, and the network learns to mark nothing there. Test that with pictures of another seed.

fields puts many objects of data sets, whose images show one each, into one picture; with touching half of them touch
another one. Fields that are held out have objects that DATA holds out. Masks are those of most raters and of each object's
core, for a finder of "export -finder"; labels/NAME.png numbers the objects.

A seed always gives the same files.

scenarios:
`

const syntheticExamples = `
examples:
  train synthetic one-expert data/one-expert -images 60
  train -data data/one-expert -out runs/one-expert -name one-expert -epochs 25
  evaluate -weights runs/one-expert/one-expert.safetensors -data data/one-expert
  train synthetic foreign data/foreign -images 160
  train -data data/discs -also data/foreign -anchor disc -name discs -out runs/discs

exit codes: 0 written, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C (DIR lacks dataset.json and is no data set)
`

// runSynthetic is the program as "train synthetic"; it returns the exit code.
func runSynthetic(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var images, side int
	var seed uint64
	kinds, classes := foreign.Kinds, []string{"disc"}
	fields := synthetic.FieldSet{Least: 25, Most: 25}
	flags := cli.NewGroups()
	flags.Add("flags", func(f *flag.FlagSet) {
		f.IntVar(&images, "images", 100, "`NUMBER` of images; every fifth is held out")
		f.IntVar(&side, "side", 0, "side of the images in `PIXELS`; with foreign, the longer side (default 128, with foreign 512, of fields that of their objects)")
		f.Uint64Var(&seed, "seed", 1, "`NUMBER` that decides every picture and every mark")
	})
	flags.Add("only with foreign", func(f *flag.FlagSet) {
		cli.Parsed(f, &kinds, "kinds", "`KINDS` to draw, separated by commas (default all)", names(foreign.Find))
		cli.Parsed(f, &classes, "classes", "`CLASSES` that no picture shows, separated by commas (default disc)", names(className))
	})
	flags.Add("only with fields", func(f *flag.FlagSet) {
		f.Func("objects", "`NUMBER` of objects in a field, or LEAST-MOST (default 25)", func(text string) (err error) {
			fields.Least, fields.Most, err = between(text)
			return err
		})
	})
	intro := syntheticIntro
	for _, s := range synthetic.Scenarios {
		intro += fmt.Sprintf("  %-16s %s\n", s.Name, s.Description)
	}
	intro += "\nkinds of foreign pictures:\n"
	for _, k := range foreign.Kinds {
		intro += fmt.Sprintf("  %-16s %s\n", k.Name, k.Description)
	}
	p := cli.Program{Name: program + " synthetic", Intro: intro, Examples: syntheticExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if len(rest) == 3 && (rest[0] == "fields" || rest[0] == "touching") {
			if images < 1 || side < 0 || side > 8192 {
				return cli.Wrong("fields: give -images of at least 1, and a -side of at most 8192 pixels")
			}
			fields.Sources, fields.Images, fields.Side, fields.Touching, fields.Seed = strings.Split(rest[1], ","), images, side, rest[0] == "touching", seed
			if err := synthetic.WriteFields(ctx, rest[2], fields); err != nil {
				return err
			}
			fmt.Fprintf(stderr, "%s: %d fields\n", rest[2], images)
			return nil
		}
		if len(rest) != 2 {
			return cli.Wrong("give a SCENARIO, or foreign, and a DIR; or fields, DATA and a DIR")
		}
		name, folder, given := rest[0], rest[1], flags.Given()
		drawsForeign := name == "foreign"
		if !given["side"] {
			side = map[bool]int{false: 128, true: 512}[drawsForeign]
		}
		switch {
		case images < 1:
			return cli.Wrong("-images %d: give at least 1", images)
		case side < 16 || side > 4096:
			return cli.Wrong("-side %d: give 16 to 4096 pixels", side)
		case drawsForeign:
			set := synthetic.ForeignSet{Kinds: kinds, Classes: classes, Images: images, Side: side, Seed: seed}
			if err := synthetic.WriteForeign(ctx, folder, set); err != nil {
				return err
			}
			fmt.Fprintf(stderr, "%s: %d images of %d kinds, without %s\n", folder, images, len(kinds), strings.Join(classes, " and "))
			return nil
		case given["kinds"] || given["classes"]:
			return cli.Wrong("-kinds and -classes are only for foreign")
		}
		scenario, err := synthetic.FindScenario(name)
		if err != nil {
			return cli.Wrong("%w, and foreign", err)
		}
		if err := synthetic.WriteDataset(ctx, folder, scenario, images, side, seed); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%s: %d images of %d² with %d raters\n", folder, images, side, len(scenario.Raters))
		return nil
	})
}

// names returns a parser of names that commas separate. No name may appear twice.
func names[T any](parse func(name string) (T, error)) func(text string) ([]T, error) {
	return func(text string) (all []T, err error) {
		seen := map[string]bool{}
		for name := range strings.SplitSeq(text, ",") {
			name = strings.TrimSpace(name)
			if seen[name] {
				return nil, fmt.Errorf("%s appears twice", name)
			}
			seen[name] = true
			one, err := parse(name)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}
}

// between reads "25" or "0-60".
func between(text string) (least, most int, err error) {
	first, last, ranged := strings.Cut(text, "-")
	least, err = strconv.Atoi(first)
	if most = least; ranged && err == nil {
		most, err = strconv.Atoi(last)
	}
	if err != nil || least < 0 || most < least || most > 1000 {
		return 0, 0, fmt.Errorf("%q: give a number from 0 to 1000, or two such as 0-60", text)
	}
	return least, most, nil
}

// className refuses what cannot name a class.
func className(name string) (string, error) {
	if !weights.IsName(name) {
		return "", fmt.Errorf("%q is no class name: give up to 64 letters (a to z), digits, hyphens and underscores", name)
	}
	return name, nil
}
