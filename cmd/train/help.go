package main

import (
	"fmt"
	"strings"

	"mrprism/model"
)

// methods lists the names of the methods, and with about their titles in lines.
func methods(about bool) string {
	var names []string
	var lines strings.Builder
	for _, m := range model.Methods {
		names = append(names, m.Name)
		fmt.Fprintf(&lines, "  %-9s %s\n", m.Name, m.Title)
	}
	if about {
		return lines.String()
	}
	return strings.Join(names, ", ")
}

const intro = `train - trains a MrPrism model on images that several raters have marked

usage: train -data DIR[,DIR] -out RUN [flags]
       train import LAYOUT SRC DST [flags]    makes a data set from a labelling tool's or a published one
       train export FORM DIR DST              writes a data set for COCO's or nnU-Net's programs
       train check DIR[,DIR] [flags]          reads a data set and lists its faults
       train certify -data DIR -weights NAME -out FILE   certifies a ratio on one's own camera
       train synthetic SCENARIO DIR [flags]   draws a data set with a known truth

train writes a model that "segment", "evaluate" and the site read. A data set is a folder of
  dataset.json                  such as {"name": "hearts", "classes": ["heart", "ventricle"], "raters": ["ann", "bob", "eve"]}
  images/NAME.png, .jpg, .tif, .nii.gz, …   of any size, one picture a file
  raters/RATER/CLASS/NAME.png   of 0 and 255 (or 1), as large as its image; a missing file is a missing label
"train -h all" has the files that it may also have. train never trains on every fifth image in sorted order, or on what a split
holds out: "evaluate" scores these.

The folder RUN receives
  NAME.safetensors         the weights, in int8; NAME.f32.safetensors in float32; NAME.best.… of the best score
  checkpoint.safetensors   what -resume needs; checkpoint.previous.safetensors is the one before
  run.yaml                 every flag and field: "train -with RUN -out ANOTHER" repeats the run
  log.jsonl, curves.svg    a line for each step, and its curves; tensorboard/ has them too, with training images

recipes:
  default    the mean vote under cross-entropy and a Dice loss, a head for each rater, and passes that settle around given marks
  evidence   those passes alone, on the weights of -init, which stay as they are
  bce        the mean vote under cross-entropy alone
  recurrent  the paper's alternation as our tables favour it; it learns how far to trust each rater, and no rater's outline
  steered    the alternation with our rule, losses and raters' weights
  paper      exactly as in the paper; small structures often stay empty

methods, of which "train -h all" says more:
  METHODS

Ctrl-C finishes the step, saves and exits with 130; -resume continues.
`

const details = `
A data set may also have
  groups.csv             lines of NAME,GROUP, such as the patient: no split parts the images of a group, and every fifth group is held out
  split.json             {"train": ["NAME", …], "validation": ["NAME", …], "test": ["NAME", …]}: train learns from train, scores on validation
                         after every epoch, and never sees test. An image in no list is for nothing
  raters/RATER-again/…   the second readings of RATER: "evaluate raters" says how far they agree with the first
  affines.csv            lines of NAME,AFFINE, where an image lies that was NIfTI, as "train import" writes them
  diagnosis.csv          only for -method diag: lines of NAME,0 or NAME,1
Names have letters, digits, hyphens and underscores. These files may be in UTF-8 or UTF-16, with semicolons or tabs in place of commas.
With "labels": "agreement-levels" in dataset.json, the j-th rater stands for what at least j experts marked. Two or more people become such
levels if their folder follows one of M levels in -data: level j is what at least (j − 1/2)/M of them marked. If nearly all marks of a class
lie inside the class before it, the model keeps its masks inside too.

Recipes of studies, which only the file of -with names: unsteered (steered without the raters' weights), baseline (the mean vote under steered's
losses), one-pass (baseline with raters' weights). An ensemble is several runs of -recipe bce with other seeds: "evaluate -weights A+B+C" takes the mean of their maps.

Methods train the same encoder and decoder in MrPrism's place:
METHODS
The loss is a sum, over the recurrences where the recipe has several, of
  mask      1 − SSIM of the calibrated mask and the raters' fused labels
  fusion    1 − SSIM of the calibrated mask and the labels fused under the raters' estimated weights
  shuffle   the fused estimates against the fused labels, under weights that are drawn anew
  heads     cross-entropy of each rater's own mask
  fade      cross-entropy of the calibrated mask: the whole loss of the mask by cross-entropy alone; with steered's losses it falls to one half
  dice      overlap of each image's mask
  evidence  cross-entropy of the mask that settles around given marks, against the marks that are not given
  others    cross-entropy of the raters' masks that settle with it
`

const examples = `
examples:
  train -data data/brain -dry-run                                  GPU memory and time of a run
  train -data data/brain -out runs/brain -name newborn-brain
  train -with runs/brain -resume                                   continue
  train -with runs/brain -out runs/brain-2 -seed 2                 the same run with another seed
  train -data mine -out runs/mine -validate 0.2 -patience 20       stop after 20 epochs without a better score
  train -data mine -out runs/cm -method cm                         a rival of MrPrism on the same network
  train -data mine -init fundus -judge fundus -rate 2e-4 -out runs/mine -cross 5      from a shipped model; for few images

exit codes: 0 trained to the end, or stopped by -hours or the file RUN/stop and saved; 1 failed; 2 wrong usage; 130 stopped by Ctrl-C and saved
`
