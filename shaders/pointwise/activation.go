package pointwise

import (
	_ "embed"
	"math"
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed activation.wgsl
var activationFile string

type activationParams struct{ N uint32 }

func activationCount(p *activationParams) uint32 { return p.N }

// Scalars are the kinds of all functions of one number.
var Scalars []*tensor.Kind

// adding adds the gradient to dx. saved is x, or y if the kind saves the output.
type adding[F gpu.Float] = func(dx, dy, saved []F)

// activationKind is the kind of an operator that applies facts.Scalar. Its gradient is the kernel
// ENTRY_backward of a file. The kernel takes the output if savesOutput, otherwise the input.
func activationKind(facts tensor.Kind, entry, file string, exact adding[float64], fast adding[float32], savesOutput bool) *tensor.Kind {
	f := facts.Scalar
	facts.Images, facts.Repeat = 1, kernels.Repeat(func(p *activationParams, n uint32) { p.N *= n })
	forward := kernels.InPieces(activationCount, func(_ *activationParams, a []gpu.Array, from, to int) {
		for i, v := range a[0].F[from:to] {
			a[1].F[from+i] = f.Exact(v)
		}
	}, func(_ *activationParams, a []gpu.ArrayOf[float32], from, to int) {
		copy(a[1].F[from:to], a[0].F[from:to])
		f.Fast(a[1].F[from:to])
	}, activationKernel(f, entry+"_forward", activationFile, unary))
	forward.Variants[0].Entry = "activation_forward"
	backward := kernels.Adding(kernels.InPieces(activationCount, added(exact), added(fast), activationKernel(f, entry+"_backward", file, binary)))
	k := kernels.Operator(facts, forward, func(op *tensor.Op) {
		x, y := op.Inputs[0], op.Output()
		saved := x
		if savesOutput {
			saved = y
		}
		op.Dispatch(backward, op.Attributes, saved, y.Gradient(), x.Gradient())
	})
	Scalars = append(Scalars, k)
	return k
}

// activationKernel is a kernel in a file that may call activated.
func activationKernel(f *tensor.Scalar, name, file string, arguments []gpu.Access) *tensor.Kernel {
	k := kernels.Flat(name, file, arguments, activationCount, nil)
	widths := k.Variants[0].Header
	k.Variants[0].Header = func(params any) string { return widths(params) + activatedWGSL(f) }
	return k
}

func added[F gpu.Float](add func(dx, dy, saved []F)) func(p *activationParams, a []gpu.ArrayOf[F], from, to int) {
	return func(_ *activationParams, a []gpu.ArrayOf[F], from, to int) {
		add(a[2].F[from:to], a[1].F[from:to], a[0].F[from:to])
	}
}

var (
	ReLUKind = activationKind(tensor.Kind{Name: "ReLU", Halves: tensor.HalvesFollow, ONNX: "Relu", Scalar: &tensor.Scalar{
		Exact: relu, Fast: vector.ReLU,
		WGSL: "return select(v, floats(), v <= floats());", // max() would drop a NaN
	}}, "relu", activationFile, vector.AddReLUGradient[float64], vector.AddReLUGradient[float32], true)
	GELUKind = activationKind(tensor.Kind{Name: "GELU", Halves: tensor.HalvesFollow, Scalar: &tensor.Scalar{
		Exact: gelu, Fast: vector.GELU,
		// erf by Abramowitz & Stegun 7.1.26, whose absolute error is below 1.5e-7
		WGSL: `let a = abs(v) * 0.70710678;
  let t = 1.0 / (1.0 + 0.3275911 * a);
  let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return v * 0.5 * (1.0 + sign(v) * (1.0 - poly * exp(-a * a)));`,
	}}, "gelu", activationFile, addGELUGradient, vector.AddGELUGradient, false)
	ReLU6Kind = activationKind(tensor.Kind{Name: "ReLU6", Halves: tensor.HalvesFollow, Scalar: &tensor.Scalar{
		Exact: relu6, Fast: vector.ReLU6,
		WGSL: "return select(select(v, floats(), v <= floats()), floats(6.0), v >= floats(6.0));",
	}}, "relu6", activationFile, addReLU6Gradient[float64], addReLU6Gradient[float32], true)
	SigmoidKind = activationKind(tensor.Kind{Name: "Sigmoid", ONNX: "Sigmoid", Scalar: &tensor.Scalar{
		Exact: Logistic, Fast: vector.Sigmoid, WGSL: "return 1.0 / (1.0 + exp(-v));",
	}}, "sigmoid", activationFile, addSigmoidGradient[float64], addSigmoidGradient[float32], true)
)

func addReLU6Gradient[F gpu.Float](dx, dy, y []F) {
	for i, v := range y {
		if v > 0 && v < 6 {
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
func relu6(x float64) float64    { return min(max(x, 0), 6) }
func gelu(x float64) float64     { return x * normalCDF(x) }
func Logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func normalCDF(x float64) float64 { return (1 + math.Erf(x/math.Sqrt2)) / 2 }

// ReLU is max(x, 0).
func ReLU(x *tensor.Tensor) *tensor.Tensor { return Apply(ReLUKind, x) }

// ReLU6 is min(max(x, 0), 6), MobileNet's (Sandler et al. 2018). Its gradient is 0 at 0 and at 6.
func ReLU6(x *tensor.Tensor) *tensor.Tensor { return Apply(ReLU6Kind, x) }

// GELU is x Φ(x) with the exact normal distribution Φ.
func GELU(x *tensor.Tensor) *tensor.Tensor { return Apply(GELUKind, x) }

// Sigmoid is 1 / (1 + e^-x).
func Sigmoid(x *tensor.Tensor) *tensor.Tensor { return Apply(SigmoidKind, x) }

// Apply applies the function of a kind in Scalars to x.
func Apply(k *tensor.Kind, x *tensor.Tensor) *tensor.Tensor {
	return x.Graph().Apply(k, &activationParams{uint32(x.Elements())}, x.Shape(), x)
}

// Activation is the number of a kind of Scalars, which convolutions compute too; 0: it is none.
func Activation(k *tensor.Kind) uint32 { return uint32(slices.Index(Scalars, k) + 1) }

// Activated is v after the activation with this number. Number 0 is v itself.
func Activated(activation uint32, v float64) float64 {
	if activation == 0 {
		return v
	}
	return Scalars[activation-1].Scalar.Exact(v)
}

// ActivateAll applies the activation with this number, which is not 0, to every value.
func ActivateAll(activation uint32, values []float32) { Scalars[activation-1].Scalar.Fast(values) }

// ActivatedWGSL declares the function activated of floats, the activation with this number.
func ActivatedWGSL(activation uint32) string {
	if activation == 0 {
		return activatedWGSL(&tensor.Scalar{WGSL: "return v;"})
	}
	return activatedWGSL(Scalars[activation-1].Scalar)
}

func activatedWGSL(f *tensor.Scalar) string {
	return "fn activated(v: floats) -> floats {\n  " + f.WGSL + "\n}\n"
}
