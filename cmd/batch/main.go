// Command batch segments very many images as an Apache Beam pipeline. It writes masks, a table and
// a summary.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/shaders/gpu/device"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

const program = "batch"

var intro = `batch - calibrated masks of very many images, as an Apache Beam pipeline

usage: batch -weights NAME|FILE -out DIR [flags] PATTERN...
       batch -weights NAME|FILE -out DIR -list FILE [flags]

A PATTERN is a glob such as 'photos/*.jpg', or gs://bucket/photos/*.jpg: quote it, so that the shell leaves it alone. A list
has one file a line. batch writes into DIR
  masks/ABC/KEY_CLASS.png  probability of a structure, the same bytes as STEM_CLASS.png of segment on the same device
  results.csv              a line a file: its KEY (sha256), the columns of segment -csv, doubts and errors. Above 100,000 files there
                           are several tables, results-00000-of-00003.csv
  dead-letters.csv         the files that failed, where and why
  summary.json             counts, weights and device
  journal/                 done/ABC/KEY.json, the STEM.json of segment: by it a rerun knows what is done, as segment -csv does
KEY is the SHA-256 of a file's content: a copy under another name is segmented once. A file that fails stops no other one.
Run the same command again after a crash or with more files: what is done stays as it is, and masks that are no longer as they
were written are named and made again. Each worker is a process. If a file kills one, a new one tries the file again. A file
that kills this too is named, and left out from then on, until you delete its file in journal/killed.

Shipped weights:
`

const examples = `
examples:
  batch -weights fundus -out run 'photos/*.jpg'                two workers, on Beam's own runner, Prism
  batch -weights fundus -out run -list all.txt -workers 8      eight
  batch -weights fundus -out /shared/run -list all.txt --runner=flink --endpoint=host:8099 --environment_type=LOOPBACK

exit codes: 0 all images segmented; 1 an image failed, see dead-letters.csv, or the pipeline did; 2 wrong usage;
130 stopped by Ctrl-C (written files are complete)
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the next signal has its default effect
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// batch is one call of the program.
type batch struct {
	task   Task
	list   string
	shards int
	stdout io.Writer
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if slices.Equal(args, []string{childArgument}) {
		return serve(ctx, os.Stdin, stdout)
	}
	b := &batch{stdout: stdout}
	p := cli.Program{Name: program, Intro: intro + "  " + computing.Shipped() + "\n", Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, b.flags(), args, func(patterns []string) error {
		beam.Init() // in a worker that a runner has started, this does not return
		if err := b.check(patterns); err != nil {
			return err
		}
		return b.body(ctx, patterns)
	})
}

func (b *batch) flags() *cli.Groups {
	flags := cli.NewGroups()
	flags.Add("task", func(f *flag.FlagSet) {
		f.StringVar(&b.task.Weights, "weights", "", "`NAME` of a shipped model, or a .safetensors FILE (required)")
		f.StringVar(&b.task.Out, "out", "", "`DIR` for the results, which is made if missing; all workers must see it under this name (required)")
		f.StringVar(&b.list, "list", "", "read the names of the images from `FILE`, one a line")
	})
	flags.Add("computing", func(f *flag.FlagSet) {
		f.IntVar(&b.task.Workers, "workers", 2, "work on `N` images at once, each in a process of its own (1 to 64)")
		f.StringVar(&b.task.Device, "device", device.Processor, "`DEVICE` that computes: "+strings.Join(device.Names(), ", "))
	})
	flags.Add("Apache Beam", func(f *flag.FlagSet) {
		flag.CommandLine.VisitAll(func(one *flag.Flag) {
			if !strings.HasPrefix(one.Name, "test.") && !strings.HasSuffix(one.Name, "async") { // report waits
				f.Var(one.Value, one.Name, one.Usage)
			}
		})
	})
	return flags
}

// check refuses wrong usage.
func (b *batch) check(patterns []string) error {
	switch {
	case b.task.Weights == "":
		return cli.Wrong("which weights? give -weights NAME or FILE (shipped: %s)", computing.Shipped())
	case b.task.Out == "":
		return cli.Wrong("where to? give -out DIR")
	case b.list == "" && len(patterns) == 0:
		return cli.Wrong("no images: give a pattern such as 'photos/*.jpg', or -list FILE")
	case b.list != "" && len(patterns) > 0:
		return cli.Wrong("give patterns or -list, not both")
	case b.task.Workers < 1 || b.task.Workers > 64:
		return cli.Wrong("-workers %d: choose 1 to 64", b.task.Workers)
	case !slices.Contains(device.Names(), b.task.Device):
		return cli.Wrong("-device %s: choose one of %s", b.task.Device, strings.Join(device.Names(), ", "))
	}
	return nil
}

// body checks everything that can be checked, and then runs the pipeline.
func (b *batch) body(ctx context.Context, patterns []string) error {
	if err := b.load(); err != nil {
		return err
	}
	paths, err := images(ctx, patterns, b.list, b.task.Out)
	if err != nil {
		return err
	}
	b.shards = 1 + (len(paths)-1)/perTable
	held, err := claim(b.task)
	if err != nil {
		return err
	}
	defer held.Close()
	begun := time.Now()
	if err := b.pipeline(ctx, paths); err != nil {
		return err
	}
	return b.report(time.Since(begun))
}

// load reads the weights and completes the task.
func (b *batch) load() error {
	out, err := filepath.Abs(b.task.Out)
	if err != nil {
		return err
	}
	model, err := computing.Weights(b.task.Weights)
	if err != nil {
		return err
	}
	b.task.Out, b.task.SHA256 = out, model.SHA256
	if without := segment.Headless(&model.Metadata); without != "" {
		note(without)
	}
	return nil
}

// report prints the summary in a line.
func (b *batch) report(took time.Duration) error {
	data, err := os.ReadFile(filepath.Join(b.task.Out, summaryName))
	var s Summary
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return fmt.Errorf("the summary cannot be read back: %w; run the command again", err)
	}
	fmt.Fprintf(b.stdout, "%d files: %d segmented, %d doubted, %d failed; %.1f s; %s\n", s.Files, s.Segmented, s.Doubted, s.Failed, took.Seconds(), b.task.Out)
	if s.Failed > 0 {
		return fmt.Errorf("%d of %d files failed; %s says why", s.Failed, s.Files, filepath.Join(b.task.Out, "dead-letters*.csv"))
	}
	return nil
}
