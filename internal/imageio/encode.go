package imageio

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
)

// EncodeProbability writes a map (h, w) of probabilities as an 8-bit grey PNG, 255 p rounded, with no metadata: pixels only. One half becomes 127,
// so that 128 and more is above one half. A value that is not in 0..1 is an error and nothing is written; NaN must never become a mask.
func EncodeProbability(w, h int, p []float32) ([]byte, error) {
	if w <= 0 || h <= 0 || len(p) != w*h {
		panic(fmt.Sprintf("imageio: EncodeProbability: %d values for %d×%d", len(p), w, h))
	}
	grey := image.NewGray(image.Rect(0, 0, w, h))
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("probability map holds %v at x %d, y %d; not written", v, i%w, i/w)
		}
		grey.Pix[i] = uint8(math.Ceil(float64(v)*255 - 0.5))
	}
	var out bytes.Buffer
	if err := png.Encode(&out, grey); err != nil {
		return nil, fmt.Errorf("encode PNG: %w", err)
	}
	return out.Bytes(), nil
}
