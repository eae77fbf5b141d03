package reference_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
)

// F32 buffers hold float64 values, and Float64 shares them with the device.
func TestFloat64IsExact(t *testing.T) {
	d := reference.Open()
	defer d.Close()
	buffers, err := d.Allocate(context.Background(), []gpu.BufferSpec{{Label: "x", Type: gpu.F32, Elements: 2}})
	require.NoError(t, err)
	x := d.Float64(buffers[0])
	x[1] = 1 + 1e-12
	double := &gpu.Program{
		Name: "double", Entry: "double", Source: "-", Arguments: []gpu.Access{gpu.ReadWrite},
		Body: func(_ any, a []gpu.Array) {
			for i := range a[0].F {
				a[0].F[i] *= 2
			}
		},
	}
	require.NoError(t, d.Prepare(context.Background(), []*gpu.Program{double}))
	r, err := d.Record([]gpu.Command{{Program: double, Arguments: buffers, Groups: [3]int{1, 1, 1}}})
	require.NoError(t, err)
	require.NoError(t, d.Run(context.Background(), r))
	assert.Equal(t, 2*(1+1e-12), d.Float64(buffers[0])[1])
	assert.Zero(t, d.Float64(buffers[0])[0])
}
