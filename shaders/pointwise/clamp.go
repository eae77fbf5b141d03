package pointwise

import (
	_ "embed"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed clamp.wgsl
var clampFile string

type ClampParams struct {
	N         uint32
	Low, High float32
}

func clampCount(p *ClampParams) uint32 { return p.N }

var (
	clampForward = kernels.InPieces(clampCount, clampPart[float64], clampPart[float32],
		kernels.Flat("clamp_forward", clampFile, unary, clampCount, nil))
	thresholdForward = kernels.InPieces(clampCount, thresholdPart[float64], thresholdPart[float32],
		kernels.Flat("threshold_forward", clampFile, unary, clampCount, nil))
	clampLogForward = kernels.InPieces(clampCount, clampLogPart[float64], clampLogPart[float32],
		kernels.Flat("clamp_log_forward", clampFile, unary, clampCount, nil))
	clampLogAdd = kernels.InPieces(clampCount, clampLogAddPart[float64], clampLogAddPart[float32],
		kernels.Flat("clamp_log_add", clampFile, binary, clampCount, nil))
	clampLogBackward = kernels.Adding(kernels.InPieces(clampCount, clampLogBackwardPart[float64], clampLogBackwardPart[float32],
		kernels.Flat("clamp_log_backward", clampFile, binary, clampCount, nil)))
)

func clamped[F gpu.Float](p *ClampParams, y, x []F) {
	low, high := F(p.Low), F(p.High)
	for i, v := range x {
		y[i] = min(max(v, low), high)
	}
}

func clampPart[F gpu.Float](p *ClampParams, a []gpu.ArrayOf[F], from, to int) {
	clamped(p, a[1].F[from:to], a[0].F[from:to])
}

func thresholdPart[F gpu.Float](p *ClampParams, a []gpu.ArrayOf[F], from, to int) {
	level, y := F(p.Low), a[1].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] = 0
		if v > level {
			y[i] = 1
		}
	}
}

func clampLogPart[F gpu.Float](p *ClampParams, a []gpu.ArrayOf[F], from, to int) {
	clampPart(p, a, from, to)
	vector.Log(a[1].F[from:to])
}

func clampLogAddPart[F gpu.Float](p *ClampParams, a []gpu.ArrayOf[F], from, to int) {
	y := a[2].F[from:to]
	clamped(p, y, a[0].F[from:to])
	vector.Log(y)
	for i, v := range a[1].F[from:to] {
		y[i] += v
	}
}

func clampLogBackwardPart[F gpu.Float](p *ClampParams, a []gpu.ArrayOf[F], from, to int) {
	low, high := F(p.Low), F(p.High)
	dy, dx := a[1].F[from:to], a[2].F[from:to]
	for i, v := range a[0].F[from:to] {
		if v > low && v < high {
			dx[i] += dy[i] / v
		}
	}
}

var repeatClamp = kernels.Repeat(func(p *ClampParams, n uint32) { p.N *= n })

var (
	ClampKind     = kernels.Operator(tensor.Kind{Name: "Clamp", Images: 1, Repeat: repeatClamp}, clampForward, passThrough)
	thresholdKind = kernels.Operator(tensor.Kind{Name: "Threshold", Images: 1, Repeat: repeatClamp}, thresholdForward, passThrough)
	ClampLogKind  = kernels.Operator(tensor.Kind{Name: "ClampLog", Images: 1, Repeat: repeatClamp}, clampLogForward, func(op *tensor.Op) {
		x, y := op.Inputs[0], op.Output()
		op.Dispatch(clampLogBackward, op.Attributes, x, y.Gradient(), x.Gradient())
	})
	ClampLogAddKind = kernels.Operator(tensor.Kind{Name: "ClampLogAdd"}, clampLogAdd, nil) // of x and the other summand
)

// passThrough passes the gradient straight through.
func passThrough(op *tensor.Op) { AddTo(op.Inputs[0], op.Output().Gradient(), 1) }

func clampBy(k *tensor.Kind, x *tensor.Tensor, low, high float32) *tensor.Tensor {
	return x.Graph().Apply(k, &ClampParams{uint32(x.Elements()), low, high}, x.Shape(), x)
}

// Clamp is min(max(x, low), high), with the gradient passed straight through.
func Clamp(x *tensor.Tensor, low, high float32) *tensor.Tensor {
	return clampBy(ClampKind, x, low, high)
}

// Threshold is [x > level], with the gradient passed straight through (PAPER.md §3.8).
func Threshold(x *tensor.Tensor, level float32) *tensor.Tensor {
	return clampBy(thresholdKind, x, level, 0)
}

// ClampLog is log(clamp(x, low, high)), the log confidence of a probability (PAPER.md §3.4).
func ClampLog(x *tensor.Tensor, low, high float32) *tensor.Tensor {
	return clampBy(ClampLogKind, x, low, high)
}
