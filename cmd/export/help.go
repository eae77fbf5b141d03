package main

// input and output are metadata of the ONNX file: what its user does before and after.
const (
	input = `Before the network: of 8 bits the values / 255, grey as three equal colours. Grey of more bits: a DICOM's slope,
intercept and window; without a window white is the least of black + (value - black) * e^(6p), over values that a share
p <= 1/8 of the pixels exceeds, and black 0 (see the example); then rounded to 8 bits. Colours of 16 bits: their highest used
8, 10, 12, 14 or 16 bits. The square around the image, or around the anchor, is resampled to S: a smaller picture by the mean
over each pixel's area, a larger one linearly between the centres of pixels. Beyond the image its edge pixels go on.`
	output = `After it: the mean with the maps of the mirror image, if "mirrored" is true; of each map the largest piece
above 0.1, if "singlePieces" is true; then "calibration", straight between its points. Enlarge the logits by a cubic
B-spline between the centres of pixels, or reduce the maps by means; the mask is where the probability is above one half.`
)

const intro = `export - writes a model as ONNX, as smaller weights, as the mean of runs, or with ranges and trust

usage: export -weights NAME|FILE -onnx OUT.onnx [-passes 4] [-side N]
       export -weights FILE -int8 OUT.safetensors [-f16 ...]
       export -weights NAME|FILE -mean NAME|FILE[,...] -f32 OUT.safetensors [-f16 ...] [-int8 ...]
       export -weights NAME|FILE -data DIR[,DIR] -ranges OUT.safetensors [-mirror[=false]]

export reads weights and writes one or more files for other programs.
  export -weights fundus -onnx fundus.onnx                       the whole inference: masks, and raters' maps

-onnx: opset 17, float32, one image of one side; axes are (1, channels, rows, columns). The input is
  x         (1, 3, S, S)     RGB values 0..1 of the square to segment, minus mean, over deviation. Both are in the file's
                             metadata. If these say "standardise": true, both are of the square's own pixels and colours:
                             values beyond the 5th and 95th percentile count as those, the deviation is at least 0.01, and
                             the quotient stays within -4 to 4
The outputs are probabilities 0..1, with all raters equally trusted at first:
  rec0, rec1 ...  (1, K, S, S)     the calibrated mask of each structure after each pass
  raters    (1, M, K, S, S)  each rater's likely mask after the last pass (agreement levels: at least 1, 2 ... experts)
  Weights of the recipes baseline, one-pass and bce have no heads: rec0 is the only output. Weights that take marks as
  evidence make one pass; the file gives them none.
With -passes 0 the outputs are those of the encoder, which all passes share:
  f0 (1, ., S/64, S/64), and merge1 shortcut1 ... merge4 shortcut4 at S/32, S/16, S/8 and S/4: what ConP's stages make
  of the features
The file does not search whole photographs, resample or measure. Its metadata have name, classes, raters, side and passes,
the number of masks.
` + input + `

` + output + `

The metadata "example" are a Python program that does all of this, and gives the masks of "segment -roi none":
  python3 -c 'import onnxruntime as o; print(o.InferenceSession("fundus.onnx").get_modelmeta().custom_metadata_map["example"])' > segment.py
  python3 segment.py fundus.onnx photo.png
Batch normalisation is folded into the convolutions, and int8 weights are written as float32. All operators are standard.

-f16, -int8: the float32 weights of a run in a half or a quarter of the bytes: float16, or int8 with a scale for each
output channel. All programs compute with the float32 values of them. "evaluate compare" says how much soft Dice changes.
"train" also writes int8 by itself.

-mean: the mean of the weights of several runs, each with the same share, which often segments better than the best run
(a model soup). All runs must begin from the same weights (train -init FILE with other seeds or flags), or one must
continue from the other; export refuses runs from different random weights. Use -f32 for "train -init". What -ranges
writes belongs to one run: write it again for the mean. If only some files are mirrored, give -mirror or -mirror=false.

-ranges: the weights with what the training images of -data, and of -also, say about them:
  - how large the inputs of layers become, for "-precision int8"
  - what results on training images look like, and their features: the programs doubt a result that is unlike them. The
    threshold passes 97 % of the right results
  - how whole photographs of the data sets look that mark what another set does not, such as the cup: the programs trust
    the cup on photographs like these alone. Data sets in -also that mark no cup make this sharper
  - with -folds: the errors of probabilities and measurements on images that a run had set aside. Monotone maps move
    probabilities towards the raters' share of votes. Intervals hold the majority's area and cup/disc ratio in 90 % of
    images. Between an inner and an outer outline lies 95 % of the length of a further expert's outline in 90 % of images.
    Both count patients (groups.csv); lines for each data set say how they did on each fold by what the other folds taught
  Without -folds, what folds have taught before stays.
    for i in 1 2 3 4; do train -data DIR -fold $i/4 -out runs/fold$i; done
    export -weights runs/all/model.safetensors -data DIR -folds runs/fold1/model.safetensors,…,runs/fold4/model.safetensors -ranges OUT.safetensors
The cards of the shipped weights say which of these they have.

Shipped weights:
`

const examples = `
examples:
  export -weights runs/mine/model.safetensors -passes 1 -side 512 -onnx model.onnx
  export -weights random-paper -passes 0 -onnx encoder.onnx      the paper's encoder, to time it elsewhere
  export -weights runs/mine/model.f32.safetensors -f16 mine-f16.safetensors -int8 mine.safetensors
  export -weights runs/a/model.f32.safetensors -mean runs/b/model.f32.safetensors -f32 mean.f32.safetensors -int8 mean.safetensors
  export -weights runs/mine/model.safetensors -data data/mine -ranges mine.safetensors

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C (an older file stays unchanged)
`
