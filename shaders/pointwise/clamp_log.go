package pointwise

import (
	_ "embed"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/kernels"
)

//go:embed clamp_log.wgsl
var clampLogFile string

type ClampLogParams struct {
	N         uint32
	Low, High float32
}

func clampLogCount(p *ClampLogParams) uint32 { return p.N }

var (
	clampLogForward = kernels.InPieces(clampLogCount, clampLogPart[float64], clampLogPart[float32],
		kernels.Flat("clamp_log_forward", clampLogFile, []gpu.Access{gpu.Read, gpu.ReadWrite}, clampLogCount, nil))
	clampLogAdd = kernels.InPieces(clampLogCount, clampLogAddPart[float64], clampLogAddPart[float32],
		kernels.Flat("clamp_log_add", clampLogFile, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, clampLogCount, nil))
	clampLogBackward = kernels.InPieces(clampLogCount, clampLogBackwardPart[float64], clampLogBackwardPart[float32],
		kernels.Flat("clamp_log_backward", clampLogFile, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, clampLogCount, nil))
)

func clampLog[F gpu.Float](p *ClampLogParams, y, x []F) {
	low, high := F(p.Low), F(p.High)
	for i, v := range x {
		y[i] = min(max(v, low), high)
	}
	kernels.Logarithms(y)
}

func clampLogPart[F gpu.Float](p *ClampLogParams, a []gpu.ArrayOf[F], from, to int) {
	clampLog(p, a[1].F[from:to], a[0].F[from:to])
}

func clampLogAddPart[F gpu.Float](p *ClampLogParams, a []gpu.ArrayOf[F], from, to int) {
	y := a[2].F[from:to]
	clampLog(p, y, a[0].F[from:to])
	for i, v := range a[1].F[from:to] {
		y[i] += v
	}
}

func clampLogBackwardPart[F gpu.Float](p *ClampLogParams, a []gpu.ArrayOf[F], from, to int) {
	low, high := F(p.Low), F(p.High)
	dy, dx := a[1].F[from:to], a[2].F[from:to]
	for i, v := range a[0].F[from:to] {
		if v > low && v < high {
			dx[i] += dy[i] / v
		}
	}
}

var (
	ClampLogKind = kernels.Operator("ClampLog", clampLogForward, func(op *tensor.Op) {
		x, y := op.Inputs[0], op.Output()
		op.Dispatch(clampLogBackward, op.Attributes, x, y.Gradient(), x.Gradient())
	})
	ClampLogAddKind = kernels.Operator("ClampLogAdd", clampLogAdd, nil) // of x and what is added
)

// ClampLog is log(clamp(x, low, high)), the log confidence of a probability (PAPER.md §3.4).
func ClampLog(x *tensor.Tensor, low, high float32) *tensor.Tensor {
	return x.Graph().Apply(ClampLogKind, &ClampLogParams{uint32(x.Elements()), low, high}, x.Shape(), x)
}
