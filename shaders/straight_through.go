package shaders

import (
	_ "embed"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

//go:embed straight_through.wgsl
var straightThroughFile string

type straightThroughParams struct {
	N         uint32
	Low, High float32
}

func straightThroughCount(p *straightThroughParams) uint32 { return p.N }

var (
	thresholdForward = inPieces(straightThroughCount, thresholdPart[float64], thresholdPart[float32],
		flat("threshold_forward", straightThroughFile, []gpu.Access{read, write}, straightThroughCount, nil))
	clampForward = inPieces(straightThroughCount, clampPart[float64], clampPart[float32],
		flat("clamp_forward", straightThroughFile, []gpu.Access{read, write}, straightThroughCount, nil))
	straightThroughBackward = inPieces(straightThroughCount, straightThroughPart[float64], straightThroughPart[float32],
		flat("straight_through_backward", straightThroughFile, []gpu.Access{read, write}, straightThroughCount, nil))
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
	addRow(a[1].F[from:to], a[0].F[from:])
}

// Threshold is [x > level], with the gradient passed straight through (PAPER.md §3.8).
func Threshold(x *Tensor, level float32) *Tensor {
	return straightThrough("threshold", thresholdForward, x, &straightThroughParams{Low: level})
}

// Clamp is min(max(x, low), high), with the gradient passed straight through.
func Clamp(x *Tensor, low, high float32) *Tensor {
	return straightThrough("clamp", clampForward, x, &straightThroughParams{Low: low, High: high})
}

func straightThrough(name string, forward *tensor.Kernel, x *Tensor, p *straightThroughParams) *Tensor {
	g := x.Graph()
	p.N = uint32(x.Elements())
	y := g.New(name, x.Shape(), x)
	g.Dispatch(forward, p, x, y)
	g.OnBackward(y, func() { g.Dispatch(straightThroughBackward, p, y.Gradient(), x.Gradient()) })
	return y
}
