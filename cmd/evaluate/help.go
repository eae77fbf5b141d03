package main

const intro = `evaluate - how good weights are, and whether they know when they are wrong

usage: evaluate -weights NAME|FILE -data DIR[,DIR] [flags]
       evaluate -weights NAME|FILE -centres FILE[,FILE] -foreign DIR[,DIR] [flags]

Give -data, -centres, -foreign, or several of them. All figures stand in the table and in -json.

-data DIR: images that several raters have marked. The program segments every image of the split. It compares at the image's own size
  - the calibrated masks of Rec0 to RecN with the raters' mean vote: soft Dice, the mean over the thresholds .1 .3 .5 .7 .9, in percent. Where the
    data set has truth/CLASS/NAME.png, the masks are compared with that too: Dice of the pixels above one half, and Brier score
  - the last mask's calibration: expected calibration error and Brier score inside the union of all marks, where background does not drown it
  - its outline: the 95 %% Hausdorff distance from the majority's; and how far the raters themselves agree: Fleiss' kappa, and the intraclass
    correlation of their areas
  - each rater's or level's head with the marks of every one (Dice): a head should be nearest to its own
  - for models of named raters, their heads as a set of possible marks: generalized energy distance, Dice_max, Dice_match
  - for models of named raters, the weight that each rater's marks get by their likelihood under that rater's own head, and how it ranks the raters
    beside their Dice with the truth or the majority of the others. The table names marks that are grossly unlike the others'
  - for models of named raters, how the mask moves when one rater has all the weight: change of area, and Dice with that rater before
    and after
  - the vertical cup-to-disc ratio with that of the majority's masks. A slope of predicted by true well below 1 means that the model guesses sizes
    toward the middle, and the smallest quarter shows by how much
  - the intervals of the areas and of that ratio with the majority's figures: how often an interval holds the figure, and how wide it is. An area's
    width is a share of the majority's area. The same is told of the range from the least to the greatest ratio of the mask and the heads
  - the doubts: how many images the program doubts, and by which code. Soft Dice of what it does not doubt stands beside that of all images, and the
    area under the risk–coverage curve: the images are kept from the least odd to the oddest, and the curve is the mean soft Dice of those kept.
    -risk draws it
  - with -changed, the last mask where the same images look as from another camera: blurred, paler, darker, brighter, bluish, from farther, and left
    for right
Of weights whose raters' heads were not trained (recipes baseline, one-pass and bce) the program leaves out what needs heads. It also leaves out
what compares heads with raters, or weighs raters, where the data's raters are not the model's, in the same order. An image in which the program
finds nothing counts as an empty mask. A data set is a folder: dataset.json, images/NAME.png|jpg, raters/RATER/CLASS/NAME.png ("train -h" says
more). It may lack classes of the model; nobody has marked those then. Every fifth image in sorted order is held out of training.

-centres FILE: whole photographs of which somebody knows where the structure lies. FILE is a CSV. Its first line is name,cx,cy,r or
name,cx,cy,r,note. Each other line is a photograph: its file name without extension, the centre of the structure and its radius. cx and r are
shares of the image's width, cy is a share of its height. All three are empty where the structure is absent. The images lie in the folder images
beside FILE. The program searches each photograph for the model's anchor. A result is right if the centroid of the mask above one half lies within
r of the centre and the mask's area is 0.4 to 2.5 times the circle's. Where the structure is absent, a result is right if nothing was found. A
result is silently wrong if it is wrong and has no doubt; the table names these.
-turned judges each photograph also turned by 90, 180 and 270 degrees, clockwise.

-foreign DIR: pictures that are not of the model's kind, all PNG and JPEG files of DIR, or of DIR/images where there is that folder. The program
searches each for the model's anchor, where the model has one, and counts the results that it doubts. A result that found nothing is doubted. The
table names the first ten that are not.

-worst FILE.jpg: a contact sheet. The program draws the ten worst results as one JPEG picture. Of -data these are the images with the lowest soft Dice
of the model's anchor, or of its first structure where it has no anchor. The last recurrence counts. Of -centres these are the wrong results, the
silently wrong before the doubted, and then the results farthest from the centre, in units of r. With both flags the sheet has two blocks. Each
structure of the model has an outline of its own colour. The dashed white outline is the raters' majority, or the CSV's circle. The frame is amber
where the program doubts the result. It is red where the result is silently wrong, or where soft Dice is below 50 and the program does not doubt it.
Other frames are grey. The captions tell the image's name, and soft Dice or the distance. Images of -changed and -foreign are not on the sheet. The
sheet shows the images with their names: keep it where the images may lie.

With -centres or -foreign the program also tells how well the doubt score tells what should be doubted from what should not: the area under the ROC
curve (AUROC). Wrong results of -centres and foreign pictures should be doubted. Right results of -centres and the images of -data should not. A
result that found nothing is odder than all others. Weights that have no score say so.

Brackets hold 95 %% intervals: Wilson's for the share of intervals that hold, else from 2,000 bootstrap samples of two images or more. p-values are
of Wilcoxon's signed-rank test over the images. Ctrl-C ends the program with what it judged until then; the table says so.

The weights that ship:
  %s
`

const examples = `
examples:
  evaluate -weights newborn-brain -data data/qubiq-brain-growth            the held-out images
  evaluate -weights fundus -data data/drishti-gs1-full -roi auto           whole photographs, searched first
  evaluate -weights fundus -data data/drishti-gs1-crop -against baseline.safetensors   beside a model without recurrence
  evaluate -weights fundus -data data/drishti-gs1-crop -changed            also blurred, paler, darker, brighter, bluish, from farther, mirrored
  evaluate -weights fundus -data data/drishti-gs1-crop -csv scores.csv     also image by image, for a spreadsheet or R
  evaluate -weights fundus -data data/drishti-gs1-crop -json scores.json   everything, for programs
  evaluate -weights fundus -centres data/hrf/disc.csv -turned              is the disc found, and is what is wrong doubted?
  evaluate -weights fundus -data data/drishti-gs1-full -roi auto -foreign data/bubil-cells,data/qubiq-brain-growth -risk risk.svg
  evaluate -weights fundus -centres data/hrf/disc.csv -worst worst.jpg     and a picture of the ten worst results

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`
