package conv_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// int8Shapes are convolutions of int8.
var int8Shapes = map[string]struct {
	x, weight  []int
	win        conv.Window
	transposed bool
}{
	"3x3":                  {[]int{2, 8, 8, 32}, []int{3, 3, 32, 32}, conv.Square(1, 1), false},
	"3x3 odd sides":        {[]int{1, 5, 7, 12}, []int{3, 3, 12, 20}, conv.Square(1, 1), false},
	"3x3 wide, long sums":  {[]int{1, 4, 4, 128}, []int{3, 3, 128, 72}, conv.Square(1, 1), false}, // beyond 2^24
	"3x3 stride 2":         {[]int{1, 9, 7, 16}, []int{3, 3, 16, 40}, conv.Square(2, 1), false},
	"1x1 stride 2":         {[]int{2, 6, 6, 16}, []int{1, 1, 16, 32}, conv.Square(2, 0), false},
	"1x1":                  {[]int{1, 5, 7, 20}, []int{1, 1, 20, 96}, conv.Square(1, 0), false},
	"1x1, few outputs":     {[]int{3, 5, 1, 4}, []int{1, 1, 4, 4}, conv.Square(1, 0), false},
	"stem":                 {[]int{1, 17, 15, 3}, []int{7, 7, 3, 32}, conv.Square(2, 3), false},
	"rater stem":           {[]int{1, 16, 16, 2}, []int{8, 8, 2, 24}, conv.Square(2, 3), false},
	"6 inputs":             {[]int{2, 3, 3, 6}, []int{3, 3, 6, 8}, conv.Square(1, 1), false},
	"transposed":           {[]int{1, 3, 5, 8}, []int{2, 2, 8, 36}, conv.Window{}, true},
	"transposed, wide":     {[]int{1, 3, 3, 516}, []int{2, 2, 516, 20}, conv.Window{}, true},
	"transposed, one word": {[]int{2, 1, 2, 4}, []int{2, 2, 4, 4}, conv.Window{}, true},
}

// int8Chains are operators that follow a convolution and that its dispatch computes. rows (2, C)
// are the scale and shift of a batch norm at inference. other and more have the shape of the
// result. q is other in int8.
var int8Chains = map[string]func(y, rows, other, more *tensor.Tensor, q pointwise.Quantized) *tensor.Tensor{
	"nothing": func(y, _, _, _ *tensor.Tensor, _ pointwise.Quantized) *tensor.Tensor { return y },
	"relu":    func(y, _, _, _ *tensor.Tensor, _ pointwise.Quantized) *tensor.Tensor { return pointwise.ReLU(y) },
	"norm, sum with int8, relu": func(y, rows, other, _ *tensor.Tensor, q pointwise.Quantized) *tensor.Tensor {
		q.Q.Keep()
		return pointwise.ReLU(pointwise.Add(scaledAndShifted(y, rows, false), other))
	},
	"norm, sum, relu": func(y, rows, other, _ *tensor.Tensor, _ pointwise.Quantized) *tensor.Tensor {
		return pointwise.ReLU(pointwise.Add(scaledAndShifted(y, rows, false), other))
	},
	"sum, norm with relu, sum": func(y, rows, other, more *tensor.Tensor, _ pointwise.Quantized) *tensor.Tensor {
		return pointwise.Add(more, scaledAndShifted(pointwise.Add(y, other), rows, true))
	},
}

// int8Biased says whether the convolution before a chain has a bias. One with a bias does not take
// over a norm.
func int8Biased(chain string) bool { return !strings.Contains(chain, "norm") }

// scaledAndShifted is the second half of a batch norm, after its scale and shift are known.
func scaledAndShifted(x, rows *tensor.Tensor, relu bool) *tensor.Tensor {
	p := norm.BatchNormParams{Rows: uint32(x.Elements() / x.Dim(-1)), Channels: uint32(x.Dim(-1))}
	if relu {
		p.Relu = 1
	}
	return x.Graph().Apply(norm.ScaleShiftKind, p, x.Shape(), x, rows)
}

// int8Values are whole numbers up to 127, times a power of two. Each output has a 127: its step is
// then this power.
func int8Values(r *rand.Rand, n, outputs int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(r.IntN(255)-127) / 1024
		if i < outputs {
			values[i] = 127. / 1024
		}
	}
	return values
}

// runInt8 computes one convolution and what follows, back in floats: steps of 1/8, which floats
// hold exactly. apart is the same in floats.
func runInt8(t *testing.T, d gpu.Device, shape string, chain func(y, rows, other, more *tensor.Tensor, q pointwise.Quantized) *tensor.Tensor, biased, apart, rounded bool) (
	result []float32, dispatches int) {
	t.Helper()
	const step, resultStep, otherStep = 0.0173, 1. / 8, 0.031
	s := int8Shapes[shape]
	g := tensor.NewGraph()
	x, w, bias := g.Input("x", s.x...), g.Input("w", s.weight...), g.Input("bias", s.weight[len(s.weight)-1])
	r := rand.New(rand.NewPCG(7, uint64(len(shape))))
	values := map[*tensor.Tensor][]float32{w: int8Values(r, w.Elements(), bias.Elements())}
	normal := func(x *tensor.Tensor, deviation, mean float64) *tensor.Tensor {
		values[x] = make([]float32, x.Elements())
		for i := range values[x] {
			values[x][i] = float32(mean + deviation*r.NormFloat64())
		}
		return x
	}
	normal(x, 1, 0.3) // some beyond 127 steps
	for i, v := range values[x] {
		if apart || !rounded {
			values[x][i] = float32(pointwise.WholeSteps(v/step)) * step
		}
	}
	normal(bias, 1, 0)
	given := bias
	if !biased {
		given = nil
	}
	q := pointwise.Quantize(x, step)
	var y *tensor.Tensor
	switch {
	case apart && s.transposed:
		y = conv.ConvTranspose2x2(x, w, given)
	case apart:
		y = conv.Conv2D(x, w, given, s.win)
	case s.transposed:
		y = conv.ConvTranspose2x2Int8(q, w, given)
	default:
		y = conv.Conv2DInt8(q, w, given, s.win)
	}
	rows := normal(g.Input("rows", 2, bias.Elements()), 0.3, 1)
	other, more := normal(g.Input("other", y.Shape()...), 2, 0), normal(g.Input("more", y.Shape()...), 2, 0)
	y = chain(y, rows, other, more, pointwise.Quantize(other, otherStep))
	if rounded {
		one := normal(g.Input("step", y.Dim(-1)), 0, resultStep)
		y = pointwise.Dequantize(pointwise.Quantize(y, resultStep).Q, one)
	}
	y.Keep()
	set := tensor.NewSet()
	plan, err := shaders.Compile(t.Context(), d, set, g)
	require.NoError(t, err)
	defer plan.Release()
	for x, v := range values {
		require.NoError(t, plan.Write(x, v))
	}
	require.NoError(t, plan.Run(t.Context()))
	out, err := plan.Read(t.Context(), y)
	require.NoError(t, err)
	return out[0], plan.Dispatches()
}

// Every device gives the same int8 as the reference, which computes in whole numbers, whatever
// follows the convolution. All of that is one dispatch.
func TestInt8ConvolutionIsExact(t *testing.T) {
	ref := reference.Open()
	defer ref.Close()
	for name, chain := range int8Chains {
		for shape := range int8Shapes {
			if name != "relu" && shape != "3x3 odd sides" && shape != "transposed" { // "relu" has every shape, the others have two
				continue
			}
			biased := int8Biased(name)
			want, dispatches := runInt8(t, ref, shape, chain, biased, false, true)
			preparing := 4 // dispatches for x, the weight's scale, the weight, and back to floats
			if name == "norm, sum with int8, relu" {
				preparing++
			}
			require.Equal(t, preparing+1, dispatches, "%s, %s", shape, name)
			shadertest.EachVariant(t, func(device string, d gpu.Device) {
				got, _ := runInt8(t, d, shape, chain, biased, false, true)
				require.Equal(t, want, got, "%s: %s, %s", device, shape, name)
			})
		}
	}
}

// A result in floats is the convolution of the rounded floats, with whatever may follow.
func TestInt8ConvolutionInFloats(t *testing.T) {
	ref := reference.Open()
	defer ref.Close()
	for name, chain := range int8Chains {
		if name == "norm, sum with int8, relu" { // its sum differs from that of floats
			continue
		}
		for k, activation := range []func(*tensor.Tensor) *tensor.Tensor{func(x *tensor.Tensor) *tensor.Tensor { return x }, pointwise.GELU, pointwise.Sigmoid, pointwise.ReLU6} {
			if k > 0 && name != "nothing" { // a convolution takes over one activation
				continue
			}
			then := func(y, rows, other, more *tensor.Tensor, q pointwise.Quantized) *tensor.Tensor {
				return activation(chain(y, rows, other, more, q))
			}
			for _, shape := range []string{"3x3 wide, long sums", "stem"} {
				biased := int8Biased(name)
				want, _ := runInt8(t, ref, shape, then, biased, true, false)
				largest := 1.0
				for _, v := range want {
					largest = max(largest, math.Abs(float64(v)))
				}
				shadertest.EachVariant(t, func(device string, d gpu.Device) {
					got, _ := runInt8(t, d, shape, then, biased, false, false)
					// the sum is exact, or loses its last bit, 1.7e-5, where it may be beyond 2^24;
					// x, the factors and each term are rounded
					require.InDeltaSlice(t, want, got, 2e-5*largest, "%s: %s, %s", device, shape, name)
				})
			}
		}
	}
}

func TestQuantizeRefuses(t *testing.T) {
	g := tensor.NewGraph()
	require.Panics(t, func() { pointwise.Quantize(g.Input("x", 3, 8), 0) })
	q := pointwise.Quantize(g.Input("x", 1, 2, 2, 6), 1)
	require.Panics(t, func() { conv.Conv2DInt8(q, g.Input("w", 1, 1, 6, 6), nil, conv.Square(1, 0)) })
	require.Panics(t, func() { conv.Conv2DInt8(q, g.Input("w", 1, 1, 8, 8), nil, conv.Square(1, 0)) })
}
