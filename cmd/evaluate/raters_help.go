package main

import ()

const ratersIntro = `evaluate raters - says how far the raters of a data set agree

usage: evaluate raters DIR [-out DIR]

DIR is a data set, as "train -h" describes it. No model takes part. The tables have, for each structure:
  Dice of pairs    the mean over the pairs of raters of an image, then over the images. Two empty masks have 1
  κ                Fleiss' kappa of the pixels, inside the union of all marks and over the whole image. It is not
                   defined where all raters marked the same pixels of those counted
  consensus        pixels that all marked, as a share of the pixels that anybody marked
  ICC              the intraclass correlation ICC(2,1) of the marked areas, and of the vertical cup/disc ratio if
                   there are a disc and a cup: over the images that all raters have marked
  the raters       sensitivity and specificity beside STAPLE's map of each image, over the pixels of all images;
                   bias is the marked area less the map's, as a share of the map's
  least agreement  the images with the lowest mean Dice, and the two raters who are farthest apart in them
Images that one rater alone has marked do not count. With agreement levels the raters are not known: there are
the kappas, the consensus, the areas of the levels and the images with the least consensus.

-out DIR receives cases.csv (a line for each image and structure), pairs.csv, raters.csv, raters.json, raters.md,
raters.tex (for LaTeX with booktabs), raters.html (one page with everything, the images with the least agreement
with all outlines, and the raters as a tree) and dendrogram-CLASS.svg: average linkage on 1 − Dice. raters.html
shows images with their names: keep it where the images may lie.

evaluate reads a few images at a time, and its memory does not grow with the size or number of their masks.
Faulty images end it: it names them all, and gives no figures of the others. Brackets hold 95 % intervals from
2,000 bootstrap samples of images. Ctrl-C ends the program with the images read until then.
`

const ratersExamples = `
examples:
  evaluate raters data/qubiq-brain-growth
  evaluate raters data/qubiq-brain-growth -out agreement
  train synthetic one-expert data/one-expert -images 60 && evaluate raters data/one-expert

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`
