package shaders

import (
	_ "embed"

	"mrprism/internal/gpu"
)

//go:embed threshold.wgsl
var thresholdSource string

type thresholdParams struct {
	N     uint32
	Level float32
}

func thresholdCount(p *thresholdParams) uint32 { return p.N }

var (
	thresholdForward = perElement("threshold_forward", thresholdSource, []gpu.Access{read, write}, thresholdCount,
		func(p *thresholdParams, a []gpu.Array) {
			for i := range int(p.N) {
				a[1].F[i] = 0
				if a[0].F[i] > float64(p.Level) {
					a[1].F[i] = 1
				}
			}
		})
	thresholdBackward = perElement("threshold_backward", thresholdSource, []gpu.Access{read, write}, thresholdCount,
		func(p *thresholdParams, a []gpu.Array) {
			for i := range int(p.N) {
				a[1].F[i] += a[0].F[i]
			}
		})
)

// Threshold is [x > level], with the gradient passed straight through (PAPER.md §3.8).
func Threshold(x *Tensor, level float32) *Tensor {
	g := x.Graph()
	p := &thresholdParams{uint32(x.Elements()), level}
	y := g.New("threshold", x.Shape(), x)
	g.Dispatch(thresholdForward, p, x, y)
	g.OnBackward(y, func() { g.Dispatch(thresholdBackward, p, y.Gradient(), x.Gradient()) })
	return y
}
