package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
)

//go:embed clamp_log.wgsl
var clampLogSource string

type clampLogParams struct {
	N         uint32
	Low, High float32
}

func clampLogCount(p *clampLogParams) uint32 { return p.N }

var (
	clampLogForward = perElement("clamp_log_forward", clampLogSource, []gpu.Access{read, write}, clampLogCount,
		func(p *clampLogParams, a []gpu.Array) {
			for i := range int(p.N) {
				a[1].F[i] = math.Log(min(max(a[0].F[i], float64(p.Low)), float64(p.High)))
			}
		})
	clampLogBackward = perElement("clamp_log_backward", clampLogSource, []gpu.Access{read, read, write}, clampLogCount,
		func(p *clampLogParams, a []gpu.Array) {
			for i := range int(p.N) {
				if x := a[0].F[i]; x > float64(p.Low) && x < float64(p.High) {
					a[2].F[i] += a[1].F[i] / x
				}
			}
		})
)

// ClampLog is log(clamp(x, low, high)), the log confidence of a probability (PAPER.md §3.4).
func ClampLog(x *Tensor, low, high float32) *Tensor {
	g := x.Graph()
	p := &clampLogParams{uint32(x.Elements()), low, high}
	y := g.New("clamp_log", x.Shape(), x)
	g.Dispatch(clampLogForward, p, x, y)
	g.OnBackward(y, func() { g.Dispatch(clampLogBackward, p, x, y.Gradient(), x.Gradient()) })
	return y
}
