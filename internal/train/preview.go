package train

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"mrprism/internal/data/contour"
	"mrprism/internal/data/dataset"
	"mrprism/internal/segment"
)

// Preview shows how the model sees one image of the data so far.
type Preview struct {
	Name  string `json:"name"`  // FOLDER/NAME
	Apart bool   `json:"apart"` // the run does not learn from it
	SVG   []byte `json:"-"`     // the image, the raters' outlines in white and the model's in colours
}

// mostPreviewed is the largest side of a preview, pixels.
const mostPreviewed = 512

// preview draws a preview after the first step, and then Options.Previews times evenly over the
// run; otherwise it returns nil. The image is the first that the run does not learn from, if there
// is one.
func (t *Trainer) preview(ctx context.Context) (*Preview, error) {
	if n := t.Options.Previews; n < 1 || t.Options.Follows() || t.step > 1 && t.step%max(1, t.Steps()/n) != 0 {
		return nil, nil
	}
	if err := t.choosePreviewed(ctx); t.previewed == nil {
		return nil, err
	}
	file, err := t.averaged(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.load(ctx, file); err != nil {
		return nil, err
	}
	result, err := t.engine.Segment(ctx, t.previewed.Image, segment.Options{Recurrences: t.recurrences(), RaterWeights: t.alone(t.previewed.Folder)})
	if err != nil {
		return nil, fmt.Errorf("a preview of %s/%s: %w", t.previewed.Folder, t.previewed.Name, err)
	}
	p := &Preview{Name: t.previewed.Folder + "/" + t.previewed.Name, Apart: t.apart}
	p.SVG, err = t.drawn(result)
	return p, err
}

// choosePreviewed reads the image of the previews, unless it is known. It leaves none if that image
// is not sound.
func (t *Trainer) choosePreviewed(ctx context.Context) error {
	if t.previewed != nil {
		return nil
	}
	if t.apart = len(t.aside) > 0; t.apart {
		t.previewed = t.aside[0]
		return nil
	}
	cases := t.Dataset.HeldOut()
	if t.apart = len(cases) > 0; !t.apart {
		cases = t.Dataset.Training()
	}
	sound, _, err := dataset.LoadSound(ctx, cases[:1], func(int, int) {})
	if len(sound) > 0 {
		t.previewed = sound[0]
	}
	return err
}

// drawn draws the image of the previews, the raters' outlines and the model's. It takes every n-th
// pixel of a large image.
func (t *Trainer) drawn(result *segment.Result) ([]byte, error) {
	m := t.previewed.Image
	n := (max(m.W, m.H) + mostPreviewed - 1) / mostPreviewed
	w, h := m.W/n, m.H/n
	shown := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		at := m.Pix[3*(i/w*n*m.W+i%w*n):]
		shown.SetRGBA(i%w, i/w, color.RGBA{at[0], at[1], at[2], 255})
	}
	var encoded, out bytes.Buffer
	if err := png.Encode(&encoded, shown); err != nil {
		return nil, err
	}
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d"><image width="%d" height="%d" href="data:image/png;base64,%s"/>`,
		w, h, w, h, w, h, base64.StdEncoding.EncodeToString(encoded.Bytes()))
	outline := func(value func(i int) float32, colour string, width float64) {
		values := make([]float32, w*h)
		for i := range values {
			values[i] = value(i/w*n*m.W + i%w*n)
		}
		fmt.Fprintf(&out, `<path fill="none" stroke="%s" stroke-width="%g" vector-effect="non-scaling-stroke" d="%s"/>`, colour, width, contour.Trace(values, w, h, 0.5, 0.1).Path())
	}
	for k := range t.Dataset.Classes {
		for _, mask := range t.previewed.Given(k) {
			outline(func(i int) float32 { return float32(mask[i]) }, "#fff", 1)
		}
		values := result.Probability(k)
		outline(func(i int) float32 { return values[i] }, contour.Colour(k), 2.5)
	}
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}
