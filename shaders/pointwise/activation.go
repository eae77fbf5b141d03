package pointwise

import (
	_ "embed"
	"math"
	"slices"
	"strings"

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

// scalarKind is the kind of an operator that applies facts.Scalar to each element. Its gradient is
// dx += dy · slope.
func scalarKind(facts tensor.Kind) *tensor.Kind {
	f, name := facts.Scalar, strings.ToLower(facts.Name)
	if f.Fast == nil {
		f.Fast = func(values []float32) {
			for i, v := range values {
				values[i] = float32(f.Value(float64(v)))
			}
		}
	}
	if f.AddGradient == nil {
		f.AddGradient = func(dx, dy, v []float32) { addGradient(f, dx, dy, v) }
	}
	facts.Images, facts.Repeat = 1, kernels.Repeat(func(p *activationParams, n uint32) { p.N *= n })
	forward := kernels.InPieces(activationCount, func(_ *activationParams, a []gpu.Array, from, to int) {
		for i, v := range a[0].F[from:to] {
			a[1].F[from+i] = f.Value(v)
		}
	}, func(_ *activationParams, a []gpu.Array32, from, to int) {
		copy(a[1].F[from:to], a[0].F[from:to])
		f.Fast(a[1].F[from:to])
	}, activationKernel(f, name, "forward", unary))
	backward := kernels.Adding(kernels.InPieces(activationCount, func(_ *activationParams, a []gpu.Array, from, to int) {
		addGradient(f, a[2].F[from:to], a[1].F[from:], a[0].F[from:])
	}, func(_ *activationParams, a []gpu.Array32, from, to int) {
		f.AddGradient(a[2].F[from:to], a[1].F[from:to], a[0].F[from:to])
	}, activationKernel(f, name, "backward", binary)))
	k := kernels.Operator(facts, forward, func(op *tensor.Op) {
		x, y := op.Inputs[0], op.Output()
		v := x
		if f.OfResult {
			v = y
		}
		op.Dispatch(backward, op.Attributes, v, y.Gradient(), x.Gradient())
	})
	backward.SlopeOf = k
	Scalars = append(Scalars, k)
	return k
}

func addGradient[F gpu.Float](f *tensor.Scalar, dx, dy, v []F) {
	for i := range dx {
		dx[i] += dy[i] * F(f.Slope(float64(v[i])))
	}
}

// activationKernel is the kernel NAME_PASS, with a function and its slope in front of the file.
func activationKernel(f *tensor.Scalar, name, pass string, arguments []gpu.Access) *tensor.Kernel {
	k := kernels.Flat(name+"_"+pass, activationFile, arguments, activationCount, nil)
	v := &k.Variants[0]
	widths, functions := v.Header, activatedWGSL(f)
	v.Entry, v.Header = "activation_"+pass, func(params any) string { return widths(params) + functions }
	return k
}

var (
	ReLUKind = scalarKind(tensor.Kind{Name: "ReLU", Halves: tensor.HalvesFollow, ONNX: "Relu", Scalar: &tensor.Scalar{
		Value: func(x float64) float64 { return max(x, 0) },
		Slope: func(y float64) float64 { return one(y > 0) }, OfResult: true,
		WGSL:      "return select(v, floats(), v <= floats());", // max() would drop a NaN
		SlopeWGSL: "return select(floats(), floats(1.0), v > floats());",
		Fast:      vector.ReLU, AddGradient: vector.AddReLUGradient[float32],
	}})
	ReLU6Kind = scalarKind(tensor.Kind{Name: "ReLU6", Halves: tensor.HalvesFollow, Scalar: &tensor.Scalar{
		Value: func(x float64) float64 { return min(max(x, 0), 6) },
		Slope: func(y float64) float64 { return one(y > 0 && y < 6) }, OfResult: true,
		WGSL:      "return select(select(v, floats(), v <= floats()), floats(6.0), v >= floats(6.0));",
		SlopeWGSL: "return select(floats(), floats(1.0), (v > floats()) & (v < floats(6.0)));",
		Fast:      vector.ReLU6, AddGradient: addReLU6Gradient,
	}})
	// GELU is x Φ(x) (Hendrycks & Gimpel 2016, the exact form).
	GELUKind = scalarKind(tensor.Kind{Name: "GELU", Halves: tensor.HalvesFollow, Scalar: &tensor.Scalar{
		Value:     func(x float64) float64 { return x * normalCDF(x) },
		Slope:     func(x float64) float64 { return normalCDF(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi) },
		WGSL:      normalWGSL + "return v * cdf;",
		SlopeWGSL: normalWGSL + "return cdf + v * 0.39894228 * exp(-0.5 * v * v);",
		Fast:      vector.GELU, AddGradient: vector.AddGELUGradient,
	}})
	SigmoidKind = scalarKind(tensor.Kind{Name: "Sigmoid", ONNX: "Sigmoid", Scalar: &tensor.Scalar{
		Value: Logistic,
		Slope: func(y float64) float64 { return y * (1 - y) }, OfResult: true,
		WGSL:      "return 1.0 / (1.0 + exp(-v));",
		SlopeWGSL: "return v * (1.0 - v);",
		Fast:      vector.Sigmoid, AddGradient: addSigmoidGradient,
	}})
	expKind = scalarKind(tensor.Kind{Name: "Exp", ONNX: "Exp", Scalar: &tensor.Scalar{
		Value: math.Exp,
		Slope: func(y float64) float64 { return y }, OfResult: true,
		WGSL:      "return exp(v);",
		SlopeWGSL: "return v;",
	}})
	logKind = scalarKind(tensor.Kind{Name: "Log", ONNX: "Log", Scalar: &tensor.Scalar{
		Value:     math.Log,
		Slope:     func(x float64) float64 { return 1 / x },
		WGSL:      "return log(v);",
		SlopeWGSL: "return 1.0 / v;",
		Fast:      vector.Log[float32],
	}})
	absKind = scalarKind(tensor.Kind{Name: "Abs", Halves: tensor.HalvesFollow, ONNX: "Abs", Scalar: &tensor.Scalar{
		Value:     math.Abs,
		Slope:     func(x float64) float64 { return one(x > 0) - one(x < 0) },
		WGSL:      "return abs(v);",
		SlopeWGSL: "return sign(v);",
	}})
	reciprocalKind = scalarKind(tensor.Kind{Name: "Reciprocal", ONNX: "Reciprocal", Scalar: &tensor.Scalar{
		Value: func(x float64) float64 { return 1 / x },
		Slope: func(y float64) float64 { return -y * y }, OfResult: true,
		WGSL:      "return 1.0 / v;",
		SlopeWGSL: "return -v * v;",
	}})
)

// one is 1 if yes, otherwise 0.
func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func addReLU6Gradient(dx, dy, y []float32) {
	for i, v := range y {
		if v > 0 && v < 6 {
			dx[i] += dy[i]
		}
	}
}

func addSigmoidGradient(dx, dy, y []float32) {
	for i, v := range y {
		dx[i] += dy[i] * v * (1 - v)
	}
}

// Logistic is 1 / (1 + e^-x).
func Logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func normalCDF(x float64) float64 { return (1 + math.Erf(x/math.Sqrt2)) / 2 }

// normalWGSL declares cdf, Φ(v), with erf by Abramowitz & Stegun 7.1.26, whose absolute error is
// below 1.5e-7.
const normalWGSL = `let a = abs(v) * 0.70710678;
  let t = 1.0 / (1.0 + 0.3275911 * a);
  let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  let cdf = 0.5 * (1.0 + sign(v) * (1.0 - poly * exp(-a * a)));
  `

// ReLU is max(x, 0).
func ReLU(x *tensor.Tensor) *tensor.Tensor { return Apply(ReLUKind, x) }

// ReLU6 is min(max(x, 0), 6), MobileNet's (Sandler et al. 2018). Its gradient is 0 at 0 and at 6.
func ReLU6(x *tensor.Tensor) *tensor.Tensor { return Apply(ReLU6Kind, x) }

// GELU is x Φ(x) with the exact normal distribution Φ.
func GELU(x *tensor.Tensor) *tensor.Tensor { return Apply(GELUKind, x) }

// Sigmoid is 1 / (1 + e^-x).
func Sigmoid(x *tensor.Tensor) *tensor.Tensor { return Apply(SigmoidKind, x) }

// Exp is e^x.
func Exp(x *tensor.Tensor) *tensor.Tensor { return Apply(expKind, x) }

// Log is the natural logarithm of x > 0.
func Log(x *tensor.Tensor) *tensor.Tensor { return Apply(logKind, x) }

// Abs is |x|. Its gradient is 0 at 0.
func Abs(x *tensor.Tensor) *tensor.Tensor { return Apply(absKind, x) }

// Reciprocal is 1/x, x ≠ 0.
func Reciprocal(x *tensor.Tensor) *tensor.Tensor { return Apply(reciprocalKind, x) }

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
	return Scalars[activation-1].Scalar.Value(v)
}

// ActivateAll applies the activation with this number, which is not 0, to every value.
func ActivateAll(activation uint32, values []float32) { Scalars[activation-1].Scalar.Fast(values) }

// ActivatedWGSL declares the functions activated and slope of floats, of the activation with this
// number.
func ActivatedWGSL(activation uint32) string {
	if activation == 0 {
		return activatedWGSL(&tensor.Scalar{WGSL: "return v;", SlopeWGSL: "return floats(1.0);"})
	}
	return activatedWGSL(Scalars[activation-1].Scalar)
}

func activatedWGSL(f *tensor.Scalar) string {
	return functionWGSL("activated", f.WGSL) + functionWGSL("slope", f.SlopeWGSL)
}

func functionWGSL(name, statements string) string {
	return "fn " + name + "(v: floats) -> floats {\n  " + statements + "\n}\n"
}
