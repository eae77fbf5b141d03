// Command train trains a MrPrism model on multi-rater folders.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/dataset"
)

const program = "train"

const intro = `train - learns a MrPrism model from images that several raters have annotated (Algorithm 1 of the paper)

usage: train -data DIR[,DIR] -out RUN [flags]
       train import LAYOUT SRC DST [flags]       makes a data set of a published one: riga, refuge, qubiq; see "train import -h"
       train check DIR[,DIR] [flags]             reads a data set and tells what is wrong with it; see "train check -h"
       train synthetic SCENARIO DIR [flags]      makes a data set whose truth is known; see "train synthetic -h"

A data set is a folder of
  dataset.json                  as {"name": "hearts", "classes": ["heart", "ventricle"], "raters": ["ann", "bob", "eve"]}
  images/NAME.png or .jpg       of any size; where it is not square its edge is continued
  raters/RATER/CLASS/NAME.png   of 0 and 255, as large as its image; a missing mask is a missing label
Classes and raters are named with letters, digits, hyphens and underscores. With "labels": "agreement-levels" the raters are not people:
the j-th holds what at least j experts marked. Where nearly all that is marked as a class lies inside the class before it, as a cup inside its disc,
so do the masks of the model; otherwise it is said that they need not. Every fifth image in sorted order is held out and never trained on: score it with
"evaluate". So have all images in the folder before the first run: one more moves what is held out.

The run's folder receives
  checkpoint.safetensors   everything needed to go on, bit for bit; the one before it is kept beside it
  NAME.safetensors         the weights so far, int8, for "segment" and the site;  NAME.f32.safetensors  the same in float32
  NAME.best.safetensors    with -validate or -fold: the weights that scored best so far, also in float32
  run.yaml                 every flag's value, commit and seed: "train -with RUN/run.yaml -out ANOTHER" repeats the run
  log.jsonl                one line a step
  tensorboard/             the same and, now and then, TRAINING IMAGES with their votes and masks: "tensorboard --logdir RUN"
  curves.svg               the curves, drawn when the run ends or stops
The loss there is a sum over the recurrences of: mask, 1 − SSIM of the calibrated mask and the raters' labels fused; fusion, the same
seen from the raters' weights; shuffle, the estimates fused against the labels fused, under weights drawn anew; heads, the cross-entropy
of each rater's own mask; fade, that of the calibrated mask, whose weight falls to one half over the first fifth of the run (with the
recipe bce, or -cross-entropy, it is the mask's whole loss and stays); dice, with -dice, that by the overlap of each image's mask, whatever its size. With the
recipe default and named raters every image is given weights of its raters, equal for some, all on one rater for others, under which its
labels are fused and which the network sees: so the mask follows whom a user weighs more.

Ctrl-C finishes the step, saves and exits with 130; -resume goes on. A second Ctrl-C exits at once, as a crash would: what was
saved last is kept. A GPU that is lost is opened again and the run goes on from its last checkpoint.
`

const examples = `
examples:
  train import qubiq downloads/brain-growth data/qubiq-brain-growth -classes brain && train check data/qubiq-brain-growth
  train -data data/qubiq-brain-growth -dry-run                                      what GPU memory and time that would take
  train -data data/qubiq-brain-growth -out runs/brain -name newborn-brain -epochs 150
  train -data data/drishti-gs1-crop,data/drishti-gs1-full -out runs/fundus -name fundus -anchor disc -phases 64:25,128:25
  train -data DIR -recipe baseline -epochs 75 -out runs/first && train -data DIR -init runs/first/model.f32.safetensors -epochs 75 -out runs/then
                                                                                    mask first, raters then: quicker than 150 epochs of all at once and, on our generator's eyes, on average better
  train -with runs/brain/run.yaml -resume                                           go on, also as the same flags and -resume
  train -with runs/brain/run.yaml -out runs/brain-2 -seed 2                         the same with another seed
  train -data my-hospital -out runs/mine -validate 0.2 -patience 20                 stop when 20 epochs brought nothing
  for i in 1 2 3 4 5; do train -with runs/mine/run.yaml -validate 0 -fold $i/5 -out runs/mine-fold$i; done        cross-validation
  train -data my-hospital -init fundus -out runs/mine -rate 2e-4                    from a model that ships, or a FILE; of other raters too
  train -data my-hospital -init resnet34.safetensors -names resnet -config paper -out runs/mine     from ImageNet's ResNet-34, see -names

exit codes: 0 trained to the end, or stopped by -hours or -stop-file (saved), 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C (saved)
`

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
		if !strings.HasPrefix(args[0], "-") {
			return command.Misused(stderr, program, "there is no train %q, only import, check and synthetic", args[0])
		}
	}
	r := runner{stderr: stderr, bar: newProgress(stderr)}
	if code, done := r.parse(args, stdout); done {
		return code
	}
	if r.options.DryRun {
		if err := r.try(ctx, stdout); err != nil {
			return command.Fail(ctx, stderr, program, err)
		}
		return command.Done
	}
	tell := context.AfterFunc(ctx, func() {
		if r.started.Load() {
			fmt.Fprintln(stderr, "\nfinishing the step and saving; Ctrl-C again exits at once")
		}
	})
	defer tell()
	err := r.train(ctx)
	switch {
	case err == nil:
		fmt.Fprintf(stderr, "done: %s\n", r.result())
		if r.heldOut > 0 {
			search := ""
			if r.options.Anchor != "" { // as -validate scores, and as "segment" and the page see photographs
				search = " -roi auto"
			}
			fmt.Fprintf(stderr, "score it: evaluate -weights %s -data %s%s\n", quote(r.result()), quote(strings.Join(r.options.Data, ",")), search)
		}
		return command.Done
	case errors.Is(err, errEnough):
		fmt.Fprintf(stderr, "%v: %s\n", err, r.goOn())
		return command.Done
	case errors.Is(err, context.Canceled) && r.started.Load():
		fmt.Fprintln(stderr, r.goOn())
		return command.Interrupted
	}
	if problems := (dataset.Problems{}); errors.As(err, &problems) {
		err = fmt.Errorf("%w\n\"train check -most 0 %s\" lists all that is wrong with the data; -skip-bad leaves out images whose files are at fault", err,
			quote(strings.Join(r.options.Data, ",")))
	}
	if !errors.Is(err, context.Canceled) { // after Ctrl-C too: what could not be saved then is to be known
		ctx = context.WithoutCancel(ctx)
	}
	return command.Fail(ctx, stderr, program, err)
}
