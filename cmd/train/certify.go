package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment/doubt"
	"mrprism/internal/trust"
	"mrprism/weights"
)

const certifyIntro = `train certify - certifies a model's cup/disc ratio on the photographs of one camera

usage: train certify -data DIR -weights NAME|FILE -out FILE [flags]

DIR is a data set of about twelve eyes with discs and cups that people marked: of nine patients or more, from one camera, and
none that the model has learned from. certify segments each eye and compares its vertical ratio with the marked one. It fits
shift and slope of the ratio, and an interval that holds 90 of 100 new patients' ratios: each patient's error is that from a fit
to the other patients (conformal prediction, as the jackknife). The eyes of a patient in groups.csv stay together. The copy of
the weights in FILE has the certificate: camera (the data set's name), date, eyes, shift, slope, coverage, width, the sum of the
weights, and figures of the photographs.

Programs and the page then show the camera's ratio, its interval and "certified on CAMERA, DATE, 12 eyes". After each 20
photographs they say whether these still look like the twelve. The certificate falls if anything in the weights changes.
"train -data DIR -init NAME -judge NAME -cross 3" learns from the eyes, and certifies what it learned by its folds.
`

const certifyExamples = `
examples:
  train certify -data twelve-eyes -weights fundus -out clinic.safetensors
  segment -weights clinic.safetensors -out masks photos/

exit codes: 0 certified, 1 it failed or the patients are too few, 2 wrong usage, 130 stopped by Ctrl-C
`

// certify is a call of the program.
type certify struct {
	data, out string
	weights   *string
	device    *computing.Device
	bar       *progress
}

// runCertify is the program as "train certify"; it returns the exit code.
func runCertify(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags, r := cli.NewGroups(), certify{bar: newProgress(stderr)}
	flags.Add("flags", func(f *flag.FlagSet) {
		f.StringVar(&r.data, "data", "", "`FOLDER` of the eyes and their marks (required)")
		r.weights, r.device = computing.WeightsFlag(f), computing.DeviceFlag(f)
		f.StringVar(&r.out, "out", "", "write the certified weights to `FILE` (required)")
	})
	p := cli.Program{Name: program + " certify", Intro: certifyIntro, Examples: certifyExamples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		switch {
		case len(rest) > 0:
			return cli.Wrong("unexpected argument %q", rest[0])
		case r.data == "" || *r.weights == "" || r.out == "":
			return cli.Wrong("give -data, -weights and -out")
		case !strings.HasSuffix(r.out, ".safetensors"):
			return cli.Wrong("-out %s: give a name that ends in .safetensors", r.out)
		}
		if err := cmp.Or(r.device.Check(), command.CheckOutputs(r.out)); err != nil {
			return err
		}
		return r.run(ctx, stdout)
	})
}

func (r *certify) run(ctx context.Context, stdout io.Writer) error {
	m, err := computing.Weights(*r.weights)
	if err != nil {
		return err
	}
	d, err := dataset.Open(r.data)
	if err != nil {
		return err
	}
	device, err := r.device.Open(ctx, func(text string) { r.bar.end(); fmt.Fprintln(r.bar.out, text) })
	if err != nil {
		return err
	}
	defer device.Close()
	done := 0
	l := doubt.Learner{Device: device, Cases: d.Cases, Next: func(string) error {
		r.bar.line(false, done, len(d.Cases), fmt.Sprintf("eye %d of %d", done+1, len(d.Cases)))
		done++
		return ctx.Err()
	}}
	c, eyes, err := l.Certify(ctx, m)
	r.bar.end()
	if few := (trust.TooFew{}); errors.As(err, &few) {
		return fmt.Errorf("%w. Of %d images in %s, %d have marks of disc and cup and a ratio of the model: mark more patients' eyes, and call certify again", err, len(d.Cases), r.data, len(eyes))
	} else if err != nil {
		return err
	}
	m.Certify(*c)
	m.Seal()
	data, err := m.Encode()
	if err != nil {
		return err
	}
	if err := weights.WriteFile(r.out, data); err != nil {
		return err
	}
	_, err = fmt.Fprint(stdout, certified(c, eyes, m.Metadata.Title, r.out))
	return err
}

// certified is the report of a certificate.
func certified(c *weights.Certificate, eyes []trust.Eye, model, file string) string {
	var bias, before, after float64
	for _, e := range eyes {
		share := 1 / float64(len(eyes))
		bias, before, after = bias+share*(e.Predicted-e.Marked), before+share*math.Abs(e.Predicted-e.Marked), after+share*math.Abs(c.At(e.Predicted)-e.Marked)
	}
	way := "large"
	if bias < 0 {
		way = "small"
	}
	text := fmt.Sprintf("%s: certified on %s, %s, %d eyes of %d patients\n", model, c.Camera, c.Date, c.Eyes, c.Patients)
	text += fmt.Sprintf("  The model's ratio is %.2f too %s on the mean. From now on the ratio is %.2f + %.2f times the model's: on these eyes the mean error goes from %.3f to %.3f.\n",
		math.Abs(bias), way, c.Shift, c.Slope, before, after)
	text += fmt.Sprintf("  In %.0f of 100 new patients of this camera what a person marks lies within ±%.2f of the ratio (width %.2f on the mean).\n", 100*c.Coverage, c.Reach, c.Width)
	if c.Reach > trust.Narrow {
		text += "  That is wide: results say \"check\". Learn from the eyes (train -data DIR -init MODEL -judge MODEL -cross 3), or mark more of them.\n"
	}
	return text + fmt.Sprintf("  %s has the certificate: segment -weights %s -out masks PHOTOS\n", file, quote(file))
}
