package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

//go:embed clamp_log.wgsl
var clampLogFile string

type clampLogParams struct {
	N         uint32
	Low, High float32
}

func clampLogCount(p *clampLogParams) uint32 { return p.N }

func (p *clampLogParams) of(x float64) float64 {
	return math.Log(min(max(x, float64(p.Low)), float64(p.High)))
}

var (
	clampLogForward = absorbing(clampLogAbsorb, flat("clamp_log_forward", clampLogFile, []gpu.Access{read, write}, clampLogCount,
		func(p *clampLogParams, a []gpu.Array) {
			for i := range int(p.N) {
				a[1].F[i] = p.of(a[0].F[i])
			}
		}))
	// clampLogAdd takes x, what is added, y. No operator appends it: a logarithm becomes it where it takes over the sum after it.
	clampLogAdd = flat("clamp_log_add", clampLogFile, []gpu.Access{read, read, write}, clampLogCount,
		func(p *clampLogParams, a []gpu.Array) {
			for i := range int(p.N) {
				a[2].F[i] = p.of(a[0].F[i]) + a[1].F[i]
			}
		})
	clampLogBackward = flat("clamp_log_backward", clampLogFile, []gpu.Access{read, read, write}, clampLogCount,
		func(p *clampLogParams, a []gpu.Array) {
			for i := range int(p.N) {
				if x := a[0].F[i]; x > float64(p.Low) && x < float64(p.High) {
					a[2].F[i] += a[1].F[i] / x
				}
			}
		})
)

// clampLogAbsorb lets the logarithm also do a sum: with another tensor, or with a table where that is added to one batch element.
func clampLogAbsorb(params any, next *tensor.Kernel, nextParams any, at int) (tensor.Absorbed, bool) {
	if next != addForward && !(next == addBroadcastForward && at == 0 && nextParams.(*elementwiseParams).once()) {
		return tensor.Absorbed{}, false
	}
	return tensor.Absorbed{Kernel: clampLogAdd, Params: params, From: map[int]int{1: 1 - at, 2: 2}}, true
}

// ClampLog is log(clamp(x, low, high)), the log confidence of a probability (PAPER.md §3.4).
func ClampLog(x *Tensor, low, high float32) *Tensor {
	g := x.Graph()
	p := &clampLogParams{uint32(x.Elements()), low, high}
	y := g.New("clamp_log", x.Shape(), x)
	g.Dispatch(clampLogForward, p, x, y)
	g.OnBackward(y, func() { g.Dispatch(clampLogBackward, p, x, y.Gradient(), x.Gradient()) })
	return y
}
