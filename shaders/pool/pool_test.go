package pool_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/pool"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

func TestPools(t *testing.T) {
	for name, f := range map[string]func(x *tensor.Tensor, kh, kw int, win conv.Window) *tensor.Tensor{"max": pool.Max, "average": pool.Average} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				shape  []int
				kh, kw int
				win    conv.Window
			}{
				{[]int{1, 1, 1, 1}, 1, 1, conv.Square(1, 0)}, {[]int{2, 16, 16, 8}, 3, 3, conv.Square(2, 1)}, {[]int{2, 9, 7, 3}, 3, 3, conv.Square(2, 1)},
				{[]int{1, 8, 8, 20}, 4, 4, conv.Square(4, 0)}, {[]int{2, 9, 10, 3}, 2, 4, conv.Square(3, 0)}, // gaps, and pixels past the last window
				{[]int{1, 6, 11, 2}, 3, 5, conv.Window{StrideY: 1, StrideX: 2, Top: 0, Left: 4, Bottom: 2, Right: 1}},
			} {
				shadertest.Check(t, shadertest.Operator{
					Inputs: [][]int{c.shape},
					Build:  func(x []*tensor.Tensor) *tensor.Tensor { return f(x[0], c.kh, c.kw, c.win) },
					Half:   shadertest.Rounded, Mixed: shadertest.Rounded,
				})
				if name == "max" {
					shadertest.Check(t, shadertest.Operator{ // ties go to the first; finite differences mean nothing there
						Inputs: [][]int{c.shape},
						Build:  func(x []*tensor.Tensor) *tensor.Tensor { return f(x[0], c.kh, c.kw, c.win) },
						Fill:   func(_, _ int, r *rand.Rand) float64 { return math.Round(r.NormFloat64()) },
						Rough:  true,
					})
				}
			}
		})
	}
}

// A NaN anywhere in a window is its maximum: a broken image must not look whole.
func TestMaxPoolPassesNaN(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		ctx := context.Background()
		g := tensor.NewGraph()
		x := g.Input("x", 1, 1, 6, 1)
		y := pool.Max(x, 1, 2, conv.Window{StrideY: 1, StrideX: 2}).Keep()
		plan, err := shaders.Compile(ctx, d, tensor.NewSet(), g)
		require.NoError(t, err)
		defer plan.Release()
		nan := float32(math.NaN())
		require.NoError(t, plan.Write(x, []float32{nan, 1, 1, nan, 1, 2}))
		require.NoError(t, plan.Run(ctx))
		got, err := plan.Read(ctx, y)
		require.NoError(t, err)
		require.True(t, got[0][0] != got[0][0], "NaN first: %v", got[0])
		require.True(t, got[0][1] != got[0][1], "NaN last: %v", got[0])
		require.Equal(t, float32(2), got[0][2])
	})
}
