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

func TestAutoTakesTheFaster(t *testing.T) {
	if !emulates(gpu.Info{Kind: gpu.KindCPU}) {
		t.Skip("no vectors here: auto takes any adapter")
	}
	opened, err := Open(t.Context(), Processor, Options{})
	require.NoError(t, err)
	direct := opened.Info().Adapter
	for _, c := range []struct {
		ratio float64
		err   error
		why   string
	}{
		{ratio: 3.14, why: "3.1 times as fast as llvmpipe here"},
		{ratio: 1.01, why: "as fast as llvmpipe here"},
		{ratio: 0.5, why: "2.0 times as fast as " + direct + " here"},
		{err: errors.New("it broke"), why: "llvmpipe emulates a GPU on this processor, and was not compared: it broke"},
	} {
		a := offered(t, gpu.KindCPU)
		said := ""
		o := Options{Note: func(text string) { said = text }, Compare: func(_ context.Context, x, y gpu.Device) (float64, error) {
			assert.Equal(t, gpu.Device(a), x)
			assert.Equal(t, "processor", y.Info().Backend)
			return c.ratio, c.err
		}}
		d, err := Open(t.Context(), Auto, o)
		require.NoError(t, err)
		toAdapter := c.err == nil && c.ratio < 1
		assert.Equal(t, toAdapter, d.Info().Backend == "dawn", c.why)
		assert.Equal(t, !toAdapter, a.closed, c.why)
		assert.Equal(t, c.why, d.Info().Why)
		assert.Contains(t, said, d.Info().String()+": "+c.why)
	}

	offered(t, gpu.KindCPU)
	d, err := Open(t.Context(), Auto, Options{})
	require.NoError(t, err)
	assert.Equal(t, Processor, d.Info().Backend, "the rule")
	assert.Equal(t, "llvmpipe emulates a GPU on this processor, which takes longer", d.Info().Why)
}

func TestComparisonEndsWithItsContext(t *testing.T) {
	if !emulates(gpu.Info{Kind: gpu.KindCPU}) {
		t.Skip("no vectors here: nothing is compared")
	}
	a := offered(t, gpu.KindCPU)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Open(ctx, Auto, Options{Compare: func(ctx context.Context, _, _ gpu.Device) (float64, error) {
		cancel()
		return 0, ctx.Err()
	}})
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, a.closed)
}

// A real GPU is not compared, and neither is a device that was asked for by name.
func TestNothingIsComparedElsewhere(t *testing.T) {
	never := Options{Compare: func(context.Context, gpu.Device, gpu.Device) (float64, error) {
		t.Error("compared")
		return 9, nil
	}}
	for _, kind := range []gpu.Kind{gpu.KindDiscrete, gpu.KindIntegrated, gpu.KindUnknown} {
		offered(t, kind)
		d, err := Open(t.Context(), Auto, never)
		require.NoError(t, err)
		assert.Equal(t, kind, d.Info().Kind)
		assert.Empty(t, d.Info().Why)
	}
	offered(t, gpu.KindCPU)
	for _, name := range []string{"dawn", Processor} {
		d, err := Open(t.Context(), name, never)
		require.NoError(t, err)
		assert.Equal(t, name, d.Info().Backend)
		t.Setenv(Variable, name)
		d, err = Open(t.Context(), "", never)
		require.NoError(t, err)
		assert.Equal(t, name, d.Info().Backend)
	}
}
