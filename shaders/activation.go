package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
	"mrprism/internal/vector"
)

//go:embed activation_functions.wgsl
var activationPart string

//go:embed activation.wgsl
var activationFile string

var activationSource = joined(activationPart, activationFile)

type activationParams struct{ N uint32 }

func activationCount(p *activationParams) uint32 { return p.N }

// forwardOf and backwardOf lift scalar functions; backward is given the saved value (input or output) and dy.
func forwardOf(name string, f func(x float64) float64, fast func(values []float32)) *tensor.Kernel {
	return faster(flat(name, activationSource, []gpu.Access{read, write}, activationCount, func(p *activationParams, a []gpu.Array) {
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

func backwardOf(name string, f func(saved, dy float64) float64) *tensor.Kernel {
	return flat(name, activationSource, []gpu.Access{read, read, write}, activationCount, func(p *activationParams, a []gpu.Array) {
		for i := range int(p.N) {
			a[2].F[i] += f(a[0].F[i], a[1].F[i])
		}
	})
}

var (
	reluForward  = forwardOf("relu_forward", relu, vector.ReLU)
	reluBackward = backwardOf("relu_backward", func(x, dy float64) float64 {
		if x > 0 {
			return dy
		}
		return 0
	})

	geluForward  = forwardOf("gelu_forward", gelu, vector.GELU)
	geluBackward = backwardOf("gelu_backward", func(x, dy float64) float64 {
		return dy * (normalCDF(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
	})

	sigmoidForward  = forwardOf("sigmoid_forward", sigmoid, vector.Sigmoid)
	sigmoidBackward = backwardOf("sigmoid_backward", func(y, dy float64) float64 { return dy * y * (1 - y) })
)

func relu(x float64) float64    { return max(x, 0) }
func gelu(x float64) float64    { return x * normalCDF(x) }
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func normalCDF(x float64) float64 { return (1 + math.Erf(x/math.Sqrt2)) / 2 }

// ReLU is max(x, 0).
func ReLU(x *Tensor) *Tensor { return activate("relu", reluForward, reluBackward, x, false) }

// GELU is x Φ(x) with the exact normal distribution Φ.
func GELU(x *Tensor) *Tensor { return activate("gelu", geluForward, geluBackward, x, false) }

// Sigmoid is 1 / (1 + e^-x).
func Sigmoid(x *Tensor) *Tensor { return activate("sigmoid", sigmoidForward, sigmoidBackward, x, true) }

// activate appends an activation; its gradient is computed from the output where savesOutput, else from the input.
func activate(name string, forward, backward *tensor.Kernel, x *Tensor, savesOutput bool) *Tensor {
	g := x.Graph()
	p := &activationParams{uint32(x.Elements())}
	y := g.New(name, x.Shape(), x)
	g.Dispatch(forward, p, x, y)
	saved := x
	if savesOutput {
		saved = y
	}
	g.OnBackward(y, func() { g.Dispatch(backward, p, saved, y.Gradient(), x.Gradient()) })
	return y
}
