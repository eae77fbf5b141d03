package main

const intro = `evaluate - scores weights on images, and checks whether they know when they are wrong

usage: evaluate -weights NAME|FILE -data DIR[,DIR] [flags]
       evaluate -weights NAME|FILE -centres FILE[,FILE] -foreign DIR[,DIR] [flags]
       evaluate compare -data DIR [flags]            several models and folders of predictions: see evaluate compare -h
       evaluate fuse -data DIR -out DIR [flags]      makes one map of the marks of all raters: see evaluate fuse -h
       evaluate raters DIR [-out DIR]                how far the raters of a data set agree: see evaluate raters -h
       evaluate readers readings.csv [flags]         what readers gain by a model: see evaluate readers -h
       evaluate plan readings.csv [flags]            how many readers and cases a study needs: see evaluate plan -h

-weights A+B+C is an ensemble: the mean of the maps of several models of the same classes, raters and
side. The first one searches photographs. An ensemble has neither doubts nor intervals.

evaluate segments images and prints a table of figures. Give -data, -centres, -foreign, or several.
  evaluate -weights fundus -data data/drishti-gs1-crop           scores the held-out images

-data DIR: a data set, as "train -h" describes it. It may lack classes of the model. The images are
those of the test list of split.json, or every fifth image or group in sorted order: training has not
seen them. -on scores others. The table has
  soft Dice      of the calibrated masks of Rec0 to RecN against the raters' mean vote, in percent:
                 the mean over the thresholds .1 .3 .5 .7 .9, at the size of the image. Where every mark is
                 empty, a threshold that the mask does not reach counts 100, and others 0: the table counts
                 such images, and has soft Dice without them too. In -csv the column "empty" is "both" if
                 the mask has no pixel above one half either, else "marks"; -json has "unmarked",
                 "bothEmpty" and "softDiceMarked"
  maps           the figures of "evaluate compare", of RecN: means over the images, against the mean vote and, if
                 there is one, against the truth
  truth          Dice of the pixels above one half, if the data set has truth/CLASS/NAME.png
  outline        95 % Hausdorff distance from the majority's outline; the image's diagonal if one of the two is empty
  heads          Dice of each rater's or level's head with the marks of every one. A head should be
                 nearest to its own rater
  set (*)        the heads as a set of possible marks: generalized energy distance, Dice_max,
                 Dice_match
  marks (*)      the weight of each rater's marks, from their likelihood under that rater's head, and how it ranks
                 the raters, beside the null: how the smaller mark does, which is the rank that empty heads give. The
                 table names marks that differ grossly from the others
  response (*)   change of the mask's area when one rater has all the weight, and Dice with that rater
  vertical cup/disc ratio
                 error against the majority's masks. A slope of predicted by true well below 1 means
                 that the model guesses sizes toward the middle; the smallest quarter shows by how much. Limits of
                 agreement are those of Bland and Altman (1986)
  intervals      how often the intervals of areas and of the ratio hold the majority's figure, and how
                 wide they are: areas as a share of the majority's area
  doubts         how many images the program doubts, and by which code
  trust          how many results have the word trusted, check or "do not use", by figure; of the trusted ratios, how many
                 lie within 0.1 of the mean of the experts' ratios, or of the levels'
  risk–coverage  soft Dice of the images that are kept, from the least odd to the oddest
  changed        soft Dice of the same images as another camera might show them (-changed), and how far
                 an eye's vertical cup/disc ratio moves: its standard deviation under the changes of
                 gamma, white balance, contrast and exposure
(*) only for models of named raters. Weights of the recipes baseline, one-pass and bce have no heads:
evaluate leaves out what needs heads. It also leaves out what compares heads with raters if the data
has other raters than the model, or another order. If the program finds nothing in an image, it scores
an empty mask.

-centres FILE: whole photographs with a known place of the model's anchor. FILE is a CSV of
name,cx,cy,r or name,cx,cy,r,note, as its first line may say. Each line has the name of a photograph,
and the centre and radius of the structure: cx and r as shares of the width, cy as a share
of the height. All three are empty if the structure is absent. The photographs lie in the folder images
beside FILE. A result is right if the centroid of the mask above one half lies within r of the centre
and the mask's area is 0.4 to 2.5 times the circle's; without a structure, if nothing is found. A wrong
result without a doubt is silently wrong: the table names it. -changed judges the photographs under
each change too, and says how far an eye's ratio moves.

-foreign DIR: pictures in DIR, or in DIR/images if that exists, that the model should
doubt. The table counts the doubted results and names the first ten others.

With -centres or -foreign the table also has the area under the ROC curve (AUROC) of the doubt score:
wrong results and foreign pictures against right results and the images of -data. A result that found
nothing ranks highest.

-out DIR: report.html has the tables, curves and pictures, among them the ten images of -data with the lowest and
the highest soft Dice, and the ten worst photographs of -centres: silently wrong results, then doubted wrong ones,
then the farthest from the centre. Outlines have a colour for each structure; the dashed white outline is the
raters' majority or the CSV's circle. The page shows images with their names: keep it where the images may lie.
Beside it are report.json (as -json) and cases.csv (as -csv).

Every report says how it was made: version and commit, the flags but -out, -json and -csv, and the SHA-256 of each file
of weights and of the data: of what sha256sum prints of the scored images, their marks and truths, from the data
set's folder, in the order of their names. It has no date: the same input gives the same bytes. The JSON has the schema
cmd/study/evaluate/evaluate.schema.json of the repository.

Brackets hold 95 % intervals over the images: Wilson's for the share of intervals that hold a figure, else of the
studentised bootstrap (2,000 samples). One run of a training has no p-value: see evaluate compare -h.
Ctrl-C ends the program with the images scored until then.

Shipped weights:
`

const examples = `
examples:
  evaluate -weights newborn-brain -data data/qubiq-brain-growth
  evaluate -weights fundus -data data/drishti-gs1-full -roi auto            search whole photographs first
  evaluate -weights fundus -data data/drishti-gs1-crop -changed
  evaluate -weights fundus -data data/drishti-gs1-crop -csv scores.csv -json scores.json
  evaluate -weights fundus -centres data/hrf/disc.csv -turned -out report
  evaluate -weights fundus -data data/drishti-gs1-full -roi auto -foreign data/bubil-cells
  evaluate -weights a.safetensors+b.safetensors -data data/drishti-gs1-crop     the mean of two models
  evaluate fuse -data data/qubiq-brain-growth -out fused                    fuse the raters' marks
  evaluate raters data/qubiq-brain-growth                                   how far the raters agree

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`

const fuseIntro = `evaluate fuse - makes one probability map of the marks of all raters

usage: evaluate fuse -data DIR -out DIR [flags]

fuse takes every image and structure of a data set of named raters. It writes OUT/METHOD/CLASS/NAME.png, grey
PNGs of 16 bits (0: outside, 65535: inside), for these methods:
  mean-vote     the share of raters who marked the pixel
  majority      1 if more than half of the raters marked it
  staple        STAPLE (Warfield et al. 2004) as in SimpleITK: it estimates each rater's sensitivity and
                specificity, and weights the marks by them. The prior is one number, the mean of all marks
  dawid-skene   the model of Dawid and Skene (1979). The prior is one number that is estimated. Each rater
                begins with 9 right and 1 wrong pixels, inside and outside alike
  contours      the mean outline, weighted. From all images it learns how much each rater's outline strays,
                in each direction from the middle, and how much he marks too much or too little. A steady
                hand counts more, biases are removed, and single marks far from a rater's usual ones hardly
                count. It needs a dozen images or more, and raters who stay the same from image to image.
                An object that only a minority marked is left out
  edges         the mean outline (0 or 1), which looks at the image. A gross mark, one that overlaps the others far
                less than they overlap each other, has weight 0 in its image. The rest count more where their
                line follows an edge of the image. It is as large as the majority: no mark tells whether all
                people draw too wide. It leaves raters out, and is the majority where no gain is shown.
                Raters may change from image to image. An object that only a minority marked is left out
  dawid-skene-prior
                only with -weights: dawid-skene with the network's mask as the prior of each pixel, between
                0.001 and 0.999
  max-mig       only with -weights: Max-MIG's fusion (Cao et al. 2019). From all images it learns how much each
                rater's mark and missing mark say about the network's mask, and adds this evidence to the mask.
                The network stays as it is, and sees every image twice
  mrprism       only with -weights whose raters are those of the data: each mark is weighed, at each pixel, by
                how likely it is under the network's estimate of that rater
  diag          only with -weights of "train -method diag" whose raters are those of the data (Wu et al. 2022): each
                mark is weighed as the network trusts that rater there, so that a diagnosis is surest
All but contours, edges and max-mig fuse every image on its own. A rater who did not mark a structure is left out there.

OUT/raters.csv    method, image, structure, rater, sensitivity, specificity, bias: the natural logarithm of
                  the marked area over the fused area, above 0 if the rater marks too much; weight: the mark's
                  share in edges, 0 if it was thrown out. The image "all" counts the pixels of all images
                  together, and its weight is a mean
OUT/scores.csv    if the data set has truth/CLASS/NAME.png: soft Dice (mean over the thresholds .1 .3 .5 .7 .9),
                  Dice of the pixels above one half and Brier score inside the union of truth and marks. The
                  image "all" has the means. Differences to the mean vote are paired by image, and low and high
                  are their 95 % intervals from 2,000 bootstrap samples. Images of a group of groups.csv, such as a
                  patient's, count as their mean
A cell is empty where a figure is not defined. The tables on standard output show what "all" has.

Train the same network on each: train -data DIR -labels OUT/METHOD -recipe bce -out RUN.
A network that was trained on these images has seen these marks, and its prior repeats them. Images with
agreement levels have no named raters, and fuse refuses them. Ctrl-C ends the program with the images fused
until then.

Shipped weights:
`

const fuseExamples = `
examples:
  evaluate fuse -data data/qubiq-brain-growth -out fused
  evaluate fuse -data data/qubiq-brain-growth -weights newborn-brain -out fused-with-prior
  train synthetic one-expert data/one-expert -images 60
  evaluate fuse -data data/one-expert -out fused-one-expert          scores against the known truth

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`

const evidenceIntro = `evaluate evidence - measures what given marks do to the masks of images that training did not see

usage: evaluate evidence -weights NAME|FILE -data DIR [flags]

evidence scores every fifth image. It gives the marks of one or two raters (of agreement levels: a level as the mark of an
expert) to a model that takes marks as evidence. It compares the mask with the marks that were not given. All subsets
of raters take part, or 12 of them; a figure is the mean over them. The table has, with paired differences:
  ours                     what the model expects of the raters who have not marked
  network without          the model's mask without evidence
  the marks                the mean of the given marks
  STAPLE                   of the given marks
  fixed blend              λ · network without + (1 − λ) · the marks, λ chosen on the training images
  best blend, chosen here  λ chosen for each image by its score: no method, but a bound for blends
  after one pass           ours after the first pass
  another image's marks    ours, given the marks of another image: this must not help
Against all: the mask that is shown, beside blends. Heads: the Dice of each rater's head with his own marks, of
raters who are not given. A corrected patch: a tenth of a rater's outline is given, in three directions, and the
rest of it is measured, without a twentieth on either side.

Brackets hold 95 % intervals from 2,000 bootstrap samples of images. Images of a group of groups.csv, such as a
patient's, count as their mean.

Shipped weights:
`

const evidenceExamples = `
examples:
  evaluate evidence -weights cells -data data/bubil-cells
  evaluate evidence -weights newborn-brain -data data/qubiq-brain-growth -json evidence.json

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`

const compareIntro = `evaluate compare - scores several models and folders of predictions on one data set

usage: evaluate compare -data DIR [-weights NAME,FILE] [-predictions NAME=DIR] [-out DIR] [flags]

compare scores every method on the same images, the held-out ones, and holds each against the first method of the
command line. A name that is given several times (ours=a,ours=b,ours=c) is one method with several runs. A method is
a model (-weights; A+B is the mean of the maps of two) or a folder of maps that any program made (-predictions):
  DIR/CLASS/NAME.png                 the map of an image, as large as the image, and, if the method has them,
  DIR/raters/RATER/CLASS/NAME.png    the maps of raters; or
  DIR/NAME_CLASS.png                 all side by side, with the names that segment gives its files, among them
  DIR/NAME_CLASS_RATER.png           the maps of raters; or
  DIR/NAME.png                       of one class its map, else a label map, as nnU-Net writes it: 0 for the background,
                                     and 1, 2, … for the classes in the order of dataset.json. Where the marks of a
                                     class lie in the class before it, as cups in discs do, its pixels belong to both
In place of .png the name may end in .npy, .tif, .nii or .nii.gz. Grey PNGs and TIFFs and .npy of uint8 or uint16 are shares
of white, 255 or 65535, or masks of 0 and 1 if no file of the method has a higher value. A PNG is read as "train" reads
masks: of a palette with colours the numbers count; colours and transparency are refused. Other values of .npy and .tif, and
those of NIfTI, are 0 to 1. A NIfTI has one slice, and its first axis runs to the right. If affines.csv of the data set, which
"train import" writes, places the image, a file of another orientation, spacing or place is bad. Of several files for one map
floats are preferred to levels, and levels to a mask called NAME_CLASS_mask. For images in the folders of several data sets,
one folder of maps has all names.

Figures, as "evaluate -h" defines them: soft Dice, Dice, IoU, sensitivity, precision, Brier score and expected
calibration error (whole image, and in the band where some method's probability is .02 to .98), Brier's reliability and
resolution there, HD95, average surface distance (ASSD) and surface Dice at 2 pixels between outlines; GED, Dice_max and
Dice_match of methods with maps of raters; GED of as many masks of every method as -draws says; and the error of the
vertical cup-to-disc ratio for disc and cup. The short tables leave some out. Calibration errors are of each image, with
15 bins. From four raters on, the last row is what a perfect model would have beside as many, whole raters being redrawn.
Brackets hold 95 % intervals, at each method's last pass: over one run, of the studentised bootstrap over the images;
over three or more, of Student's t over runs and images, with as many degrees of freedom as runs less one; over two,
none. A difference is over the images that all methods have, run by run in the order given. It has a p-value, by Holm
over all tests of a figure, if both methods have three runs or more. d is its mean over the standard deviation of the
images'. Images of a group of groups.csv, such as a patient's, count as their mean. Bold and arrows stand only for
intervals over runs clear of 0.

-out DIR receives
  report.html    one page that needs no other file: tables, reliability diagrams, soft Dice over passes, Dice with
                 each rater, risk and coverage, and images with outlines. It shows images with their names: keep it
                 where the images may lie
  report.json    everything, by the schema cmd/study/evaluate/compare.schema.json of the repository
  cases.csv      a line for each image, class, method and pass; summary.csv means and tests

All but the CSVs say how they were made, as "evaluate -h" has it, with a SHA-256 of each folder of predictions.
A prediction that is missing, of another size, unreadable, or holds NaN or values outside of 0 to 1 is named and
counted, and is in no figure. So are files of unknown images, classes and raters. Paired tests leave out the
images that not all methods have. The report is then written all the same, and the exit code is 1.

Shipped weights:
`

const compareExamples = `
examples:
  evaluate compare -data data/qubiq-brain-growth -weights newborn-brain,mine.safetensors -out comparison
  evaluate compare -data data/drishti-gs1-crop -weights fundus -predictions nnunet=../nnunet/maps,u2=../u2 -out comparison
  segment -weights fundus -out maps -format npy data/drishti-gs1-crop/images
  evaluate compare -data data/drishti-gs1-crop -predictions fundus=maps
  evaluate compare -data data/drishti-gs1-crop -weights old=a1,old=a2,old=a3,new=b1,new=b2,new=b3      three runs of each
  evaluate compare -data data/drishti-gs1-crop -weights fundus -reference rater:expert1
  evaluate fuse -data data/one-expert -out fused
  evaluate compare -data data/one-expert -on all -reference truth -predictions vote=fused/mean-vote,staple=fused/staple

exit codes: 0 done, 1 failed or with bad predictions, 2 wrong usage, 130 stopped by Ctrl-C
`

const ratersIntro = `evaluate raters - says how far the raters of a data set agree

usage: evaluate raters DIR [-out DIR]

DIR is a data set, as "train -h" describes it. No model takes part. The tables have, for each structure:
  Dice of pairs    the mean over the pairs of raters of an image, then over the images. Two empty masks have 1
  κ                Fleiss' kappa of the pixels, inside the union of all marks and over the whole image. It is not
                   defined where all raters marked the same pixels of those counted
  consensus        pixels that all marked, as a share of the pixels that anybody marked
  α                Krippendorff's alpha of the pixels of all images together, with a jackknife interval
  ICC              the intraclass correlation ICC(2,1) of the marked areas, and of the vertical cup/disc ratio if
                   there are a disc and a cup: over the images that all raters have marked. Its interval has as
                   many cases as there are groups
  pairs            mean Dice, and Cohen's κ over the whole image
  perfect model    what the best of models would reach beside as many raters, from four on: their mean vote beside
                   others, who are drawn from them, whole masks with replacement. ECE and Brier score are of the
                   pixels about which the raters differ. GED is of ever more masks
  limits           of agreement, of each pair of raters: the mean difference of their vertical cup/disc ratios (bias, with
                   Student's t interval), less and plus 1.96 standard deviations (Bland and Altman 1986), and
                   half the interval of either limit
  the raters       sensitivity and specificity beside STAPLE's map of each image, over the pixels of all images;
                   bias is the marked area less the map's, as a share of the map's; dx, dy: how far to the right and
                   down the marks' centre of gravity lies from that of the others' majority, in diameters of a disc of
                   its area. Beyond 2 % it says which -orientation of train a head needs to learn it
  least agreement  the images with the lowest mean Dice, and the two raters who are farthest apart in them
  second readings  of a rater NAME in the masks of NAME-again: their Dice, ICC and SEM (standard error of a reading) with
                   the first ones, and bias and limits of the ratio. They enter no other figure
Images that one rater alone has marked do not count. With agreement levels the raters are not known: there are
the kappas, the consensus, the areas of the levels and the images with the least consensus.

-out DIR receives cases.csv (a line for each image and structure), pairs.csv, limits.csv (limits of agreement), again.csv
(second readings), raters.csv, raters.json (by the schema cmd/study/evaluate/raters.schema.json of the repository), raters.html
(one page with everything, and the images with the least agreement with all outlines). raters.html shows images with their names:
keep it where the images may lie. All but the CSVs say how they were made, as "evaluate -h" has it.

evaluate reads a few images at a time, and its memory does not grow with the size or number of their masks.
Faulty images end it: it names them all, and gives no figures of the others. Brackets hold 95 % intervals from
2,000 bootstrap samples of images; of fewer than 8, their number n. Images of a group of groups.csv, such as a
patient's, count as their mean; limits of agreement are then of a single image, by the variance between groups and
within them (Bland and Altman 2007). Ctrl-C ends the program with the images read until then.
`

const ratersExamples = `
examples:
  evaluate raters data/qubiq-brain-growth
  evaluate raters data/qubiq-brain-growth -out agreement
  train synthetic one-expert data/one-expert -images 60 && evaluate raters data/one-expert

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`

const readersIntro = `evaluate readers - compares readers without and with a model, as a reading study does

usage: evaluate readers readings.csv [-truth truth.csv] [-out DIR]

readings.csv has a row for each reading: the columns reader and case, and, if there are any, group (the patient; without it
each case is one), modality (without or with; empty in a study of one), repeat (1: a second reading), decision, seconds,
ratio, area_CLASS, and a column for each question. Numbers have a point, and choices a number in front, as "1 no".
truth.csv has the column case, and columns named as those of readings.csv. The tables have, for each of these:
  AUC                   if its truth is 0 or 1: the area under the empirical ROC curve of the readers' numbers
  mean absolute error   if its truth is another number
of each reader in each modality, and with less without, with 95 % intervals and tests by Obuchowski and Rockette: for
random readers and cases, fixed readers and fixed cases. So they have the mean of the seconds. A figure is of the cases
that all readers have judged in all modalities, and of first readings. Then follow the variances for planning a study, and
  ICC(2,1)              of area_CLASS, ratio and what truth.csv has: over the readers, in each modality
  bias, limits          of agreement, of each reader: with less without, and second less first readings
  readings and seconds  of each reader in each modality

-out DIR receives report.html, report.json (by the schema cmd/study/evaluate/readers.schema.json of the repository) and
figures.csv. What cannot count, such as a second row of the same reading, a case without a truth, a reader without a
modality or more than a day of seconds, is named and left out. If a figure cannot be computed, the others are written all
the same, and the exit code is 1.
`

const readersExamples = `
examples:
  evaluate readers readings.csv -truth truth.csv -out study
  evaluate readers readings.csv -truth glaucoma.csv -format imrmc > glaucoma.imrmc

exit codes: 0 done, 1 failed or a figure cannot be computed, 2 wrong usage, 130 stopped by Ctrl-C
`

const planIntro = `evaluate plan - says how many readers and cases a reading study needs, or how many seeds and images a comparison

usage: evaluate plan readings.csv -truth truth.csv -figure COLUMN -difference D [flags]
       evaluate plan cases.csv -difference D [flags]
       evaluate plan -components NAME=NUMBER[,NAME=NUMBER] -difference D [flags]

readings.csv and truth.csv are of a pilot of two readers or more, without and with the model, as "evaluate readers -h" has
them. Scores of models are in cases.csv of evaluate compare, or in a CSV of model, seed, image and score; two seeds or more.
-components takes reader-modality, var, cov1, cov2, cov3 and cases (Obuchowski and Rockette 1995; "evaluate readers" prints
them) and within, the part of var that is of a single reading; or seed, image and both, variances of a difference of models.

A row of the table is a study that reaches the goal: "8" and "120" mean that 8 readers need 120 cases each (patients, if the
pilot has groups), and read each without and with the model. Half of all such studies have an interval of the half-width or
less. The power is that of the very test of evaluate readers, or compare, at p < .05 on two sides. In simulations it is right
to 3 points; with AUCs near 1, few positives or very skewed errors, more studies find the difference. Hillis 2011 is the power
by Hillis, Obuchowski and Berbaum (noncentral F), which promises too much for few readers or few cases. Variances below 0
count as 0 (Hillis 2014). Second readings are planned if the pilot has some (repeat). They halve only the error of single
readings: the variance of first readings less their covariance with second ones. Such a study takes the mean of a reader's
two figures; evaluate readers counts first readings alone. evaluate plan tries 3 to 50 readers or seeds and 20 to 2,000
cases, and says what comes nearest to a goal out of reach.

-out DIR receives report.html and report.json (by the schema cmd/study/evaluate/plan.schema.json of the repository).
`

const planExamples = `
examples:
  evaluate plan pilot/readings.csv -truth pilot/truth.csv -figure glaucoma -difference .05
  evaluate plan pilot/readings.csv -truth pilot/truth.csv -figure ratio -width .02 -out plan
  evaluate plan -components reader-modality=.0002,var=.0012,cov1=.0005,cov2=.0004,cov3=.0003,cases=100 -difference .05
  evaluate plan comparison/cases.csv -difference .01 -power .9

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`
