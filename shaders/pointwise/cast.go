package pointwise

import (
	_ "embed"

	"mrprism/shaders/gpu"
	"mrprism/shaders/half"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed cast.wgsl
var castSource string

type castParams struct{ N uint32 }

func castCount(p *castParams) uint32 { return p.N }

var (
	narrow = kernels.Wide(kernels.InPieces(castCount, narrowPart[float64], narrowPart[float32],
		kernels.PerElement("narrow", castSource, unary, castCount, nil)), 0)
	widenForward = kernels.Wide(kernels.InPieces(castCount, widenPart[float64], widenPart[float32],
		kernels.PerElement("widen_forward", castSource, unary, castCount, nil)), 1)
	widenBackward = kernels.Adding(kernels.Wide(kernels.InPieces(castCount, widenBackwardPart[float64], widenBackwardPart[float32],
		kernels.PerElement("widen_backward", castSource, unary, castCount, nil)), 0))
)

func narrowPart[F gpu.Float](_ *castParams, a []gpu.ArrayOf[F], from, to int) {
	y := a[1].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] = F(half.ToFloat32(half.FromFloat32(float32(v))))
	}
}

func widenPart[F gpu.Float](_ *castParams, a []gpu.ArrayOf[F], from, to int) {
	copy(a[1].F[from:to], a[0].F[from:])
}

func widenBackwardPart[F gpu.Float](_ *castParams, a []gpu.ArrayOf[F], from, to int) {
	vector.Add(a[1].F[from:to], a[0].F[from:])
}

var (
	halveKind = &tensor.Kind{Name: "Halve", Once: true, Compute: func(op *tensor.Op) {
		op.Dispatch(narrow, &castParams{uint32(op.Output().Elements())}, op.Inputs[0], op.Output())
	}}
	widenKind = kernels.Operator(tensor.Kind{Name: "Widen"}, widenForward, func(op *tensor.Op) {
		op.Dispatch(widenBackward, op.Attributes, op.Output().Gradient(), op.Inputs[0].Gradient())
	})
)

// Halve is x rounded to halves, for use as a weight, bias or broadcast table of an operator on
// halves. Its gradient is the gradient of x, in F32.
func Halve(x *tensor.Tensor) *tensor.Tensor {
	y := x.Shadow(gpu.F16)
	x.Graph().Append(halveKind, nil, []*tensor.Tensor{y}, x)
	return y
}

// Widen is x in F32; x may hold halves or floats.
func Widen(x *tensor.Tensor) *tensor.Tensor {
	if x.Type() == gpu.F32 {
		return x
	}
	g, y := x.Graph(), x.Graph().NewOf(gpu.F32, "wide "+x.String(), x.Shape())
	if x.NeedsGradient() {
		y.Track()
	}
	g.Append(widenKind, &castParams{uint32(x.Elements())}, []*tensor.Tensor{y}, x)
	return y
}
