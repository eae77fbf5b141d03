package pointwise

import (
	_ "embed"
	"fmt"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
)

//go:embed dequantize.wgsl
var dequantizeSource string

type dequantizeParams struct{ N, Channels uint32 }

func dequantizeCount(p *dequantizeParams) uint32 { return p.N }
func dequantizeWords(p *dequantizeParams) uint32 { return (p.N + 3) / 4 }

var dequantizeForward = kernels.Wide(kernels.InPieces(dequantizeCount, dequantizePart[float64], dequantizePart[float32],
	kernels.PerElement("dequantize", dequantizeSource, binary, dequantizeWords, nil)), 1)

func dequantizePart[F gpu.Float](p *dequantizeParams, a []gpu.ArrayOf[F], from, to int) {
	for i := from; i < to; i++ {
		a[2].F[i] = F(a[0].B[i]) * a[1].F[i%int(p.Channels)]
	}
}

var dequantizeKind = kernels.Operator(tensor.Kind{Name: "Dequantize"}, dequantizeForward, nil)

// Dequantize is q (…, C) of I8 times scale (C), as weights.Quantize stores them. No gradient.
func Dequantize(q, scale *tensor.Tensor) *tensor.Tensor {
	kernels.RequireShape("Dequantize", "scale", scale, q.Dim(-1))
	if q.Type() != gpu.I8 {
		panic(fmt.Sprintf("Dequantize: %v is %v, not i8", q, q.Type()))
	}
	g, y := q.Graph(), q.Graph().New("dequantized", q.Shape())
	g.Append(dequantizeKind, &dequantizeParams{uint32(q.Elements()), uint32(q.Dim(-1))}, []*tensor.Tensor{y}, q, scale)
	return y
}
