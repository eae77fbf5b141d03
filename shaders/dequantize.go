package shaders

import (
	_ "embed"
	"fmt"

	"mrprism/internal/gpu"
)

//go:embed dequantize.wgsl
var dequantizeSource string

type dequantizeParams struct{ N, Channels uint32 }

var dequantizeForward = wide(perElement("dequantize", dequantizeSource, []gpu.Access{read, read, write},
	func(p *dequantizeParams) uint32 { return (p.N + 3) / 4 }, // words
	func(p *dequantizeParams, a []gpu.Array) {
		for i := range p.N {
			a[2].F[i] = float64(a[0].B[i]) * a[1].F[i%p.Channels]
		}
	}), 1)

// Dequantize is q (…, C) of I8 times scale (C), as weights.Quantize stores them. No gradient.
func Dequantize(q, scale *Tensor) *Tensor {
	requireShape("Dequantize", "scale", scale, q.Dim(-1))
	if q.Type() != gpu.I8 {
		panic(fmt.Sprintf("Dequantize: %v is %v, not i8", q, q.Type()))
	}
	y := q.Graph().New("dequantized", q.Shape())
	q.Graph().Dispatch(dequantizeForward, &dequantizeParams{uint32(q.Elements()), uint32(q.Dim(-1))}, q, scale, y)
	return y
}
