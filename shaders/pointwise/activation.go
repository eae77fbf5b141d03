package pointwise

import (
	_ "embed"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed activation.wgsl
var activationFile string

type activationParams struct{ N uint32 }

func activationCount(p *activationParams) uint32 { return p.N }

// scalar is a function of one number in one precision. add adds to the gradient of x; saved is x,
// or y if the kind saves the output.
type scalar[F gpu.Float] struct {
	apply func(y, x []F)
	add   func(dx, dy, saved []F)
}

// activationKind is the kind of a scalar function: its bodies and, in a file, the kernels
// ENTRY_forward and ENTRY_backward. Its gradient takes the output if savesOutput, otherwise the
// input.
func activationKind(name, entry, file string, exact scalar[float64], fast scalar[float32], savesOutput bool) *tensor.Kind {
	forward := kernels.InPieces(activationCount, applied(exact.apply), applied(fast.apply),
		kernels.Flat(entry+"_forward", file, unary, activationCount, nil))
	backward := kernels.InPieces(activationCount, added(exact.add), added(fast.add),
		kernels.Flat(entry+"_backward", file, binary, activationCount, nil))
	return kernels.Operator(name, forward, func(op *tensor.Op) {
		x, y := op.Inputs[0], op.Output()
		saved := x
		if savesOutput {
			saved = y
		}
		op.Dispatch(backward, op.Attributes, saved, y.Gradient(), x.Gradient())
	})
}

func applied[F gpu.Float](apply func(y, x []F)) func(p *activationParams, a []gpu.ArrayOf[F], from, to int) {
	return func(_ *activationParams, a []gpu.ArrayOf[F], from, to int) { apply(a[1].F[from:to], a[0].F[from:to]) }
}

func added[F gpu.Float](add func(dx, dy, saved []F)) func(p *activationParams, a []gpu.ArrayOf[F], from, to int) {
	return func(_ *activationParams, a []gpu.ArrayOf[F], from, to int) {
		add(a[2].F[from:to], a[1].F[from:to], a[0].F[from:to])
	}
}

// each applies f to every number.
func each(f func(x float64) float64) func(y, x []float64) {
	return func(y, x []float64) {
		for i, v := range x {
			y[i] = f(v)
		}
	}
}

// inPlace copies x and applies f to the copy.
func inPlace(f func(values []float32)) func(y, x []float32) {
	return func(y, x []float32) {
		copy(y, x)
		f(y)
	}
}

var (
	ReLUKind = activationKind("ReLU", "relu", activationFile,
		scalar[float64]{each(relu), addReLUGradient[float64]}, scalar[float32]{inPlace(vector.ReLU), addReLUGradient[float32]}, false)
	GELUKind = activationKind("GELU", "gelu", activationFile,
		scalar[float64]{each(gelu), addGELUGradient}, scalar[float32]{inPlace(vector.GELU), vector.AddGELUGradient}, false)
	ReLU6Kind = activationKind("ReLU6", "relu6", activationFile,
		scalar[float64]{each(relu6), addReLU6Gradient[float64]}, scalar[float32]{inPlace(vector.ReLU6), addReLU6Gradient[float32]}, false)
	SigmoidKind = activationKind("Sigmoid", "sigmoid", activationFile,
		scalar[float64]{each(Logistic), addSigmoidGradient[float64]}, scalar[float32]{inPlace(vector.Sigmoid), addSigmoidGradient[float32]}, true)
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

func addReLU6Gradient[F gpu.Float](dx, dy, x []F) {
	for i, v := range x {
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
func ReLU(x *tensor.Tensor) *tensor.Tensor { return activate(ReLUKind, x) }

// ReLU6 is min(max(x, 0), 6), MobileNet's (Sandler et al. 2018). Its gradient is 0 at 0 and at 6.
func ReLU6(x *tensor.Tensor) *tensor.Tensor { return activate(ReLU6Kind, x) }

// GELU is x Φ(x) with the exact normal distribution Φ.
func GELU(x *tensor.Tensor) *tensor.Tensor { return activate(GELUKind, x) }

// Sigmoid is 1 / (1 + e^-x).
func Sigmoid(x *tensor.Tensor) *tensor.Tensor { return activate(SigmoidKind, x) }

func activate(k *tensor.Kind, x *tensor.Tensor) *tensor.Tensor {
	return x.Graph().Apply(k, &activationParams{uint32(x.Elements())}, x.Shape(), x)
}

// activations lists those that convolutions compute too. Their numbers begin at 1.
var activations = []struct {
	kind *tensor.Kind
	f    func(x float64) float64
	fast func(values []float32)
}{{ReLUKind, relu, vector.ReLU}, {GELUKind, gelu, vector.GELU}, {SigmoidKind, Logistic, vector.Sigmoid}, {ReLU6Kind, relu6, vector.ReLU6}}

// Activation is the number of a kind of operator; 0: it is no activation.
func Activation(k *tensor.Kind) uint32 {
	for i, a := range activations {
		if a.kind == k {
			return uint32(i + 1)
		}
	}
	return 0
}

// Activated is v after the activation of a number; 0: v itself.
func Activated(activation uint32, v float64) float64 {
	if activation == 0 {
		return v
	}
	return activations[activation-1].f(v)
}

// ActivateAll replaces every value by itself after an activation, which is not 0.
func ActivateAll(activation uint32, values []float32) { activations[activation-1].fast(values) }
