package conv_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// TestLinearAbsorbsLayerNorm compares linear map, sum and layer norm in one dispatch, on every
// device, with the reference in one dispatch an operator. Keeping all intermediate results prevents
// fusion.
func TestLinearAbsorbsLayerNorm(t *testing.T) {
	for _, c := range []struct {
		rows, inputs, outputs int
		bias, residual        bool
		dispatches            int
	}{
		{35, 8, 32, true, true, 1},
		{8, 12, 36, false, true, 1},
		{3, 64, 512, true, false, 1},
		{9, 4, 4, false, false, 2},
		{5, 6, 32, true, true, 2},  // inputs that are no quads
		{5, 8, 30, true, true, 2},  // outputs
		{2, 8, 516, true, true, 2}, // more outputs than a workgroup has quads
	} {
		test := shadertest.Operator{
			Inputs: [][]int{{c.rows, c.inputs}, {c.inputs, c.outputs}, {c.outputs}, {c.rows, c.outputs}, {c.outputs}, {c.outputs}},
			Fixed:  map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true, 5: true},
			Fill: func(_, _ int, r *rand.Rand) float64 { // far from zero, where a variance computed as a difference would be wrong
				return 10 + r.NormFloat64()
			},
			RTol: 1e-4, // sums of 64 products near 100 in float32, whose differences are normalised to about 1 and scaled by 10
		}
		// One dispatch on every device. Otherwise results between are rounded near 1000, and their
		// differences are normalised to about 1.
		if c.dispatches == 1 && c.outputs%32 == 0 {
			test.Half = shadertest.Rounded
		}
		operator := func(between func(*tensor.Tensor) *tensor.Tensor) func(x []*tensor.Tensor) *tensor.Tensor {
			return func(x []*tensor.Tensor) *tensor.Tensor {
				bias := x[2]
				if !c.bias {
					bias = nil
				}
				y := between(conv.Linear(x[0], x[1], bias))
				if c.residual {
					y = between(pointwise.Add(x[3], y))
				}
				return norm.LayerNorm(y, x[4], x[5], 1e-5)
			}
		}
		for _, test := range test.Storages() {
			test.Build = operator((*tensor.Tensor).Keep)
			ref := reference.Open()
			want := test.Run(t, t.Context(), ref)

			test.Build = operator(func(x *tensor.Tensor) *tensor.Tensor { return x })
			fused := test.Compile(t, t.Context(), ref)
			require.Equal(t, c.dispatches, fused.Plan.Dispatches(), "%+v", c)
			fused.Plan.Release()
			require.NoError(t, ref.Close())
			shadertest.EachVariant(t, func(device string, d gpu.Device) {
				if !test.RunsOn(d) {
					return
				}
				got := test.Run(t, t.Context(), d)
				test.Compare(t, device, fmt.Sprintf("%+v", c), got[0], want[0])
			})
		}
	}
}
