package shaders

import (
	"math/rand/v2"
	"testing"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/gpu/reference"
	"mrprism/internal/compute/tensor"

	"github.com/stretchr/testify/require"
)

func TestClampLog(t *testing.T) {
	for _, shape := range [][]int{{2, 5, 7, 3}, {2, 5, 7, 4}} {
		checkOperator(t, operatorTest{
			inputs: [][]int{shape},
			build:  func(x []*tensor.Tensor) *tensor.Tensor { return ClampLog(x[0], 0.2, 0.8) },
			half:   rounded, mixed: rounded,
			fill: func(_, _ int, r *rand.Rand) float64 { // clear of both kinks
				return []float64{0.1, 0.3, 0.5, 0.7, 0.9}[r.IntN(5)] + 0.05*r.Float64()
			},
		})
	}
}

// TestClampLogAbsorbsSum compares logarithm and sum in one dispatch, on every device, with the reference's of one after the other, which
// keeping the result between them forces.
func TestClampLogAbsorbsSum(t *testing.T) {
	for name, sum := range map[string]func(log, other *tensor.Tensor) *tensor.Tensor{
		"a table":     AddBroadcast,
		"on the left": Add,
		"on the right": func(log, other *tensor.Tensor) *tensor.Tensor {
			return Add(other, log)
		},
	} {
		for _, shape := range [][]int{{1, 5, 7, 3}, {1, 5, 7, 4}} {
			test := operatorTest{inputs: [][]int{shape, shape}, fixed: map[int]bool{0: true, 1: true}, fill: probability, half: rounded}
			for _, test := range test.storages() {
				ref := reference.Open()
				test.build = func(x []*tensor.Tensor) *tensor.Tensor { return sum(ClampLog(x[0], 0.2, 0.8).Keep(), x[1]) }
				want := test.run(t, t.Context(), ref)
				test.build = func(x []*tensor.Tensor) *tensor.Tensor { return sum(ClampLog(x[0], 0.2, 0.8), x[1]) }
				fused := test.compile(t, t.Context(), ref)
				require.Equal(t, 1, fused.plan.Dispatches(), name)
				fused.plan.Release()
				require.NoError(t, ref.Close())
				asVariants(t, func(device string, d gpu.Device) {
					if !test.runsOn(d) {
						return
					}
					got := test.run(t, t.Context(), d)
					test.compare(t, device, name, got[0], want[0])
				})
			}
		}
	}
}
