package device_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/gpu/reference"
)

// The error names the first program that makes a NaN, not the programs that pass it on.
func TestDebugNamesNaN(t *testing.T) {
	ctx := context.Background()
	program := func(name string, f func(x float64) float64) *gpu.Program {
		return &gpu.Program{Name: name, Source: "// WGSL of " + name, Entry: name, Arguments: []gpu.Access{gpu.Read, gpu.ReadWrite},
			Body: func(_ any, a []gpu.Array) { a[1].F[0] = f(a[0].F[0]) }}
	}
	logarithm, negate := program("logarithm", math.Log), program("negate", func(x float64) float64 { return -x })
	var told bytes.Buffer
	d := device.Debug(reference.Open(), 3, &told)
	b, err := d.Allocate(ctx, []gpu.BufferSpec{{Label: "x", Elements: 1}, {Label: "y", Elements: 1}, {Label: "z", Elements: 1}})
	require.NoError(t, err)
	require.NoError(t, d.Write(b[0], 0, gpu.Float32Bytes([]float32{1})))
	require.NoError(t, d.Prepare(ctx, []*gpu.Program{logarithm, negate}))
	command := func(p *gpu.Program, from, to gpu.Buffer) gpu.Command {
		return gpu.Command{Program: p, Arguments: []gpu.Buffer{from, to}, Groups: [3]int{1, 1, 1}}
	}
	r, err := d.Record([]gpu.Command{command(negate, b[0], b[1]), command(logarithm, b[1], b[2]), command(negate, b[2], b[0])})
	require.NoError(t, err)
	err = d.Run(ctx, r)
	require.ErrorContains(t, err, "logarithm made a NaN in z[0]")
	require.ErrorContains(t, d.Run(ctx, r), "logarithm made a NaN in z[0]", "in every run")
	require.NoError(t, d.Close())
	assert.Contains(t, told.String(), "WGSL of negate")
	assert.Contains(t, told.String(), "negate [1 1 1] x[1 f32] y[1 f32]*")
}
