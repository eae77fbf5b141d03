package shaders

import (
	_ "embed"

	"mrprism/internal/gpu"
	"mrprism/internal/half"
	"mrprism/internal/tensor"
)

//go:embed cast.wgsl
var castSource string

type castParams struct{ N uint32 }

func castCount(p *castParams) uint32 { return p.N }

var (
	narrow = wide(inPieces(castCount, narrowPart[float64], narrowPart[float32],
		perElement("narrow", castSource, []gpu.Access{read, write}, castCount, nil)), 0)
	widenForward = wide(inPieces(castCount, widenPart[float64], widenPart[float32],
		perElement("widen_forward", castSource, []gpu.Access{read, write}, castCount, nil)), 1)
	widenBackward = func() *tensor.Kernel {
		k := wide(inPieces(castCount, widenBackwardPart[float64], widenBackwardPart[float32],
			perElement("widen_backward", castSource, []gpu.Access{read, write}, castCount, nil)), 0)
		k.Fresh = narrow
		return k
	}()
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
	addRow(a[1].F[from:to], a[0].F[from:])
}

// wide says which of a kernel's arguments are of F32 also where the others are of F16.
func wide(k *tensor.Kernel, arguments ...int) *tensor.Kernel {
	k.Wide = arguments
	return k
}

// Like is x stored as y is: rounded to halves, or x itself. Its gradient is x's, in F32, so that it may be the weight, the bias or the broadcast
// table of an operator on y; and what no gradient passes through may be anything.
func Like(y, x *Tensor) *Tensor {
	if x == nil || x.Type() == y.Type() {
		return x
	}
	return Halve(x)
}

// Halve is x rounded to halves, see Like.
func Halve(x *Tensor) *Tensor {
	return x.Halved(func(x, y *Tensor) { x.Graph().Dispatch(narrow, &castParams{uint32(x.Elements())}, x, y) })
}

// Widen is x, of halves or not, in F32.
func Widen(x *Tensor) *Tensor {
	if x.Type() == gpu.F32 {
		return x
	}
	g := x.Graph()
	p := &castParams{uint32(x.Elements())}
	y := g.NewOf(gpu.F32, "wide "+x.String(), x.Shape())
	if x.NeedsGradient() {
		y.Track()
	}
	g.Dispatch(widenForward, p, x, y)
	g.OnBackward(y, func() { g.Dispatch(widenBackward, p, y.Gradient(), x.Gradient()) })
	return y
}
