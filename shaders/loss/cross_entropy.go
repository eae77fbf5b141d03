// Package loss has the losses of training.
package loss

import (
	_ "embed"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed cross_entropy.wgsl
var crossEntropyFile string

type crossEntropyParams struct {
	N   uint32
	Low float32
}

func crossEntropyCount(p *crossEntropyParams) uint32 { return p.N }

var (
	crossEntropyForward = kernels.InPieces(crossEntropyCount, crossEntropyPart[float64], crossEntropyPart[float32],
		kernels.Flat("cross_entropy_forward", crossEntropyFile, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, crossEntropyCount, nil))
	crossEntropyBackward = kernels.Adding(kernels.InPieces(crossEntropyCount, crossEntropyBackwardPart[float64], crossEntropyBackwardPart[float32],
		kernels.Flat("cross_entropy_backward", crossEntropyFile, []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, crossEntropyCount, nil)))
)

func crossEntropyPart[F gpu.Float](p *crossEntropyParams, a []gpu.ArrayOf[F], from, to int) {
	low, y := F(p.Low), a[2].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] = min(max(v, low), 1-low)
	}
	vector.LogLikelihood(y, y, a[1].F[from:to])
	for i, v := range y {
		y[i] = -v
	}
}

func crossEntropyBackwardPart[F gpu.Float](p *crossEntropyParams, a []gpu.ArrayOf[F], from, to int) {
	vector.AddCrossEntropyGradient(a[3].F[from:to], a[0].F[from:to], a[1].F[from:to], a[2].F[from:to], F(p.Low))
}

var crossEntropyKind = kernels.Operator(tensor.Kind{
	Name: "CrossEntropy", Passes: 1, Images: 2, Repeat: kernels.Repeat(func(p *crossEntropyParams, n uint32) { p.N *= n }),
}, crossEntropyForward, func(op *tensor.Op) {
	p, t := op.Inputs[0], op.Inputs[1]
	op.Dispatch(crossEntropyBackward, op.Attributes, p, t, op.Output().Gradient(), p.Gradient())
})

// CrossEntropy is the binary cross-entropy of probabilities p against targets t, element by
// element, with p clamped to [low, 1-low]; the gradient passes the clamp (PAPER.md §3.8). No
// gradient by t.
func CrossEntropy(p, t *tensor.Tensor, low float32) *tensor.Tensor {
	kernels.SameShape("cross_entropy", p, t)
	return p.Graph().Apply(crossEntropyKind, &crossEntropyParams{uint32(p.Elements()), low}, p.Shape(), p, t)
}
