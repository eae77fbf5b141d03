package main

const intro = `evaluate - scores weights on images, and checks whether they know when they are wrong

usage: evaluate -weights NAME|FILE -data DIR[,DIR] [flags]
       evaluate -weights NAME|FILE -centres FILE[,FILE] -foreign DIR[,DIR] [flags]

evaluate segments images and prints a table of figures. Give -data, -centres, -foreign, or several.
  evaluate -weights fundus -data data/drishti-gs1-crop           scores the held-out images

-data DIR: a data set, as "train -h" describes it. It may lack classes of the model. Every fifth
image in sorted order is held out of training. The table has
  soft Dice      of the calibrated masks of Rec0 to RecN against the raters' mean vote, in percent:
                 the mean over the thresholds .1 .3 .5 .7 .9, at the size of the image
  truth          Dice of the pixels above one half, and Brier score, if the data set has
                 truth/CLASS/NAME.png
  calibration    expected calibration error and Brier score inside the union of all marks
  outline        95 % Hausdorff distance from the majority's outline
  agreement      Fleiss' kappa of the raters, and the intraclass correlation of their areas
  heads          Dice of each rater's or level's head with the marks of every one. A head should be
                 nearest to its own rater
  set (*)        the heads as a set of possible marks: generalized energy distance, Dice_max,
                 Dice_match
  marks (*)      the weight of each rater's marks, from their likelihood under that rater's head, and
                 how it ranks the raters. The table names marks that differ grossly from the others
  response (*)   change of the mask's area when one rater has all the weight, and Dice with that rater
  vertical cup/disc ratio
                 error against the majority's masks. A slope of predicted by true well below 1 means
                 that the model guesses sizes toward the middle; the smallest quarter shows by how much
  intervals      how often the intervals of areas and of the ratio hold the majority's figure, and how
                 wide they are: areas as a share of the majority's area
  doubts         how many images the program doubts, and by which code
  risk–coverage  soft Dice of the images that are kept, from the least odd to the oddest (-risk)
  changed        soft Dice of the same images as another camera might show them (-changed)
(*) only for models of named raters. Weights of the recipes baseline, one-pass and bce have no heads:
evaluate leaves out what needs heads. It also leaves out what compares heads with raters if the data
has other raters than the model, or another order. If the program finds nothing in an image, it scores
an empty mask.

-centres FILE: whole photographs with a known place of the model's anchor. FILE is a CSV with the
first line name,cx,cy,r or name,cx,cy,r,note. Each other line has the name of a photograph without
extension, and the centre and radius of the structure: cx and r as shares of the width, cy as a share
of the height. All three are empty if the structure is absent. The photographs lie in the folder images
beside FILE. A result is right if the centroid of the mask above one half lies within r of the centre
and the mask's area is 0.4 to 2.5 times the circle's; without a structure, if nothing is found. A wrong
result without a doubt is silently wrong: the table names it.

-foreign DIR: PNG and JPEG pictures in DIR, or in DIR/images if that exists, that the model should
doubt. The table counts the doubted results and names the first ten others.

With -centres or -foreign the table also has the area under the ROC curve (AUROC) of the doubt score:
wrong results and foreign pictures against right results and the images of -data. A result that found
nothing ranks highest.

-worst FILE.jpg: a contact sheet. From -data it shows the ten lowest soft Dice of the anchor, or of the
first structure. From -centres it shows silently wrong results, then doubted wrong ones, then the
farthest from the centre. The model's outlines have a colour for each structure; the dashed white
outline is the raters' majority or the CSV's circle. Frames are amber if the result is doubted; red if
it is not doubted and is wrong or has a soft Dice below 50; else grey. The sheet shows images with their
names: keep it where the images may lie.

Brackets hold 95 % intervals: Wilson's for the share of intervals that hold a figure, else from 2,000
bootstrap samples of two or more images. p-values are of Wilcoxon's signed-rank test over the images.
Ctrl-C ends the program with the images scored until then.

Shipped weights:
`

const examples = `
examples:
  evaluate -weights newborn-brain -data data/qubiq-brain-growth
  evaluate -weights fundus -data data/drishti-gs1-full -roi auto            search whole photographs first
  evaluate -weights fundus -data data/drishti-gs1-crop -against baseline.safetensors -changed
  evaluate -weights fundus -data data/drishti-gs1-crop -csv scores.csv -json scores.json
  evaluate -weights fundus -centres data/hrf/disc.csv -turned -worst worst.jpg
  evaluate -weights fundus -data data/drishti-gs1-full -roi auto -foreign data/bubil-cells -risk risk.svg

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`
