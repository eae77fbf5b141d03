package device_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// llvmpipe's threads turn a product below 2^-126 into 0, like a GPU. The process itself does not.
func TestSubnormalsAreZeroOnLlvmpipe(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("see subnormal_other.go")
	}
	ctx := context.Background()
	for _, name := range []string{"dawn", "wgpu"} {
		t.Run(name, func(t *testing.T) {
			d, err := device.Open(ctx, name, device.Options{})
			if err != nil || !strings.Contains(d.Info().Adapter, "llvmpipe") {
				t.Skip("no llvmpipe here")
			}
			defer d.Close()
			g := tensor.NewGraph()
			x := g.Input("x", 3)
			y := pointwise.Scale(x, 1e-10).Keep()
			plan, err := shaders.Compile(ctx, d, tensor.NewSet(), g)
			require.NoError(t, err)
			defer plan.Release()
			values, factor := []float32{1, 1e-30, 1e-20}, float32(1e-10)
			require.NoError(t, plan.Write(x, values))
			require.NoError(t, plan.Run(ctx))
			got, err := plan.Read(ctx, y)
			require.NoError(t, err)
			assert.Equal(t, []float32{factor, 0, values[2] * factor}, got[0])
			assert.NotZero(t, values[1]*factor)
		})
	}
}
