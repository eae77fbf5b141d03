package dataset

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"

	"mrprism/internal/files/imageio"
	"mrprism/weights/disk"
)

// Mask reads a picture of 0 and 255, as large as the image, as a mask (H, W) of 0 and 1. A picture
// of 0 and 1 is a mask too, and one of 16 bits may have 65535 for 255. Mask refuses all others: it
// does not guess which label or colour is the class, nor where a probability becomes a mark.
func (c *Case) Mask(path string) ([]uint8, error) {
	mask, _, err := c.mask(path)
	return mask, err
}

// mask is Mask, and also returns the value that pixels inside have: 1, 255 or 65535, or 0 for an
// empty mask.
func (c *Case) mask(path string) (mask []uint8, inside uint16, err error) {
	values, w, h, err := greys(path)
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

// greys are the values of a grey picture as stored: up to 255, or up to 65535 with 16 bits.
func greys(path string) (values []uint16, w, h int, err error) {
	data, err := disk.ReadFile(path)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("%s: cannot be read (%w)", path, disk.Cause(err))
	}
	m, err := imageio.DecodeMask(path, data)
	if err != nil {
		return nil, 0, 0, err
	}
	values = make([]uint16, m.W*m.H)
	for i := range values {
		r, g, b := m.Pix[3*i], m.Pix[3*i+1], m.Pix[3*i+2]
		if r != g || r != b {
			return nil, 0, 0, fmt.Errorf("%s: is coloured (%d,%d,%d at x %d, y %d); a mask is grey, 0 outside and 255 inside: write a mask for each class into its folder, 255 where the colour is that class's",
				path, r, g, b, i%m.W, i/m.W)
		}
		values[i] = uint16(r)
	}
	// Decode scales 16-bit values for the eye, and does not return them as stored.
	if about, err := png.DecodeConfig(bytes.NewReader(data)); err == nil && about.ColorModel == color.Gray16Model && m.Orientation == 1 {
		deep, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, 0, 0, fmt.Errorf("%s: not a whole PNG (%w)", path, err)
		}
		if grey, is := deep.(*image.Gray16); is { // without a tRNS chunk
			for i := range values {
				values[i] = grey.Gray16At(i%m.W, i/m.W).Y
			}
		}
	}
	return values, m.W, m.H, nil
}
