// Command together brings the marks of several people together for the page (site/together.js). It
// makes a data set of their sessions, says how they agree, and fuses their marks, as "train import
// sessions", "evaluate raters" and "evaluate fuse" do. The page loads it when it is wanted.
//
//	together FOLDER
//
// FOLDER/in holds sessions and images; without it FOLDER/data is a data set already. The program
// writes skipped.json (what it did not take, and why), data, agreement and fused. It prints
// "agreed" on a line of its own once agreement is there.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mrprism/internal/command"
	"mrprism/internal/data/importer"
	"mrprism/internal/program/cli"
	"mrprism/internal/study/agree"
	"mrprism/internal/study/fuse"
	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
	"mrprism/weights"
)

const longest = 1024 // pixels of an image's longer side, as "train import" has it

func main() { cli.Main(run) }

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := errors.New("give one FOLDER")
	if len(args) == 1 {
		err = bring(ctx, args[0], stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "together:", cli.Message(err.Error()))
		return cli.Failed
	}
	return 0
}

func bring(ctx context.Context, folder string, stdout, stderr io.Writer) error {
	in, data := filepath.Join(folder, "in"), filepath.Join(folder, "data")
	if _, err := os.Stat(in); err == nil {
		if err := gather(ctx, in, data, filepath.Join(folder, "skipped.json")); err != nil {
			return err
		}
	}
	made := report.NewOrigin("evaluate raters", cli.NewGroups())
	if err := agree.Run(ctx, data, filepath.Join(folder, "agreement"), made, io.Discard, stderr); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "agreed")
	return fuse.Run(ctx, fuse.Request{
		Images: score.Images{Data: data, On: "all", Region: "none"}, Out: filepath.Join(folder, "fused"),
		Methods: []string{"mean-vote", "majority", "staple", "edges"},
	}, io.Discard, stderr)
}

// gather makes a data set of sessions, and writes what it did not take.
func gather(ctx context.Context, in, data, skipped string) error {
	layout, err := importer.FindLayout("sessions")
	if err != nil {
		return err
	}
	made, err := layout.Run(ctx, importer.Options{Source: in, Destination: data, Longest: longest, Repeats: true, Lenient: true})
	if err != nil {
		return err
	}
	return weights.WriteAtomic(skipped, func(w io.Writer) error { return command.WriteJSON(w, made.Skipped) })
}
