package segment

import (
	"errors"
	"fmt"

	"mrprism/internal/files/imageio"
)

// MarkFile is a mark in a file: a PNG as large as the image as displayed before any turn, with the
// values of Evidence.Mask.
type MarkFile struct {
	Rater, Class string // as in Evidence
	Name         string // of the file, for messages
	PNG          []byte
}

// ErrMark is the kind of the errors of MarkFile.Evidence.
var ErrMark = errors.New("not a mark")

// Evidence decodes the mark for an image. Its errors are of type *imageio.Error, which names the
// file and the next step, and wrap ErrMark or what imageio.Decode gives.
func (f MarkFile) Evidence(img *imageio.Image) (Evidence, error) {
	wrong := func(advice, problem string, args ...any) error {
		return &imageio.Error{Name: f.Name, Problem: fmt.Sprintf(problem, args...), Advice: advice, Kind: ErrMark}
	}
	before := img.Before()
	w, h := before.W, before.H
	const values = "255 inside, 0 outside and 128 where nothing is said"
	header, err := imageio.Header(f.Name, f.PNG)
	switch {
	case err != nil:
		return Evidence{}, err
	case header.Format != "png":
		return Evidence{}, wrong("save the mark as a PNG: "+values, "this is a JPEG, which blurs the values of a mark")
	case header.W != w || header.H != h:
		return Evidence{}, wrong("draw the mark on the photograph, at its full size",
			"the mark has %d×%d pixels, and the photograph %d×%d", header.W, header.H, w, h)
	}
	drawn, err := imageio.DecodeMask(f.Name, f.PNG)
	if err != nil {
		return Evidence{}, err
	}
	mask := make([]byte, img.W*img.H)
	for i := range mask {
		x, y := i%w, i/w
		r, g, b := drawn.Pix[3*i], drawn.Pix[3*i+1], drawn.Pix[3*i+2]
		switch {
		case r != g || r != b:
			return Evidence{}, wrong("save the mark in grey: "+values, "the pixel at %d, %d has the colour %d, %d, %d", x, y, r, g, b)
		case r != 0 && r != Unsaid && r != 255:
			return Evidence{}, wrong("draw the mark without soft edges: "+values, "the pixel at %d, %d has the value %d", x, y, r)
		}
		mask[i] = r
	}
	return Evidence{Rater: f.Rater, Class: f.Class, Mask: imageio.Turn(mask, w, h, 1, img.Turn)}, nil
}
