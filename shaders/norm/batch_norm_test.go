package norm_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/norm"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

func TestBatchNorm(t *testing.T) {
	for name, f := range map[string]func(x, scale, bias, mean, variance *tensor.Tensor, training bool, eps, momentum float32) *tensor.Tensor{
		"plain": norm.BatchNorm, "relu": shadertest.BatchNormReLU, "sum": shadertest.BatchNormSum,
	} {
		t.Run(name, func(t *testing.T) {
			for _, training := range []bool{true, false} {
				for _, shape := range [][]int{{1, 1, 2, 3}, {3, 5, 7, 2}, {2, 16, 16, 33}, {2, 9, 9, 128}, {1, 41, 100, 3}, {1, 41, 100, 4}} { // up to 4,096 rows, and more
					c := shape[3]
					for _, fixed := range []map[int]bool{{3: true, 4: true}, {0: true, 1: true, 3: true, 4: true}} {
						half, mixed := 4*shadertest.Rounded, 0.0 // deviation, scale and shift are stored, each up to four times the result
						if training {
							half, mixed = 0, 2*shadertest.Rounded
						}
						shadertest.Check(t, shadertest.Operator{
							Inputs: [][]int{shape, {c}, {c}, {c}, {c}},
							Build: func(x []*tensor.Tensor) *tensor.Tensor {
								return f(x[0], x[1], x[2], x[3], x[4], training, 1e-5, 0.1)
							},
							Fixed: fixed, Fill: shadertest.Far, Half: half, Mixed: mixed, Params: []int{1, 2}, Full: []int{3, 4},
							RTol: 2e-5, ATol: 1e-5, // 6e-8 of a mean of 3 in units of the deviation, and sums of 512
							FD: 1e-3, // two rows are a step function of their difference: the third derivative is large
						})
					}
				}
			}
		})
	}
}

// After two runs the running statistics are what PyTorch's rule gives, computed here in float64.
func TestBatchNormRunning(t *testing.T) {
	const rows, channels, momentum = 4099, 3, 0.1
	values := make([]float32, rows*channels)
	r := rand.New(rand.NewPCG(7, 8))
	for i := range values {
		values[i] = float32(100*float64(i%channels) + r.NormFloat64())
	}
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		ctx := context.Background()
		g := tensor.NewGraph()
		x := g.Input("x", 1, 1, rows, channels)
		scale, bias := g.Constant("scale", []float32{1, 1, 1}, channels), g.Constant("bias", []float32{0, 0, 0}, channels)
		set := tensor.NewSet()
		meanVariable, varianceVariable := set.Variable(tensor.Statistic, "mean", channels), set.Variable(tensor.Statistic, "variance", channels)
		norm.BatchNorm(x, scale, bias, g.Variable(meanVariable), g.Variable(varianceVariable), true, 1e-5, momentum)
		plan, err := shaders.Compile(ctx, d, set, g)
		require.NoError(t, err)
		defer plan.Release()
		defer set.Release()
		require.NoError(t, set.Write(varianceVariable, []float32{1, 2, 3}))
		require.NoError(t, plan.Write(x, values))
		for range 2 {
			require.NoError(t, plan.Run(ctx))
		}
		got, err := set.Read(ctx, meanVariable, varianceVariable)
		require.NoError(t, err)
		for c := range channels {
			mean, variance := 0.0, 0.0
			for row := range rows {
				mean += float64(values[row*channels+c]) / rows
			}
			for row := range rows {
				variance += math.Pow(float64(values[row*channels+c])-mean, 2) / (rows - 1)
			}
			wantMean, wantVariance := 0.0, float64(c+1)
			for range 2 {
				wantMean += momentum * (mean - wantMean)
				wantVariance += momentum * (variance - wantVariance)
			}
			require.InDelta(t, wantMean, got[0][c], 1e-5*max(1, wantMean)) // f32 keeps 1e-7 of a sum of 65 chunks
			require.InDelta(t, wantVariance, got[1][c], 1e-4)              // x itself is rounded to 1e-5 at 200 deviations
		}
	})
}
