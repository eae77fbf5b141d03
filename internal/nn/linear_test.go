package nn

import (
	"testing"

	"mrprism/internal/gpu/reference"
	"mrprism/internal/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Queries, and what else a linear map makes of the same, are what training computes one after the other; without training one dispatch computes
// both where both map the same.
func TestQueriesBeside(t *testing.T) {
	const height, width, inputs, outputs = 3, 5, 8, 6
	alone := func(_ *Builder, x *tensor.Tensor) (of, beside *tensor.Tensor) { return x, nil }
	for _, c := range []struct {
		name       string
		build      func(b *Builder, x *tensor.Tensor) (of, beside *tensor.Tensor)
		dispatches int
	}{
		{"of one map", func(b *Builder, x *tensor.Tensor) (of, beside *tensor.Tensor) {
			return x, b.Linear("beside", x, 10, true)
		}, 1},
		{"of one map, without bias", func(b *Builder, x *tensor.Tensor) (of, beside *tensor.Tensor) {
			return x, b.Linear("beside", x, 10, false)
		}, 1},
		{"of a linear map's result, and that", func(b *Builder, x *tensor.Tensor) (of, beside *tensor.Tensor) {
			y := b.Conv("first", x, 1, 8, 1, 0, true, false)
			return y, y
		}, 1},
		{"of what is narrower than what it is made of, and that", func(b *Builder, x *tensor.Tensor) (of, beside *tensor.Tensor) {
			y := b.Linear("first", x, 4, true)
			return y, y
		}, 2},
		{"of another map", func(b *Builder, x *tensor.Tensor) (of, beside *tensor.Tensor) {
			return x, b.Linear("beside", b.Graph.Constant("other", make([]float32, height*width*inputs), 1, height, width, inputs), 3, true)
		}, 2},
		{"alone", alone, 1},
	} {
		run := func(training bool) (values [][]float32, dispatches int) {
			b := &Builder{Graph: tensor.NewGraph(), Set: tensor.NewSet(), Training: training}
			x := b.Graph.Input("x", 1, height, width, inputs)
			of, beside := c.build(b, x)
			queries, beside := b.Queries("attention", of, outputs, beside)
			kept := []*tensor.Tensor{queries.Keep()}
			if beside != nil {
				kept = append(kept, beside.Keep())
			}
			device := reference.Open()
			plan, err := tensor.Compile(t.Context(), device, b.Set, b.Graph)
			require.NoError(t, err)
			defer plan.Release()
			for i, v := range b.Set.Variables() {
				initial := make([]float32, v.Elements())
				for j := range initial {
					initial[j] = float32((7*j+3*len(v.Name)+i/8)%11)/11 - 0.5
				}
				require.NoError(t, b.Set.Write(v, initial))
			}
			image := make([]float32, x.Elements())
			for i := range image {
				image[i] = float32(i%13)/13 - 0.4
			}
			require.NoError(t, plan.Write(x, image))
			require.NoError(t, plan.Run(t.Context()))
			values, err = plan.Read(t.Context(), kept...)
			require.NoError(t, err)
			return values, plan.Dispatches()
		}
		want, _ := run(true)
		got, dispatches := run(false)
		assert.Equal(t, c.dispatches, dispatches, c.name)
		require.Len(t, got, len(want), c.name)
		for i := range want {
			assert.InDeltaSlice(t, want[i], got[i], 1e-6, c.name)
		}
	}
}
