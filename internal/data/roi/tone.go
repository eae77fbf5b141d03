package roi

import (
	"math"
	"slices"
)

// tones are the medians of red, green and blue after Tone. They were chosen between those of
// photographs of several cameras.
var tones = [3]float64{.5, .3, .2}

// Tone raises each channel of pixels (s, s, 3), 0..1, to the power that gives it the median that
// photographs of the optic disc usually have. A photograph and the same one under another gamma
// give the same pixels.
func Tone(x []float32) {
	values := make([]float32, len(x)/3)
	for c, tone := range tones {
		for i := range values {
			values[i] = x[3*i+c]
		}
		slices.Sort(values)
		median := max(.03, min(.97, float64(values[len(values)/2])))
		exponent := math.Log2E * math.Log1p(tone-1) / math.Log1p(median-1)
		for i := c; i < len(x); i += 3 {
			// math.Pow has other last bits on amd64 than in WebAssembly.
			x[i] = float32(math.Exp2(exponent * math.Log1p(float64(x[i])-1)))
		}
	}
}
