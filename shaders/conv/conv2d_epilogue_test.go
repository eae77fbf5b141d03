package conv_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// TestConvolutionAbsorbs compares chains of operators in one dispatch with the same chains in one
// dispatch an operator, on every device. Keeping all intermediate results prevents fusion.
func TestConvolutionAbsorbs(t *testing.T) {
	type parts struct {
		c, other *tensor.Tensor // the convolution's result, and another tensor of its shape
		norm     func(x *tensor.Tensor, relu bool) *tensor.Tensor
		each     func(x *tensor.Tensor) *tensor.Tensor // what happens to results between operators
	}
	type chain struct {
		name     string
		channels int // of the result
		build    func(p parts) *tensor.Tensor
	}
	chains := []chain{
		{"relu", 36, func(p parts) *tensor.Tensor { return pointwise.ReLU(p.each(p.c)) }},
		{"relu6", 36, func(p parts) *tensor.Tensor { return pointwise.ReLU6(p.each(p.c)) }},
		{"relu6, sum", 12, func(p parts) *tensor.Tensor { return pointwise.Add(p.other, p.each(pointwise.ReLU6(p.each(p.c)))) }},
		{"gelu", 33, func(p parts) *tensor.Tensor { return pointwise.GELU(p.each(p.c)) }},
		{"sigmoid", 2, func(p parts) *tensor.Tensor { return pointwise.Sigmoid(p.each(p.c)) }},
		{"sum", 12, func(p parts) *tensor.Tensor { return pointwise.Add(p.other, p.each(p.c)) }},
		{"sum, sum", 12, func(p parts) *tensor.Tensor {
			return pointwise.Add(p.other, p.each(pointwise.Add(p.each(p.c), p.other)))
		}},
		{"table, gelu", 40, func(p parts) *tensor.Tensor {
			return pointwise.GELU(p.each(pointwise.AddBroadcast(p.each(p.c), p.other)))
		}},
		{"norm", 32, func(p parts) *tensor.Tensor { return p.norm(p.each(p.c), false) }},
		{"norm with relu", 36, func(p parts) *tensor.Tensor { return p.norm(p.each(p.c), true) }},
		{"norm, sum, relu", 64, func(p parts) *tensor.Tensor {
			return pointwise.ReLU(p.each(pointwise.Add(p.each(p.norm(p.each(p.c), false)), p.other)))
		}},
		{"sum, norm with relu, sum", 36, func(p parts) *tensor.Tensor {
			return pointwise.Add(p.other, p.each(p.norm(p.each(pointwise.Add(p.each(p.c), p.other)), true)))
		}},
	}
	convolutions := []struct {
		name     string
		biased   bool // a convolution with a bias does not take over a norm
		apply    func(x, w, bias *tensor.Tensor) *tensor.Tensor
		weight   func(in, out int) []int
		enlarges int
	}{
		{"3×3", false, func(x, w, _ *tensor.Tensor) *tensor.Tensor { return conv.Conv2D(x, w, nil, conv.Square(1, 1)) }, func(in, out int) []int { return []int{3, 3, in, out} }, 1},
		{"1×1 with bias", true, func(x, w, b *tensor.Tensor) *tensor.Tensor { return conv.Linear(x, w, b) }, func(in, out int) []int { return []int{in, out} }, 1},
		{"transposed", true, conv.ConvTranspose2x2, func(in, out int) []int { return []int{2, 2, in, out} }, 2},
	}
	const height, width, inputs = 5, 7, 6
	run := func(d gpu.Device, floats gpu.ElementType, k int, c chain, apart bool) (result []float32, dispatches int) {
		conv := convolutions[k]
		r := rand.New(rand.NewPCG(5, uint64(k)))
		draw := func(n int) []float32 {
			out := make([]float32, n)
			for i := range out {
				out[i] = float32(r.NormFloat64())
			}
			return out
		}
		g, set := tensor.NewGraphOf(floats), tensor.NewSet()
		require.NoError(t, set.Store(floats))
		values := map[*tensor.Tensor][]float32{}
		input := func(shape ...int) *tensor.Tensor {
			x := g.Input("x", shape...)
			values[x] = draw(x.Elements())
			return x
		}
		var learned []*tensor.Variable
		var held [][]float32
		parameter := func(name string, shift float32, shape ...int) *tensor.Tensor {
			v := set.Variable(tensor.Parameter, name, shape...)
			x := draw(v.Elements())
			for i := range x {
				x[i] = shift + 0.3*x[i]
			}
			learned, held = append(learned, v), append(held, x)
			return g.Variable(v)
		}
		each := func(x *tensor.Tensor) *tensor.Tensor { return x }
		if apart {
			each = (*tensor.Tensor).Keep
		}
		norm := func(x *tensor.Tensor, relu bool) *tensor.Tensor {
			f := norm.BatchNorm
			if relu {
				f = shadertest.BatchNormReLU
			}
			return f(x, parameter("scale", 1, c.channels), parameter("bias", 0, c.channels), parameter("mean", 0, c.channels),
				parameter("variance", 2, c.channels), false, 1e-5, 0.1)
		}
		x := input(1, height, width, inputs)
		y := conv.apply(x, parameter("w", 0, conv.weight(inputs, c.channels)...), parameter("b", 0, c.channels))
		other := input(1, height*conv.enlarges, width*conv.enlarges, c.channels)
		y = c.build(parts{y, other, norm, each}).Keep()
		plan, err := shaders.Compile(t.Context(), d, set, g)
		require.NoError(t, err)
		defer plan.Release()
		defer set.Release()
		for i, v := range learned {
			require.NoError(t, set.Write(v, held[i]))
		}
		for x, v := range values {
			require.NoError(t, plan.Write(x, v))
		}
		require.NoError(t, plan.Run(t.Context()))
		out, err := plan.Read(t.Context(), y)
		require.NoError(t, err)
		return out[0], plan.Dispatches()
	}
	for k, conv := range convolutions {
		for i, c := range chains {
			if k > 0 && i%3 != k { // the first convolution has all chains, the others have some
				continue
			}
			for floats, tolerance := range map[gpu.ElementType]float64{
				gpu.F32: 2e-5, // the same sums of up to 54 products, scaled in another order
				gpu.F16: 0.05, // results between are about 10 and rounded in steps of 2^-7, up to four times
			} {
				shadertest.EachVariant(t, func(device string, d gpu.Device) {
					if !shadertest.CanStore(d, floats) {
						return
					}
					what := fmt.Sprint(device, ", ", floats, ", ", conv.name, ", ", c.name)
					want, _ := run(shadertest.Preferring(d), floats, k, c, true)
					got, one := run(d, floats, k, c, false)
					if conv.biased && strings.Contains(c.name, "norm") {
						require.Greater(t, one, 1, "%s: a bias is not scaled: batch norm stays, and what follows it", what)
					} else {
						require.Equal(t, 1, one, what)
					}
					require.InDeltaSlice(t, want, got, tolerance, what)
				})
			}
		}
	}
}

// A convolution absorbs the sum with a table, which all images share.
func TestConvolutionAbsorbsTable(t *testing.T) {
	for _, outputs := range []int{2, 36} {
		for _, batch := range []int{1, 3} {
			shadertest.EachVariant(t, func(device string, d gpu.Device) {
				g := tensor.NewGraph()
				x, w, table := g.Input("x", batch, 5, 7, 3), g.Input("w", 3, 3, 3, outputs), g.Input("table", 1, 5, 7, outputs)
				y := pointwise.AddBroadcast(conv.Conv2D(x, w, nil, conv.Square(1, 1)), table).Keep()
				plan, err := shaders.Compile(t.Context(), d, tensor.NewSet(), g)
				require.NoError(t, err)
				defer plan.Release()
				require.Equal(t, 1, plan.Dispatches())
				values := make([]float32, table.Elements())
				for i := range values {
					values[i] = float32(i)
				}
				require.NoError(t, plan.Write(table, values)) // the other inputs are zeros
				require.NoError(t, plan.Run(t.Context()))
				got, err := plan.Read(t.Context(), y)
				require.NoError(t, err)
				require.Equal(t, slices.Repeat(values, batch), got[0], device)
			})
		}
	}
}

// A convolution does not absorb an operator on channels if a Reshape between the two changes which
// values are channels.
func TestReshapedConvolutions(t *testing.T) {
	some := func(g *tensor.Graph, shape ...int) *tensor.Tensor {
		random, n := rand.New(rand.NewPCG(1, uint64(len(shape)))), 1
		for _, extent := range shape {
			n *= extent
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = 1 + random.Float32()
		}
		return g.Constant("some", values, shape...)
	}
	for name, build := range map[string]func(g *tensor.Graph, each func(*tensor.Tensor) *tensor.Tensor) []*tensor.Tensor{
		"split": func(g *tensor.Graph, each func(*tensor.Tensor) *tensor.Tensor) []*tensor.Tensor {
			a, b := pointwise.Split(each(conv.Linear(some(g, 3, 4), some(g, 4, 8), nil)).Reshape(6, 4), 2)
			return []*tensor.Tensor{a, b}
		},
		"layer norm": func(g *tensor.Graph, each func(*tensor.Tensor) *tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{norm.LayerNorm(each(conv.Linear(some(g, 3, 4), some(g, 4, 64), nil)).Reshape(6, 32), some(g, 32), some(g, 32), 1e-5)}
		},
		"batch norm": func(g *tensor.Graph, each func(*tensor.Tensor) *tensor.Tensor) []*tensor.Tensor {
			x := each(conv.Linear(some(g, 3, 4), some(g, 4, 64), nil)).Reshape(1, 2, 3, 32)
			return []*tensor.Tensor{norm.BatchNorm(x, some(g, 32), some(g, 32), some(g, 32), some(g, 32), false, 1e-5, 0.1)}
		},
		"int8": func(g *tensor.Graph, each func(*tensor.Tensor) *tensor.Tensor) []*tensor.Tensor {
			y := each(conv.Conv2DInt8(pointwise.Quantize(some(g, 1, 1, 3, 4), 0.01), some(g, 1, 1, 4, 8), nil, conv.Square(1, 0))).Reshape(1, 1, 4, 6)
			return []*tensor.Tensor{conv.Conv2DInt8(pointwise.Quantize(y, 0.1), some(g, 1, 1, 6, 4), nil, conv.Square(1, 0))}
		},
	} {
		run := func(each func(*tensor.Tensor) *tensor.Tensor) (all [][]float32) {
			g := tensor.NewGraph()
			results := build(g, each)
			for _, r := range results {
				r.Keep()
			}
			plan, err := shaders.Compile(t.Context(), reference.Open(), tensor.NewSet(), g)
			require.NoError(t, err)
			defer plan.Release()
			require.NoError(t, plan.Run(t.Context()))
			for _, r := range results {
				values, err := plan.Read(t.Context(), r)
				require.NoError(t, err)
				all = append(all, values[0])
			}
			return all
		}
		want, got := run((*tensor.Tensor).Keep), run(func(x *tensor.Tensor) *tensor.Tensor { return x })
		for i := range want {
			require.InDeltaSlice(t, want[i], got[i], 1e-5, name)
		}
	}
}
