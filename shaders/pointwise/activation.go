package pointwise

import (
	_ "embed"
	"math"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
	"mrprism/internal/compute/vector"
	"mrprism/shaders/kernels"
)

//go:embed activation.wgsl
var activationFile string

type activationParams struct{ N uint32 }

func activationCount(p *activationParams) uint32 { return p.N }

// forwardOf lifts a scalar function, backwardOf what adds its gradient to dx: saved is the input or
// the output.
func forwardOf(name string, f func(x float64) float64, fast func(values []float32)) *tensor.Kernel {
	return kernels.Faster(kernels.Flat(name, activationFile, []gpu.Access{gpu.Read, gpu.ReadWrite}, activationCount, func(p *activationParams, a []gpu.Array) {
		for i := range int(p.N) {
			a[1].F[i] = f(a[0].F[i])
		}
	}), func(p *activationParams, a []gpu.Array32, split gpu.Split) {
		split(int(p.N), func(from, to int) {
			copy(a[1].F[from:to], a[0].F[from:to])
			fast(a[1].F[from:to])
		})
	})
}

func backwardOf(name string, exact func(dx, dy, saved []float64), fast func(dx, dy, saved []float32)) *tensor.Kernel {
	return kernels.InPieces(activationCount, gradientPart(exact), gradientPart(fast),
		kernels.Flat(name, activationFile, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, activationCount, nil))
}

func gradientPart[F gpu.Float](add func(dx, dy, saved []F)) func(p *activationParams, a []gpu.ArrayOf[F], from, to int) {
	return func(_ *activationParams, a []gpu.ArrayOf[F], from, to int) {
		add(a[2].F[from:to], a[1].F[from:to], a[0].F[from:to])
	}
}

var (
	reluForward  = forwardOf("relu_forward", relu, vector.ReLU)
	reluBackward = backwardOf("relu_backward", addReLUGradient[float64], addReLUGradient[float32])

	geluForward  = forwardOf("gelu_forward", gelu, vector.GELU)
	geluBackward = backwardOf("gelu_backward", addGELUGradient, vector.AddGELUGradient)

	sigmoidForward  = forwardOf("sigmoid_forward", Logistic, vector.Sigmoid)
	sigmoidBackward = backwardOf("sigmoid_backward", addSigmoidGradient[float64], addSigmoidGradient[float32])
)

func addReLUGradient[F gpu.Float](dx, dy, x []F) {
	if vector.AddReLUGradient(kernels.Singles(dx), kernels.Singles(dy), kernels.Singles(x)) {
		return
	}
	for i, v := range x {
		if v > 0 {
			dx[i] += dy[i]
		}
	}
}

func addGELUGradient(dx, dy, x []float64) {
	for i, v := range x {
		dx[i] += dy[i] * (normalCDF(v) + v*math.Exp(-v*v/2)/math.Sqrt(2*math.Pi))
	}
}

func addSigmoidGradient[F gpu.Float](dx, dy, y []F) {
	for i, v := range y {
		dx[i] += dy[i] * v * (1 - v)
	}
}

func relu(x float64) float64     { return max(x, 0) }
func gelu(x float64) float64     { return x * normalCDF(x) }
func Logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func normalCDF(x float64) float64 { return (1 + math.Erf(x/math.Sqrt2)) / 2 }

var (
	ReLUKind    = activationKind("ReLU", reluForward, reluBackward, false)
	GELUKind    = activationKind("GELU", geluForward, geluBackward, false)
	SigmoidKind = activationKind("Sigmoid", sigmoidForward, sigmoidBackward, true)
)

// activationKind has a gradient that is computed from the output where savesOutput, else from the
// input.
func activationKind(name string, forward, backward *tensor.Kernel, savesOutput bool) *tensor.Kind {
	return kernels.Operator(name, forward, func(op *tensor.Op) {
		x, y := op.Inputs[0], op.Output()
		saved := x
		if savesOutput {
			saved = y
		}
		op.Dispatch(backward, op.Attributes, saved, y.Gradient(), x.Gradient())
	})
}

// ReLU is max(x, 0).
func ReLU(x *tensor.Tensor) *tensor.Tensor { return activate(ReLUKind, x) }

// GELU is x Φ(x) with the exact normal distribution Φ.
func GELU(x *tensor.Tensor) *tensor.Tensor { return activate(GELUKind, x) }

// Sigmoid is 1 / (1 + e^-x).
func Sigmoid(x *tensor.Tensor) *tensor.Tensor { return activate(SigmoidKind, x) }

func activate(k *tensor.Kind, x *tensor.Tensor) *tensor.Tensor {
	return x.Graph().Apply(k, &activationParams{uint32(x.Elements())}, x.Shape(), x)
}

// activations are those that other kernels also compute, numbered from 1.
var activations = []struct {
	kind *tensor.Kind
	f    func(x float64) float64
	fast func(values []float32)
}{{ReLUKind, relu, vector.ReLU}, {GELUKind, gelu, vector.GELU}, {SigmoidKind, Logistic, vector.Sigmoid}}

// Activation is the number of a kind of operator; 0 where it is no activation.
func Activation(k *tensor.Kind) uint32 {
	for i, a := range activations {
		if a.kind == k {
			return uint32(i + 1)
		}
	}
	return 0
}

// Activated is v after an activation, or v where that is 0.
func Activated(activation uint32, v float64) float64 {
	if activation == 0 {
		return v
	}
	return activations[activation-1].f(v)
}

// ActivateAll replaces every value by itself after an activation, which is not 0.
func ActivateAll(activation uint32, values []float32) { activations[activation-1].fast(values) }
