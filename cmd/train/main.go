// Command train trains a MrPrism model on multi-rater folders.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mrprism/internal/data/dataset"
	"mrprism/internal/program/cli"
	"mrprism/internal/train"
	"mrprism/shaders/ranks"
)

const program = "train"

func main() { cli.Main(run) }

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r := newRunner(stderr)
	d := r.declare()
	p := cli.Program{Name: program, Subprograms: programs, Intro: strings.Replace(intro, "METHODS", methods(false), 1),
		Details: strings.Replace(details, "METHODS", methods(true), 1), Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, d.Groups, args, func(rest []string) (err error) {
		if err := r.join(); err != nil {
			return err
		}
		defer func() { err = r.leave(err) }()
		if err := r.settle(d, rest); err != nil {
			return cli.Wrong("%w", err)
		}
		if r.options.DryRun {
			return r.try(ctx, stdout)
		}
		defer context.AfterFunc(ctx, func() {
			if r.started.Load() {
				fmt.Fprintln(r.stderr, "\nfinishing the step and saving; Ctrl-C again exits at once")
			}
		})()
		return r.conclude(ctx, r.train(ctx))
	})
}

// join joins the ranks, if the process is one of several. The first one speaks, and the others are
// silent.
func (r *runner) join() (err error) {
	r.options.Ranks, err = ranks.Join()
	if r.options.Follows() {
		r.stderr, r.bar = io.Discard, newProgress(io.Discard)
	}
	return err
}

// leave leaves the ranks, if the process is one of several. What all of them found wrong, the first
// one says.
func (r *runner) leave(err error) error {
	o := r.options
	switch {
	case o.Ranks == nil:
		return err
	case err == nil || errors.Is(err, cli.Exit(cli.Interrupted)):
		return cmp.Or(o.Ranks.Leave(), err)
	case o.Follows() && (errors.Is(err, train.ErrDiffer) || errors.Is(err, train.ErrDiverged)):
		time.Sleep(time.Second) // mpirun ends the others when one exits
		return cli.Exit(cli.Failed)
	case o.Follows():
		return fmt.Errorf("rank %d: %w", o.Ranks.Rank(), err)
	}
	return err
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
		return cli.Exit(cli.Interrupted)
	}
	noSet := func(folder string) bool {
		_, err := os.Stat(filepath.Join(folder, "dataset.json"))
		return err != nil
	}
	if problems := (dataset.Problems{}); errors.As(err, &problems) && !slices.ContainsFunc(r.options.Data, noSet) {
		err = fmt.Errorf("%w\n\"train check -most 0 %s\" lists all faults of the data; with \"skip-bad: true\" in the file of -with train leaves out images with faulty files", err, data)
	}
	// the run could not be saved after Ctrl-C
	if ctx.Err() != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(r.stderr, "%s: %s\n", program, cli.Message(err.Error()))
		return cli.Exit(cli.Failed)
	}
	return err
}
