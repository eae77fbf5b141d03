package dataset

import (
	"math"
	"math/rand/v2"
)

// grain adds to every second view (s, s, 3) a grain of grey: Gaussian noise of blobs of 1 to 4 pixels, of a deviation drawn from 0 to Grain times
// the picture's own. These are the last draws of a view; nothing is drawn without Grain.
func (a Augmentation) grain(pixels []float32, s int, rng *rand.Rand) {
	if a.Grain == 0 {
		return
	}
	often, share, size := rng.Float64() < .5, a.Grain*rng.Float64(), 1+3*rng.Float64()
	if !often {
		return
	}
	deviation := share * spread(pixels)
	n := int(float64(s)/size) + 3 // points of noise along a side, between which it is interpolated
	noise := make([]float64, n*n)
	for i := range noise {
		noise[i] = deviation * rng.NormFloat64()
	}
	ox, oy := rng.Float64(), rng.Float64()
	for y := range s {
		row, down := math.Modf(oy + float64(y)/size)
		for x := range s {
			column, across := math.Modf(ox + float64(x)/size)
			at := noise[int(row)*n+int(column):]
			v := (1-down)*((1-across)*at[0]+across*at[1]) + down*((1-across)*at[n]+across*at[n+1])
			for c := range 3 {
				p := &pixels[3*(y*s+x)+c]
				*p = max(0, min(1, *p+float32(v)))
			}
		}
	}
}

// spread is the standard deviation of values.
func spread(values []float32) float64 {
	var sum, squares float64
	for _, v := range values {
		sum += float64(v)
	}
	mean := sum / float64(len(values))
	for _, v := range values {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	return math.Sqrt(squares / float64(len(values)))
}
