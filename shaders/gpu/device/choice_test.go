package device

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
)

// adapter is a device with a name that knows whether it was closed.
type adapter struct {
	gpu.Device
	info   gpu.Info
	closed bool
}

func (a *adapter) Info() gpu.Info { return a.info }

func (a *adapter) Close() error {
	a.closed = true
	return errors.New("gone")
}

// offered makes an adapter the only backend.
func offered(t *testing.T, kind gpu.Kind) *adapter {
	t.Helper()
	a := &adapter{info: gpu.Info{Backend: "dawn", Adapter: "llvmpipe", Kind: kind}}
	before := backends
	t.Cleanup(func() { backends = before })
	backends = []backend{{"dawn", func(context.Context, Options) (gpu.Device, error) { return a, nil }}}
	t.Setenv(Variable, "")
	return a
}

func TestAutoLeavesAnEmulatedGPU(t *testing.T) {
	if !emulates(gpu.Info{Kind: gpu.KindCPU}) {
		t.Skip("no vectors here: auto takes any adapter")
	}
	a := offered(t, gpu.KindCPU)
	said := ""
	d, err := Open(t.Context(), Auto, Options{Note: func(text string) { said = text }})
	require.NoError(t, err)
	assert.Equal(t, Processor, d.Info().Backend)
	assert.True(t, a.closed)
	assert.Equal(t, "llvmpipe emulates a GPU on this processor, which takes longer", d.Info().Why)
	assert.Contains(t, said, d.Info().String()+": "+d.Info().Why)
}

// A real GPU is taken, and so is a device that was asked for by name.
func TestOtherDevicesAreTaken(t *testing.T) {
	for _, kind := range []gpu.Kind{gpu.KindDiscrete, gpu.KindIntegrated, gpu.KindUnknown} {
		offered(t, kind)
		d, err := Open(t.Context(), Auto, Options{})
		require.NoError(t, err)
		assert.Equal(t, kind, d.Info().Kind)
		assert.Empty(t, d.Info().Why)
	}
	offered(t, gpu.KindCPU)
	for _, name := range []string{"dawn", Processor} {
		d, err := Open(t.Context(), name, Options{})
		require.NoError(t, err)
		assert.Equal(t, name, d.Info().Backend)
		t.Setenv(Variable, name)
		d, err = Open(t.Context(), "", Options{})
		require.NoError(t, err)
		assert.Equal(t, name, d.Info().Backend)
	}
}
