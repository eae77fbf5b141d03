package pointwise_test

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

func TestClampLog(t *testing.T) {
	for _, shape := range [][]int{{2, 5, 7, 3}, {2, 5, 7, 4}} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.ClampLog(x[0], 0.2, 0.8) },
			Half:   shadertest.Rounded, Mixed: shadertest.Rounded,
			Fill: func(_, _ int, r *rand.Rand) float64 { // clear of both kinks
				return []float64{0.1, 0.3, 0.5, 0.7, 0.9}[r.IntN(5)] + 0.05*r.Float64()
			},
		})
	}
}

// TestClampLogAbsorbsSum compares logarithm and sum in one dispatch, on every device, with two
// dispatches on the reference. Keeping the intermediate result prevents fusion there.
func TestClampLogAbsorbsSum(t *testing.T) {
	for name, sum := range map[string]func(log, other *tensor.Tensor) *tensor.Tensor{
		"a table":     pointwise.AddBroadcast,
		"on the left": pointwise.Add,
		"on the right": func(log, other *tensor.Tensor) *tensor.Tensor {
			return pointwise.Add(other, log)
		},
	} {
		for _, shape := range [][]int{{1, 5, 7, 3}, {1, 5, 7, 4}} {
			test := shadertest.Operator{Inputs: [][]int{shape, shape}, Fixed: map[int]bool{0: true, 1: true}, Fill: shadertest.Probability, Half: shadertest.Rounded}
			for _, test := range test.Storages() {
				ref := reference.Open()
				test.Build = func(x []*tensor.Tensor) *tensor.Tensor { return sum(pointwise.ClampLog(x[0], 0.2, 0.8).Keep(), x[1]) }
				want := test.Run(t, t.Context(), ref)
				test.Build = func(x []*tensor.Tensor) *tensor.Tensor { return sum(pointwise.ClampLog(x[0], 0.2, 0.8), x[1]) }
				fused := test.Compile(t, t.Context(), ref)
				require.Equal(t, 1, fused.Plan.Dispatches(), name)
				fused.Plan.Release()
				require.NoError(t, ref.Close())
				shadertest.EachVariant(t, func(device string, d gpu.Device) {
					if !test.RunsOn(d) {
						return
					}
					got := test.Run(t, t.Context(), d)
					test.Compare(t, device, name, got[0], want[0])
				})
			}
		}
	}
}

func TestStraightThrough(t *testing.T) {
	for _, f := range []func(x *tensor.Tensor) *tensor.Tensor{
		func(x *tensor.Tensor) *tensor.Tensor { return pointwise.Threshold(x, 0.5) },
		func(x *tensor.Tensor) *tensor.Tensor { return pointwise.Clamp(x, 0.3, 0.6) },
	} {
		for _, shape := range [][]int{{3, 5, 7}, {3, 5, 8}} {
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{shape}, Fill: shadertest.Probability, Rough: true, // the gradient is stated, not the derivative
				Build: func(x []*tensor.Tensor) *tensor.Tensor { return f(x[0]) },
			})
		}
	}
}
