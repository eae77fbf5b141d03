package main

import (
	"fmt"
	"strings"

	"mrprism/model"
)

// introduction is intro with the list of methods.
func introduction() string {
	var list strings.Builder
	for _, m := range model.Methods {
		fmt.Fprintf(&list, "  %-9s %s\n", m.Name, m.Title)
	}
	return strings.Replace(intro, "METHODS", list.String(), 1)
}

const intro = `train - trains a MrPrism model on images that several raters have marked

usage: train -data DIR[,DIR] -out RUN [flags]
       train import LAYOUT SRC DST [flags]       makes a data set from a published one; see "train import -h"
       train check DIR[,DIR] [flags]             reads a data set and lists its faults; see "train check -h"
       train synthetic SCENARIO DIR [flags]      draws a data set with a known truth; see "train synthetic -h"

train runs Algorithm 1 of the paper. It writes a model that "segment", "evaluate" and the site read.
  train -data my-hospital -out runs/mine -name mine          the default recipe

A data set is a folder of
  dataset.json                  such as {"name": "hearts", "classes": ["heart", "ventricle"], "raters": ["ann", "bob", "eve"]}
  images/NAME.png or .jpg       of any size; train continues the edge of an image that is not square
  raters/RATER/CLASS/NAME.png   of 0 and 255, as large as its image; a missing file is a missing label
  raters/RATER-again/…          the second readings of RATER: "evaluate raters" says how far they agree with the first, and
                                nothing else uses them. May be absent
  groups.csv                    lines of NAME,GROUP, such as the patient: no split parts the images of a group. May be absent
  affines.csv                   lines of NAME,AFFINE, where an image lies that was NIfTI, as "train import" writes them. May be absent
  diagnosis.csv                 only for -method diag: lines of NAME,0 or NAME,1
Names have letters, digits, hyphens and underscores. With "labels": "agreement-levels" in dataset.json, the j-th rater stands for
what at least j experts marked. Two or more people become such levels if their folder follows one of M levels in -data: level
j is what at least (j − 1/2)/M of them marked. One person's folder is for -also. If nearly all marks of a class lie inside
the class before it, as cups lie inside discs, the model keeps its masks inside too; train says if it does not.

train holds out every fifth image in sorted order for "evaluate" and never trains on it; with groups.csv every fifth group
in order of their names. An image that groups.csv does not name is a group of its own. Put all images into the folder
before the first run, because a new image changes which ones are held out. -validate and -fold take whole groups too, and
a split with a group in two of its lists is an error. To choose yourself, write split.json into the folder, or name such a
file by -split:
  {"train": ["NAME", …], "validation": ["NAME", …], "test": ["NAME", …]}
train learns from train, scores on validation after every epoch, and never sees test. An image in no list is for nothing,
and train says how many there are. A checkpoint cannot be resumed under another split.
These files may be in UTF-8 or UTF-16. Semicolons or tabs may stand for commas, a first line may name the columns, and a NAME
may have extension and path. A name of no image is an error.

The folder RUN receives
  checkpoint.safetensors   everything that -resume needs; checkpoint.previous.safetensors is the one before
  NAME.safetensors         the weights in int8, for "segment" and the site; NAME.f32.safetensors has them in float32
  NAME.best.safetensors    with -validate or -fold: the weights with the best score; NAME.best.f32.safetensors in float32
  run.yaml                 every flag, the commit and the seed: "train -with RUN/run.yaml -out ANOTHER" repeats the run
  log.jsonl                a line for each step
  tensorboard/             the log for "tensorboard --logdir RUN". It also has training images, with votes and masks: do
                           not pass it on if the images are private
  judgement.json           with -judge: scores before and after on images that the run has not seen; and NAME.md, a card;
                           NAME.card.json has it in the fields of Model Cards (Mitchell et al. 2019) and CLAIM 2024
  fold1/ … foldK/          with -cross K: the runs that judge, each on the images that it had set aside. From what they make
                           of these NAME.safetensors learns when to doubt a result, calibration and intervals, as "export
                           -folds" does, if there are right results of 8 groups, and of 9 with marks for an interval
  curves.svg               the curves, drawn when the run ends or stops

The loss is a sum, over the recurrences where the recipe has several, of
  mask      1 − SSIM of the calibrated mask and the raters' fused labels
  fusion    1 − SSIM of the calibrated mask and the labels fused under the raters' estimated weights
  shuffle   the fused estimates against the fused labels, under weights that are drawn anew
  heads     cross-entropy of each rater's own mask
  fade      cross-entropy of the calibrated mask. With the recipe bce, or -cross-entropy, it is the whole loss of
            the mask, and with default all but dice. With the others its weight falls to one half over the first fifth
            of the run
  dice      overlap of each image's mask
  evidence  cross-entropy of the mask that settles around given marks, against the marks that are not given
  others    cross-entropy of the raters' masks that settle with it
The recipe default has heads, fade, dice, evidence and others; fade and dice train encoder and mask. For two thirds of the
images it gives the passes marks of one or more raters, whole or in part, and asks for those of the others.
With the recipe steered and named raters, train draws weights of the raters for each image: equal weights for some
images, all weight on one rater for others. The network sees these weights, and learns to follow them.

Other methods learn from several raters too. With -method they train the same encoder and decoder in MrPrism's place:
METHODS
An ensemble of mean-vote networks is several runs with -recipe bce and other seeds. "evaluate -weights A+B+C+D+E" takes
the mean of their maps.

Ctrl-C finishes the step, saves and exits with 130; -resume continues. A second Ctrl-C exits at once and keeps the last
checkpoint. If a GPU is lost, train opens it again and continues from the last checkpoint.
`

const examples = `
examples:
  train import qubiq downloads/brain-growth data/qubiq-brain-growth -classes brain && train check data/qubiq-brain-growth
  train -data data/qubiq-brain-growth -dry-run                             GPU memory and time of a run
  train -data data/qubiq-brain-growth -out runs/brain -name newborn-brain -epochs 150
  train -data data/drishti-gs1-crop,data/drishti-gs1-full -out runs/fundus -name fundus -anchor disc -phases 64:25,128:25
  train -with runs/brain -resume                                           continue
  train -with runs/brain -out runs/brain-2 -seed 2                         the same run with another seed
  train -data my-hospital -out runs/mine -validate 0.2 -patience 20        stop after 20 epochs without a better score
  for i in 1 2 3 4 5; do train -with runs/mine -validate 0 -fold $i/5 -out runs/mine-fold$i; done
  train -data my-hospital -out runs/mine-cm -method cm                     a rival of MrPrism on the same network
  for i in 1 2 3 4 5; do train -data my-hospital -recipe bce -seed $i -out runs/vote-$i -name vote-$i; done       an ensemble
  train -data my-hospital -out runs/mine-paper -recipe paper -cross-entropy -multi-head 1 -integration convlstm      the paper's Table 4
  train -data my-hospital -labels fused/staple -recipe bce -out runs/staple the same network on fused labels
  train -data my-hospital -init fundus -judge fundus -rate 2e-4 -out runs/mine   from a shipped model; other raters are possible
  train -data my-hospital -init fundus -judge fundus -cross 5 -rate 2e-4 -out runs/mine        likewise, judged on every image: for few
  train -data my-hospital -init resnet34.safetensors -names resnet -config paper -out runs/mine
  train -data my-hospital -init mobilenet_v2_1.0_224.safetensors -names mobilenet -config mobile -out runs/mine
  train -data my-hospital -init runs/old/model.f32.safetensors -recipe evidence -epochs 80 -out runs/mine
                                                                           teach weights that know the rest to take marks as evidence

exit codes: 0 trained to the end, or stopped by -hours or -stop-file and saved; 1 failed; 2 wrong usage;
130 stopped by Ctrl-C and saved
`
