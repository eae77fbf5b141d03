package shaders

import "math"

// The activations of float32 values, in place.

func reluFast(values []float32) {
	for i, x := range values {
		if x < 0 { // a NaN stays
			values[i] = 0
		}
	}
}

func sigmoidFast(values []float32) {
	for i, x := range values {
		values[i] = -x
	}
	exponentials(values)
	for i, e := range values {
		values[i] = 1 / (1 + e)
	}
}

// geluFast takes Φ(-|x|) from formula 7.1.26 of Abramowitz and Stegun, whose error is below 1e-7.
func geluFast(values []float32) {
	const block = 64
	var tails [block]float32
	for ; len(values) > 0; values = values[min(block, len(values)):] {
		x := values[:min(block, len(values))]
		tail := tails[:len(x)]
		for i, x := range x {
			tail[i] = -x * x / 2
		}
		exponentials(tail)
		for i, v := range x {
			t := 1 / (1 + float32(0.3275911/math.Sqrt2)*abs(v))
			phi := 0.5 * tail[i] * t * (0.254829592 + t*(-0.284496736+t*(1.421413741+t*(-1.453152027+t*1.061405429))))
			if v > 0 {
				phi = 1 - phi
			}
			x[i] = v * phi
		}
	}
}

func abs(x float32) float32 {
	if x < 0 {
		return -x
	}
	return x
}
