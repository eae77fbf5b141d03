package pointwise

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/vector"
)

// quantizedDense is how many elements are rounded before they are spread to whole words.
const quantizedDense = 1024

func quantizeFast(p *quantizeParams, a []gpu.Array32, split gpu.Split) {
	inputs, width := int(p.Inputs), int(Padded(p.Inputs))
	split(4*int(p.Words)/width, func(from, to int) {
		if inputs == width {
			vector.Quantize(a[1].B[from*width:to*width], a[0].F[from*width:], p.Factor)
			return
		}
		dense := make([]int8, max(quantizedDense, inputs))
		most := len(dense) / inputs
		for ; from < to; from += most {
			n := min(most, to-from)
			vector.Quantize(dense[:n*inputs], a[0].F[from*inputs:], p.Factor)
			widen(a[1].B[from*width:][:n*width], dense[:n*inputs], inputs)
		}
	})
}

// widen copies dense pixels to q, and fills up each pixel with zeros to whole words.
func widen(q, dense []int8, inputs int) {
	width := len(q) / (len(dense) / inputs)
	if inputs == 3 {
		for ; len(q) >= 4 && len(dense) >= 3; q, dense = q[4:], dense[3:] {
			q[0], q[1], q[2], q[3] = dense[0], dense[1], dense[2], 0
		}
		return
	}
	for ; len(q) > 0; q, dense = q[width:], dense[inputs:] {
		clear(q[copy(q, dense[:inputs]):width])
	}
}
