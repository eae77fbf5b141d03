package device_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
)

func TestOpenByName(t *testing.T) {
	d, err := device.Open(context.Background(), "reference", device.Options{})
	require.NoError(t, err)
	assert.Equal(t, "reference", d.Info().Backend)
	require.NoError(t, d.Close())

	t.Setenv(device.Variable, "reference")
	d, err = device.Open(context.Background(), "", device.Options{})
	require.NoError(t, err)
	assert.Equal(t, gpu.KindReference, d.Info().Kind)

	_, err = device.Open(context.Background(), "cuda", device.Options{})
	assert.ErrorContains(t, err, `"cuda"`)
	assert.ErrorContains(t, err, "auto, dawn, wgpu, processor, reference")
}

// The error names a Dawn library that does not exist.
func TestMissingLibraryIsNamed(t *testing.T) {
	t.Setenv("MRPRISM_DAWN_LIB", "/nowhere/libdawn.so")
	_, err := device.Open(context.Background(), "dawn", device.Options{})
	require.ErrorIs(t, err, gpu.ErrNoAdapter)
	assert.ErrorContains(t, err, "/nowhere/libdawn.so")
}

// If the only adapter emulates a GPU on the processor, auto takes Processor.
func TestAutoLeavesEmulation(t *testing.T) {
	t.Setenv(device.Variable, "")
	said := ""
	d, err := device.Open(t.Context(), device.Auto, device.Options{Note: func(text string) { said = text }})
	if err != nil {
		t.Skip(err)
	}
	defer func() { assert.NoError(t, d.Close()) }()
	if processor := device.Processor; d.Info().Backend == processor {
		assert.Contains(t, said, "emulates a GPU")
	} else {
		assert.NotEqual(t, gpu.KindCPU, d.Info().Kind)
	}
}
