package pointwise

import (
	_ "embed"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/kernels"
)

//go:embed straight_through.wgsl
var straightThroughFile string

type straightThroughParams struct {
	N         uint32
	Low, High float32
}

func straightThroughCount(p *straightThroughParams) uint32 { return p.N }

var (
	thresholdForward = kernels.InPieces(straightThroughCount, thresholdPart[float64], thresholdPart[float32],
		kernels.Flat("threshold_forward", straightThroughFile, []gpu.Access{gpu.Read, gpu.ReadWrite}, straightThroughCount, nil))
	clampForward = kernels.InPieces(straightThroughCount, clampPart[float64], clampPart[float32],
		kernels.Flat("clamp_forward", straightThroughFile, []gpu.Access{gpu.Read, gpu.ReadWrite}, straightThroughCount, nil))
	straightThroughBackward = kernels.InPieces(straightThroughCount, straightThroughPart[float64], straightThroughPart[float32],
		kernels.Flat("straight_through_backward", straightThroughFile, []gpu.Access{gpu.Read, gpu.ReadWrite}, straightThroughCount, nil))
)

func thresholdPart[F gpu.Float](p *straightThroughParams, a []gpu.ArrayOf[F], from, to int) {
	level, y := F(p.Low), a[1].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] = 0
		if v > level {
			y[i] = 1
		}
	}
}

func clampPart[F gpu.Float](p *straightThroughParams, a []gpu.ArrayOf[F], from, to int) {
	low, high, y := F(p.Low), F(p.High), a[1].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] = min(max(v, low), high)
	}
}

func straightThroughPart[F gpu.Float](_ *straightThroughParams, a []gpu.ArrayOf[F], from, to int) {
	kernels.AddRow(a[1].F[from:to], a[0].F[from:])
}

var (
	thresholdKind = kernels.Operator("Threshold", thresholdForward, passThrough)
	clampKind     = kernels.Operator("Clamp", clampForward, passThrough)
)

func passThrough(op *tensor.Op) {
	op.Dispatch(straightThroughBackward, op.Attributes, op.Output().Gradient(), op.Inputs[0].Gradient())
}

// Threshold is [x > level], with the gradient passed straight through (PAPER.md §3.8).
func Threshold(x *tensor.Tensor, level float32) *tensor.Tensor {
	return x.Graph().Apply(thresholdKind, &straightThroughParams{uint32(x.Elements()), level, 0}, x.Shape(), x)
}

// Clamp is min(max(x, low), high), with the gradient passed straight through.
func Clamp(x *tensor.Tensor, low, high float32) *tensor.Tensor {
	return x.Graph().Apply(clampKind, &straightThroughParams{uint32(x.Elements()), low, high}, x.Shape(), x)
}
