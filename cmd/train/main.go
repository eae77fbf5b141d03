// Command train trains a MrPrism model on multi-rater folders.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/app/command"
	"mrprism/internal/data/dataset"
)

const program = "train"

// commit is set by the Makefile: -ldflags "-X main.commit=…".
var commit = "unknown"

func main() { command.Main(run) }

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case "synthetic":
			return runSynthetic(ctx, args[1:], stdout, stderr)
		case "import":
			return runImport(ctx, args[1:], stdout, stderr)
		case "check":
			return runCheck(ctx, args[1:], stdout, stderr)
		}
	}
	r := newRunner(stderr)
	d := r.declare()
	p := command.Program{Name: program, Intro: introduction(), Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, d.Groups, args, func(rest []string) error {
		if len(args) > 0 && len(rest) > 0 && rest[0] == args[0] {
			return command.Wrong("there is no train %q: choose import, check or synthetic, or begin with a flag", args[0])
		}
		if err := r.settle(d, rest); err != nil {
			return command.Wrong("%w", err)
		}
		if r.options.DryRun {
			return r.try(ctx, stdout)
		}
		defer context.AfterFunc(ctx, func() {
			if r.started.Load() {
				fmt.Fprintln(stderr, "\nfinishing the step and saving; Ctrl-C again exits at once")
			}
		})()
		return r.conclude(ctx, r.train(ctx))
	})
}

// conclude says how a run ended and what to do next.
func (r *runner) conclude(ctx context.Context, err error) error {
	data := quote(strings.Join(r.options.Data, ","))
	switch {
	case err == nil:
		fmt.Fprintf(r.stderr, "done: %s\n", r.result())
		if r.heldOut > 0 {
			search := ""
			if r.options.Anchor != "" { // -validate searches the photographs, as "segment" and the page do
				search = " -roi auto"
			}
			if r.options.Split != "" {
				search += " -split " + quote(r.options.Split)
			}
			fmt.Fprintf(r.stderr, "score it: evaluate -weights %s -data %s%s\n", quote(r.result()), data, search)
		}
		return nil
	case errors.Is(err, errEnough):
		fmt.Fprintf(r.stderr, "%v: %s\n", err, r.goOn())
		return nil
	case errors.Is(err, context.Canceled) && r.started.Load():
		fmt.Fprintln(r.stderr, r.goOn())
		return command.Exit(command.Interrupted)
	}
	noSet := func(folder string) bool {
		_, err := os.Stat(filepath.Join(folder, "dataset.json"))
		return err != nil
	}
	if problems := (dataset.Problems{}); errors.As(err, &problems) && !slices.ContainsFunc(r.options.Data, noSet) {
		err = fmt.Errorf("%w\n\"train check -most 0 %s\" lists all faults of the data; with -skip-bad train leaves out images with faulty files", err, data)
	}
	// the run could not be saved after Ctrl-C
	if ctx.Err() != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(r.stderr, "%s: %v\n", program, err)
		return command.Exit(command.Failed)
	}
	return err
}
