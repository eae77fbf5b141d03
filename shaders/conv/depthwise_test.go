package conv_test

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// Channels in quads have kernels of their own, and tiles on GPUs if workgroup memory has room for
// what a tile sees.
func TestDepthwiseConv2DInQuads(t *testing.T) {
	for name, c := range map[string]struct {
		x, weight []int
		win       conv.Window
	}{
		"part of a tile": {[]int{2, 9, 11, 12}, []int{5, 5, 12}, conv.Square(2, 2)},
		"one quad":       {[]int{1, 19, 6, 4}, []int{3, 3, 4}, conv.Square(1, 1)},
		"unlike sides":   {[]int{1, 7, 9, 8}, []int{2, 3, 8}, conv.Window{StrideY: 2, StrideX: 3, Top: 1, Left: 0, Bottom: 0, Right: 2}},
		"sees too much":  {[]int{1, 21, 33, 8}, []int{9, 9, 8}, conv.Square(3, 4)},
		"parts":          {[]int{2, 33, 17, 8}, []int{3, 3, 8}, conv.Square(1, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{c.x, c.weight, c.weight[2:]},
				Build:  func(x []*tensor.Tensor) *tensor.Tensor { return conv.DepthwiseConv2D(x[0], x[1], x[2], c.win) },
				Half:   shadertest.Rounded, Mixed: shadertest.Rounded, Params: []int{1, 2},
			})
		})
	}
}

// One dispatch computes a depthwise convolution and the activation after it, as two do, on every
// device.
func TestDepthwiseAbsorbsActivation(t *testing.T) {
	for _, channels := range []int{6, 8} {
		run := func(d gpu.Device, apart bool) (result []float32, dispatches int) {
			r, g, set := rand.New(rand.NewPCG(3, 4)), tensor.NewGraph(), tensor.NewSet()
			values := map[*tensor.Tensor][]float32{}
			input := func(shape ...int) *tensor.Tensor {
				x := g.Input("x", shape...)
				for range x.Elements() {
					values[x] = append(values[x], float32(2*r.NormFloat64())) // some results are beyond 6
				}
				return x
			}
			y := conv.DepthwiseConv2D(input(1, 10, 8, channels), input(3, 3, channels), input(channels), conv.Same(3, 2))
			require.Equal(t, []int{1, 5, 4, channels}, y.Shape())
			if apart {
				y.Keep()
			}
			y = pointwise.ReLU6(y).Keep()
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
		want, dispatches := run(reference.Open(), true)
		require.Equal(t, 2, dispatches)
		require.Contains(t, want, float32(0))
		require.Contains(t, want, float32(6))
		shadertest.EachVariant(t, func(device string, d gpu.Device) {
			got, dispatches := run(d, false)
			require.Equal(t, 1, dispatches, device)
			require.InDeltaSlice(t, want, got, 1e-5, "%s, %d channels", device, channels)
		})
	}
}
