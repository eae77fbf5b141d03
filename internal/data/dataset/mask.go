package dataset

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"

	"mrprism/internal/files/imageio"
	"mrprism/weights/disk"
)

// Mask reads a picture of 0 and 255, as large as the image, as a mask (H, W) of 0 and 1. A picture
// of 0 and 1 is a mask too, and one of 16 bits may have 65535 for 255; the values are those of
// Levels. Mask refuses all others: it does not guess which label or colour is the class, nor where
// a probability becomes a mark.
func (c *Case) Mask(path string) ([]uint8, error) {
	mask, _, err := c.mask(path)
	return mask, err
}

// mask is Mask, and also returns the value that pixels inside have: 1, 255 or 65535, or 0 for an
// empty mask.
func (c *Case) mask(path string) (mask []uint8, inside uint16, err error) {
	data, err := disk.ReadFile(path)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: cannot be read (%w)", path, disk.Cause(err))
	}
	values, w, h, _, err := Levels(path, data)
	if err != nil {
		return nil, 0, err
	}
	if err := c.checkFit(path, w, h); err != nil {
		return nil, 0, err
	}
	mask, inside = make([]uint8, w*h), slices.Max(values)
	plain := slices.Contains([]uint16{0, 1, 255, 65535}, inside)
	for i, v := range values {
		switch {
		case v == 0:
		case plain && v == inside:
			mask[i] = 1
		default:
			return nil, 0, fmt.Errorf("%s: holds %s (%d at x %d, y %d); a mask is 0 outside and 255 inside: %s", path, listValues(values), v, i%w, i/w, remedy(values))
		}
	}
	return mask, inside, nil
}

// listValues names the values of a picture. Of many values it names the first ones.
func listValues(values []uint16) string {
	distinct := slices.Compact(slices.Sorted(slices.Values(values)))
	text := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(distinct[:min(len(distinct), 6)]), "[]")), ", ")
	if len(distinct) > 6 {
		text += fmt.Sprintf(" and %d more values", len(distinct)-6)
	}
	return text
}

// remedy says how to make masks of a picture with other values. Few small ones are labels.
func remedy(values []uint16) string {
	if distinct := slices.Compact(slices.Sorted(slices.Values(values))); distinct[len(distinct)-1] < 32 {
		return "these are labels; write a mask for each class into its folder, 255 where the label is that class's"
	}
	return "set it to 0 below 128 and to 255 from there on, or draw it without soft edges"
}

// Levels reads the values of a mask or a map, a PNG: those of grey (also if it is stored as RGB) as
// stored, and what white is, 255 or 65535. Of a palette with colours the numbers count, as
// labelling tools write labels; white is then 0. Other colours and transparency are refused. It is
// the one reader of masks, for data sets and for predictions.
func Levels(path string, data []byte) (values []uint16, w, h int, white uint16, err error) {
	m, err := imageio.DecodeMask(path, data)
	if err != nil {
		return nil, 0, 0, 0, err
	}
	var stored image.Image
	if about, err := png.DecodeConfig(bytes.NewReader(data)); err == nil && m.Orientation == 1 {
		palette, _ := about.ColorModel.(color.Palette)
		// Decode scales samples of 16 bits for the eye, and shows a palette's colours.
		if slices.Contains([]color.Model{color.Gray16Model, color.RGBA64Model, color.NRGBA64Model}, about.ColorModel) || slices.ContainsFunc(palette, isColour) {
			if stored, err = png.Decode(bytes.NewReader(data)); err != nil {
				return nil, 0, 0, 0, fmt.Errorf("%s: not a whole PNG (%w)", path, err)
			}
		}
	}
	numbers, white := []uint8(nil), uint16(math.MaxUint8)
	if paletted, is := stored.(*image.Paletted); is {
		numbers, white = paletted.Pix, 0
	} else if stored != nil {
		white = math.MaxUint16
	}
	values = make([]uint16, m.W*m.H)
	for i := range values {
		r, g, b := m.Pix[3*i], m.Pix[3*i+1], m.Pix[3*i+2]
		switch {
		case numbers != nil:
			values[i] = uint16(numbers[i])
		case r != g || r != b:
			return nil, 0, 0, 0, fmt.Errorf("%s: is coloured (%d,%d,%d at x %d, y %d); a mask is grey, 0 outside and 255 inside: write a mask for each class into its folder, 255 where the colour is that class's",
				path, r, g, b, i%m.W, i/m.W)
		case stored != nil:
			deep, _, _, _ := stored.At(i%m.W, i/m.W).RGBA()
			values[i] = uint16(deep)
		default:
			values[i] = uint16(r)
		}
	}
	return values, m.W, m.H, white, nil
}

// isColour reports whether a colour is no grey.
func isColour(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return r != g || g != b
}
