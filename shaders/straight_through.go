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
	thresholdForward = flat("threshold_forward", straightThroughFile, []gpu.Access{read, write}, straightThroughCount,
		func(p *straightThroughParams, a []gpu.Array) {
			for i := range int(p.N) {
				a[1].F[i] = 0
				if a[0].F[i] > float64(p.Low) {
					a[1].F[i] = 1
				}
			}
		})
	clampForward = flat("clamp_forward", straightThroughFile, []gpu.Access{read, write}, straightThroughCount,
		func(p *straightThroughParams, a []gpu.Array) {
			for i := range int(p.N) {
				a[1].F[i] = min(max(a[0].F[i], float64(p.Low)), float64(p.High))
			}
		})
	straightThroughBackward = flat("straight_through_backward", straightThroughFile, []gpu.Access{read, write}, straightThroughCount,
		func(p *straightThroughParams, a []gpu.Array) {
			for i := range int(p.N) {
				a[1].F[i] += a[0].F[i]
			}
		})
)

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
