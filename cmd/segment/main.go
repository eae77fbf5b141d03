// Command segment segments image files: masks and measurements out.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"mrprism/internal/command"
	"mrprism/internal/roi"
	"mrprism/internal/segment"
)

const program = "segment"

const intro = `segment - calibrated masks of photographs and scans

usage: segment -weights NAME|FILE [flags] -out DIR IMAGE...

For each image (PNG or JPEG) it writes
  DIR/STEM_CLASS.png          the calibrated probability of each structure, 8 bits, as large as the image as displayed
  DIR/STEM_CLASS_raterM.png   the same as each rater would draw it; with models of agreement levels: as at least M experts would
  DIR/STEM.json               measurements, region, device and times; written last, so that where it is, all is
STEM is the image's file name without its extension. A mask is where a probability is above one half (128 and more).

The line that is printed for an image, and "measurements" in the JSON, have for each structure
  area           pixels of the mask; "share" of the image, "height" the most pixels in any one column
  experts        "low" to "high": the least and the greatest area of the mask and of what each rater or level would draw. This is no confidence
                 interval: the raters' maps are coarser than the mask and can all lie to one side of it
  90 %%           "interval", its "low" to its "high": it is made to hold the area that the majority of the experts marked in 90 %% ("coverage")
                 of images like those that it was learned from. It need not hold for a doubted result. Some weights lack the data for it
  disagreement   pixels about which two raters are expected to disagree
and for discs and cups the vertical cup-to-disc ratio: "value", "low" and "high" are null where no cup is found, and where no disc is there is no
"verticalRatio".

The JSON says beside them whether to believe the result:
  found          false where nothing of the kind is in the picture. All masks are 0 then, and the line says e.g. "no disc found"
  doubts         why the model does not believe its result, each a "code" and a "text", which the line gives after DOUBTED; empty where it does
  device         what computed it; "device_why" is why -device auto took that on a machine without a GPU, e.g. "3.1 times as fast as llvmpipe here"
  doubt          how odd the result is beside those on the training images, from 0 on: above 1 it is doubted; null where the weights cannot tell

Models that know what to look for in a whole photograph search it first and segment the region around what they find. Where they find nothing, or
the wrong place, -roi gives the region by hand. -roi none segments the whole image at once.

The weights that ship:
  %s
`

const examples = `
examples:
  segment -weights fundus -out masks photo.jpg             one photograph
  segment -weights fundus -out masks photos/*.jpg          many; one that cannot be read does not stop the others
  segment -weights fundus -roi 812,640,420 -out masks p.png   the square from x 812, y 640 with a side of 420 pixels
  segment -weights my.safetensors -device processor -out masks p.png   weights of your own, computed on the CPU

exit codes: 0 all images done, those too where nothing was found; 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C (what is written is complete)
`

func main() { command.Main(run) }

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	weightsName := command.WeightsFlag(flags)
	precision := command.PrecisionFlag(flags)
	wish := command.DeviceFlags(flags)
	recurrences := flags.Int("recurrences", segment.DefaultRecurrences, "feedbacks `N`: Rec0 to RecN are computed, the last is written")
	region := flags.String("roi", "auto", "`REGION`: auto, none (the whole image) or x,y,side in pixels")
	out := flags.String("out", "", "`DIR` to write to, made if missing (required)")
	names := command.Shipped()
	images, code, done := command.Parse(flags, fmt.Sprintf(intro, names), examples, args, stdout, stderr)
	if done {
		return code
	}
	misused := func(format string, args ...any) int { return command.Misused(stderr, program, format, args...) }
	switch {
	case *weightsName == "":
		return misused("which weights? give -weights NAME or FILE (that ship: %s)", names)
	case *out == "":
		return misused("where to? give -out DIR")
	case len(images) == 0:
		return misused("no images: give one or more PNG or JPEG files")
	case *recurrences < 0 || *recurrences > segment.MaxRecurrences:
		return misused("-recurrences %d: 0 to %d are possible", *recurrences, segment.MaxRecurrences)
	}
	if _, err := roi.Parse(*region); err != nil {
		return misused("-roi: %v", err)
	}
	if err := wish.Check(); err != nil {
		return misused("%v", err)
	}
	model, err := command.Weights(*weightsName)
	if err != nil {
		return command.Fail(ctx, stderr, program, err)
	}
	if err := segment.CheckHeads("-weights "+*weightsName, &model.Metadata); err != nil {
		return command.Fail(ctx, stderr, program, err)
	}
	plan, err := plan(*out, images, model.Metadata)
	if err != nil {
		return misused("%v", err)
	}
	progress := command.NewProgress(stderr, len(images))
	b := &batch{
		session: command.Session{Model: model, Precision: *precision, Open: wish.Open, Note: func(text string) {
			progress.Clear()
			fmt.Fprintf(stderr, "%s: %s\n", program, text)
		}},
		weightsName: *weightsName, options: segment.Options{Recurrences: *recurrences, ROI: *region}, stdout: stdout, progress: progress,
	}
	defer b.session.Close()
	progress.Show("preparing the network")
	err = b.session.Ready(ctx)
	progress.Clear()
	if err != nil {
		return command.Fail(ctx, stderr, program, fmt.Errorf("-weights %s: %w", *weightsName, err))
	}
	return b.run(ctx, *out, plan, stderr)
}
