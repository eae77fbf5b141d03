// Command segment segments image files: masks and measurements out.
package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"mrprism/internal/command/computing"
	"mrprism/internal/command/journal"
	"mrprism/internal/output/masks"
	"mrprism/internal/program/cli"
)

const program = "segment"

var intro = `segment - calibrated masks of photographs and scans

usage: segment -weights NAME|FILE -out DIR [flags] IMAGE|FOLDER|-...
       segment -verify DIR [flags] [IMAGE|FOLDER...]

segment computes, for each image, how probable each structure is at each pixel. It reads PNG, JPEG, TIFF,
BMP, WebP, DICOM and NIfTI (.nii, .nii.gz). DICOM in JPEG 2000 or HTJ2K wants OpenJPEG's opj_decompress (2.5 or later)
in PATH, and DICOM in JPEG-LS dcmtk's dcmdjpls. It writes
  DIR/STEM_CLASS.png          probability of a structure, 8 bits, as large as the displayed image; 128 and more is the mask
  DIR/STEM_CLASS_RATER.png    probability that a rater would mark the pixel; with models of agreement levels, as STEM_disc_atleast2.png,
                              that so many experts would
  DIR/STEM_CLASS_others.png   with -evidence: what the raters would mark on the mean who have not marked
  DIR/STEM_CLASS_inner.png    with outlines: inside of the inner outline; _outer.png: inside of the outer one
  DIR/STEM.json               measurements, region, device and times. It is written last: if it exists, all files are complete
STEM is the file name of the image without its extension. Images of one name get numbers: x, x_2. If a file has several pictures
(pages, frames, slices), STEM also says which one it was, as in x_slice3of5; so do the line, the JSON ("slice", "slices") and
the table. With -slice all each slice has files, and the series too: a NIfTI or DICOM SEG has all slices (STEM_CLASS.nii.gz), and
STEM.json and a line of the table have the volume in ml, with the experts' range, or "withheld", why there is none. A FOLDER of
DICOM slices is then one series. -format writes other files in place of the PNGs, or beside them:
` + formatsHelp + `In the JSON "files" has "probability", "raters" and "others" for png, and "all" for every format, with its size
and SHA-256. Without identity in -format files of DICOM name neither patient nor study, and new UIDs replace those by which an
archive would find its source.
  segment -weights fundus -out masks photo.jpg             one photograph
  segment -weights fundus -json - -quiet - <photo.jpg      for scripts: standard input (-), JSON on standard output, no files
A folder stands for the images in it, by the extension of their names or by their content; folders inside it are left alone.
With -json - an image that failed has "image" and "error" alone.

With -csv segment also writes a table: a line an image, with the figures below or, if it failed, the error. The file is whole
at any time. After Ctrl-C, or to add images, call segment again: images stay as they are whose STEM.json has the same content
("image_sha256"), weights and options, and whose files have the sizes and SHA-256 that it has of them. segment names
the others that it has to segment again.

segment prints a line for each image. For each structure it has these figures, which "measurements" in the JSON has too:
  area           pixels of the mask; in the JSON also "share" of the image, "height", the most pixels in a column, "width",
                 the most in a row, and "pieces", the number of parts. "others" counts further objects that a model of
                 one object a picture leaves out
  experts        "low" to "high": the smallest and the largest area among the mask and the raters' or levels' masks. This
                 is no confidence interval: the raters' maps are coarser than the mask, and all may be larger, or smaller
  90 %           "interval": holds the area that most experts marked in 90 % ("coverage") of images like the training
                 images, and always the area itself. It is wider for cameras that did not teach the structure. "withheld"
                 says why there is none
  outlines       an inner and an outer outline (JSON; -format outlines writes their masks): in 90 % ("coverage") of images like the
                 training images 95 % of the length of a further expert's outline lies between them. "margin" is from the
                 mask's outline to each, in pixels; "withheld" says why there are none
  disagreement   pixels about which two raters are expected to disagree (JSON only)
Weights without heads predict no rater's mask: then "raters" is empty, "no_raters" says why, and experts and disagreement are null.
For discs and cups it has the vertical cup-to-disc ratio: "value", "low" and "high". They are null without a cup. Without
a disc there is no "verticalRatio". The JSON also has "horizontalRatio", and "spacing", the size of a pixel in mm, across
and down, where the file says it. What clinicians read beside the ratio, each with the range over the mask and the raters' or levels'
masks, "low" to "high", which is no 90 % interval:
  rim            how wide the rim between cup and disc is, in pixels, at the twelve hours of a clock face, from twelve
                 o'clock on; its ranges are "rimLow" and "rimHigh"
  narrowestRim   the least ratio of the rim's width to the disc's diameter in the same direction, its "hour", and "absent",
                 the degrees of the circle without a rim
  eye            "side", right or left; "by" whom: user (-eye), dicom (Image Laterality, Laterality), name (OD, OS, right, left
                 or R, L as a word of the file's name) or picture (the disc lies nasal of the middle of a wide photograph
                 that is upright); "against" has those that say the other eye. "side" is empty where none tells
  isnt           of a known eye the width of the rim inferior, superior, nasal and temporal (6, 12, 3 and 9 o'clock), and
                 whether these fall in that order, "holds" (Jonas et al. 1988; Harizman et al. 2006). "agree" of "of"
                 raters or levels say the same
  ddls           the "stage" on the disc damage likelihood scale, 1 to 10 (Spaeth et al. 2002; Bayer et al. 2002; the table
                 in Henderer 2006), by the size of the disc: small below 1.5 mm, large above 2.0 mm. "withheld" says why
                 there is none

The JSON also says how far to trust the result:
  found          false: the program found nothing. All masks are 0, and the line says, for example, "no disc found"
  doubts         reasons to doubt the result, each with "code" and "text"; the line shows them after DOUBTED
  doubt          how unusual the result is beside those on training images: 0 or more, and doubted above 1; null if the
                 weights cannot tell
  trust          of each structure and ratio in "measurements": "word" is trusted, check or "do not use", and "reason" a
                 sentence. What was learned from the photographs of a few cameras, such as the cup, is trusted on photographs
                 like theirs alone. The line shows the words after "trust"; in the table they have columns of their own
  sharpness      of the picture: about -3.1 to -2 in fundus photographs, and below -2.9 in those that are not sharp
  quality        of a photograph that the model searched: whether it is "gradable", and the "faults" if not, each with
                 "code" (cut, several-fields, screen, dark, burnt, covered, blurred) and "text"
  device         what computed; "device_why" is why -device auto chose it on a machine without a GPU

Anybody can compute a result again: STEM.json has the SHA-256 of image, weights, files and itself, the options and the version.
  segment -verify masks                                    where image and weights are as they were
  segment -verify masks -weights my.safetensors photos/    or where they are now
says of each result that it is EQUAL to the last bit, that it DIFFERS, and where, or why it is UNPROVABLE here. Results of the device
processor are provable, on any processor and number of threads; those of GPUs, which round in their own ways, and of earlier
versions are not. It does not prove who made a result, or when.

Some models first search a whole photograph, and then segment the region around the structure. If they find nothing, or
the wrong place, give the region by -roi. -roi none segments the whole image at once. -roi all finds every object of
the picture, such as each cell of a field, and numbers them. Its formats are labels-png and csv, or those of -format:
` + objectsHelp + `STEM.json has "objects": each one's number, centroid x and y, area, perimeter, roundness (4 pi area/perimeter^2),
disagreement, doubt, whether the border cuts it, and by whom it is.

Weights whose configuration ends in -evidence take marks: what a rater, or "you", has drawn on the photograph. Give each as
-evidence RATER=FILE, with several classes RATER/CLASS=FILE. FILE is a PNG as large as the photograph, with 255 inside,
0 outside and 128 where nothing is said: a mark may be a patch or a stroke. The mask, and what the other raters would
mark, settle around the marks. STEM_CLASS.png is the consensus of marks and raters. "evidence" in the JSON lists the marks.
  segment -weights my.safetensors -evidence ann=ann.png -evidence you=mine.png -out masks scan.png

Shipped weights:
`

const examples = `
examples:
  segment -weights fundus -out masks photos/*.jpg                      a failed image does not stop the others
  segment -weights fundus -out masks -csv all.csv photos/              a folder and a table; again: the images that are new
  segment -weights newborn-brain -slice all -format nifti -out masks scan.nii   all slices: a 3-D mask and a volume
  segment -weights fundus -roi 812,640,420 -out masks p.png            the square from x 812, y 640 with a side of 420 pixels
  segment -weights my.safetensors -device processor -out masks p.png   your own weights, on the CPU

exit codes: 0 all images segmented, even if nothing was found, or all results equal; 1 an image failed, or a result is not equal;
2 wrong usage; 130 stopped by Ctrl-C (written files are complete)
`

func main() { cli.Main(run) }

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r := &request{formats: masks.Formats[:1]}
	flags := r.flags()
	p := cli.Program{Name: program, Intro: intro + "  " + computing.Shipped() + "\n", Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(named []string) error {
		r.named, r.given = named, flags.Given()
		if err := r.check(); err != nil {
			return err
		}
		switch {
		case r.serves:
			return r.serve(ctx, stdout)
		case r.proves != "":
			return r.verify(ctx, stdout, stderr)
		}
		b, items, err := r.batch(stdout, stderr)
		if err != nil || len(items) == 0 {
			return err
		}
		defer b.Session.Close()
		if err := r.prepare(ctx, b); err != nil {
			return err
		}
		debug.SetGCPercent(20) // little garbage beside the network, which has no pointers to follow
		return r.make(ctx, b, items)
	})
}

// make makes the results.
func (r *request) make(ctx context.Context, b *batch, items []journal.Item) error {
	if r.options.ROI == everything {
		return b.fields(ctx, items, r.objects)
	}
	return b.run(ctx, items)
}

// formatsHelp lists the formats for the help.
var formatsHelp = func() (text string) {
	for _, f := range masks.Formats {
		name := "STEM_CLASS" + f.Ending
		if f.Whole {
			name = "STEM" + f.Ending
		}
		text += fmt.Sprintf("  %-21s%-29s%s\n", f.Name, name, f.About)
	}
	return text
}()
