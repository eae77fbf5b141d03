package pool_test

import (
	"context"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/pool"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

func TestResize(t *testing.T) {
	for _, c := range []struct {
		shape         []int
		height, width int
	}{
		{[]int{1, 1, 1, 1}, 3, 2}, {[]int{2, 8, 8, 8}, 16, 16}, {[]int{1, 4, 4, 2}, 32, 32}, {[]int{2, 5, 7, 3}, 11, 4},
		{[]int{1, 16, 16, 3}, 4, 4}, {[]int{1, 13, 9, 2}, 6, 9}, {[]int{1, 3, 40, 5}, 2, 41}, {[]int{1, 2, 2, 1}, 1, 1},
	} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{c.shape},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pool.Resize(x[0], c.height, c.width) },
			Half:   shadertest.Rounded, Mixed: shadertest.Rounded,
		})
	}
}

// What torch.nn.functional.interpolate(mode="bilinear") gives for [0, 1, 2, 3] to 6 and to 2.
func TestResizeAgainstPyTorch(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		for n, want := range map[int][]float32{6: {0, 0.5, 1.1666667, 1.8333334, 2.5, 3}, 2: {0.5, 2.5}} {
			ctx := context.Background()
			g := tensor.NewGraph()
			x := g.Input("x", 1, 1, 4, 1)
			y := pool.Resize(x, 1, n).Keep()
			plan, err := shaders.Compile(ctx, d, tensor.NewSet(), g)
			require.NoError(t, err)
			defer plan.Release()
			require.NoError(t, plan.Write(x, []float32{0, 1, 2, 3}))
			require.NoError(t, plan.Run(ctx))
			got, err := plan.Read(ctx, y)
			require.NoError(t, err)
			require.InDeltaSlice(t, want, got[0], 1e-6) // f32 rounding of values near 3
		}
	})
}
