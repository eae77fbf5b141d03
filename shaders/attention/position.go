package attention

import (
	"fmt"
	"math"
)

// PositionEncoding is the fixed two-dimensional sine-cosine table (H, W, C) of Vaswani et al. 2017
// as in DETR: C/2 channels for y, then C/2 for x. Pixel i of n is at p = (i + 1/2) / n · 2π; of
// each half, channel 2j is sin(p / 10000^(2j / (C/2))) and channel 2j+1 the cosine. C must be
// divisible by 4.
func PositionEncoding(h, w, c int) []float32 {
	if h < 1 || w < 1 || c < 4 || c%4 != 0 {
		panic(fmt.Sprintf("PositionEncoding: (%d, %d, %d): the channels must be a multiple of 4", h, w, c))
	}
	half := c / 2
	code := func(i, n, channel int) float32 {
		p := (float64(i) + 0.5) / float64(n) * 2 * math.Pi
		angle := p / math.Pow(10000, float64(channel/2*2)/float64(half))
		if channel%2 == 0 {
			return float32(math.Sin(angle))
		}
		return float32(math.Cos(angle))
	}
	table := make([]float32, 0, h*w*c)
	for y := range h {
		for x := range w {
			for channel := range half {
				table = append(table, code(y, h, channel))
			}
			for channel := range half {
				table = append(table, code(x, w, channel))
			}
		}
	}
	return table
}
