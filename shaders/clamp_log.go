package shaders

import (
	_ "embed"

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

var (
	clampLogForward = absorbing(clampLogAbsorb, inPieces(clampLogCount, clampLogPart[float64], clampLogPart[float32],
		flat("clamp_log_forward", clampLogFile, []gpu.Access{read, write}, clampLogCount, nil)))
	// clampLogAdd takes x, what is added, y. No operator appends it: a logarithm becomes it where it takes over the sum after it.
	clampLogAdd = inPieces(clampLogCount, clampLogAddPart[float64], clampLogAddPart[float32],
		flat("clamp_log_add", clampLogFile, []gpu.Access{read, read, write}, clampLogCount, nil))
	clampLogBackward = inPieces(clampLogCount, clampLogBackwardPart[float64], clampLogBackwardPart[float32],
		flat("clamp_log_backward", clampLogFile, []gpu.Access{read, read, write}, clampLogCount, nil))
)

func clampLog[F gpu.Float](p *clampLogParams, y, x []F) {
	low, high := F(p.Low), F(p.High)
	for i, v := range x {
		y[i] = min(max(v, low), high)
	}
	logarithms(y)
}

func clampLogPart[F gpu.Float](p *clampLogParams, a []gpu.ArrayOf[F], from, to int) {
	clampLog(p, a[1].F[from:to], a[0].F[from:to])
}

func clampLogAddPart[F gpu.Float](p *clampLogParams, a []gpu.ArrayOf[F], from, to int) {
	y := a[2].F[from:to]
	clampLog(p, y, a[0].F[from:to])
	for i, v := range a[1].F[from:to] {
		y[i] += v
	}
}

func clampLogBackwardPart[F gpu.Float](p *clampLogParams, a []gpu.ArrayOf[F], from, to int) {
	low, high := F(p.Low), F(p.High)
	dy, dx := a[1].F[from:to], a[2].F[from:to]
	for i, v := range a[0].F[from:to] {
		if v > low && v < high {
			dx[i] += dy[i] / v
		}
	}
}

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
