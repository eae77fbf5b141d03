//go:build !js && cgo

package webgpu_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/webgpu"
)

// The bindings keep addresses of Go variables in C across calls, and a stack that grows may move
// them. Our C functions do not.
func TestReadsDuringGarbageCollection(t *testing.T) {
	d := gputest.Require(t, "wgpu")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	b, err := d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "x", Type: gpu.U32, Elements: 4}})
	require.NoError(t, err)
	for i := range uint32(200) {
		want := gpu.Uint32Bytes([]uint32{i, i * i})
		require.NoError(t, d.Write(b[0], 1, want))
		got := make([]byte, 8)
		require.NoError(t, d.Read(t.Context(), gpu.Range{Buffer: b[0], Offset: 1, Dst: got}))
		require.Equal(t, want, got)
	}
}

// The bindings pass uninitialised memory to wgpu-native when they create an instance.
func TestOpenAgainAndAgain(t *testing.T) {
	gputest.Require(t, "wgpu")
	for range 20 {
		d, err := webgpu.Open(t.Context())
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
}

func TestNoDriver(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("drivers are chosen by VK_DRIVER_FILES on Linux only")
	}
	t.Setenv("VK_DRIVER_FILES", "/nowhere/driver.json")
	_, err := webgpu.Open(context.Background())
	require.ErrorIs(t, err, gpu.ErrNoAdapter)
	assert.ErrorContains(t, err, "mesa-vulkan-drivers")
}
