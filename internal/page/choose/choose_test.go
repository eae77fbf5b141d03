//go:build !js

package choose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
)

// guise is the processor with the information of an adapter, which takes its time, fails or
// computes something else.
type guise struct {
	gpu.Device
	info  gpu.Info
	runs  int
	delay time.Duration
	err   error
	wrong bool
}

func (g *guise) Info() gpu.Info { return g.info }

func (g *guise) Run(ctx context.Context, recordings ...gpu.Recording) error {
	g.runs++
	time.Sleep(g.delay)
	if g.err != nil {
		return g.err
	}
	return g.Device.Run(ctx, recordings...)
}

func (g *guise) Read(ctx context.Context, ranges ...gpu.Range) error {
	err := g.Device.Read(ctx, ranges...)
	if g.wrong {
		ranges[0].Dst[3] ^= 0x80 // the first value's sign
	}
	return err
}

// open gives an adapter in disguise, and the processor.
func open(t *testing.T) (adapter, processor *guise) {
	t.Helper()
	opened := func(info gpu.Info) *guise {
		d, err := device.Open(t.Context(), device.Processor, device.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, d.Close()) })
		if info.Adapter == "" {
			info = d.Info()
		}
		return &guise{Device: d, info: info}
	}
	return opened(gpu.Info{Backend: "dawn", Adapter: "llvmpipe", Driver: "Mesa 25", Kind: gpu.KindCPU}), opened(gpu.Info{})
}

// memory is one in a map.
type memory map[string][]byte

func (m memory) Get(key string) ([]byte, error) { return m[key], nil }

func (m memory) Put(key string, text []byte) error {
	m[key] = text
	return nil
}

// long is far beyond what the network takes, also on a busy machine, and far below Patience.
const long = 60 * time.Millisecond

func TestTheFasterIsFound(t *testing.T) {
	adapter, processor := open(t)
	adapter.delay = long
	times, err := Measure(t.Context(), adapter, processor)
	require.NoError(t, err)
	assert.Greater(t, times.Ratio(), 1.0)
	assert.GreaterOrEqual(t, times.AdapterMS, 60.0)

	adapter.delay, processor.delay = 0, long
	times, err = Measure(t.Context(), adapter, processor)
	require.NoError(t, err)
	assert.Less(t, times.Ratio(), 1.0)
}

func TestNotMeasuredTwice(t *testing.T) {
	known := memory{}
	adapter, processor := open(t)
	first, err := With(known)(t.Context(), adapter, processor)
	require.NoError(t, err)
	require.Len(t, known, 1)
	runs := adapter.runs
	require.Positive(t, runs)
	again, err := With(known)(t.Context(), adapter, processor)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	assert.Equal(t, runs, adapter.runs, "remembered")

	for what, change := range map[string]func(){
		"driver":    func() { adapter.info.Driver = "Mesa 26" },
		"adapter":   func() { adapter.info.Adapter = "SwiftShader" },
		"processor": func() { processor.info.Adapter = "Go float32 in AVX9" },
	} {
		runs, count := adapter.runs, len(known)
		change()
		_, err = With(known)(t.Context(), adapter, processor)
		require.NoError(t, err)
		assert.Greater(t, adapter.runs, runs, "another %s", what)
		assert.Len(t, known, count+1, what)
	}
	runs, count := adapter.runs, len(known)
	today := source
	source = "of tomorrow"
	defer func() { source = today }()
	_, err = With(known)(t.Context(), adapter, processor)
	require.NoError(t, err)
	assert.Greater(t, adapter.runs, runs, "another version of MrPrism")
	assert.Len(t, known, count, "in place of the older one's")
}

func TestBrokenMemory(t *testing.T) {
	adapter, processor := open(t)
	key := pairOf(adapter.info, processor.info).key()
	for what, text := range map[string]string{"empty": "", "damaged": `{"backend": "da`, "another's": `{"adapter": "SwiftShader", "adapter_ms": 1, "processor_ms": 9}`,
		"of another shape": `{"adapter_ms": "slow"}`} {
		known := memory{key: []byte(text)}
		runs := adapter.runs
		ratio, err := With(known)(t.Context(), adapter, processor)
		require.NoError(t, err, what)
		assert.Positive(t, ratio, what)
		assert.Greater(t, adapter.runs, runs, "%s: measured", what)
		runs = adapter.runs
		_, err = With(known)(t.Context(), adapter, processor)
		require.NoError(t, err, what)
		assert.Equal(t, runs, adapter.runs, "%s: replaced", what)
	}
}

// Files keeps times in the user's folder for caches. That may be missing or read-only.
func TestFiles(t *testing.T) {
	for _, variable := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} { // of Linux, macOS and Windows
		t.Setenv(variable, t.TempDir())
	}
	adapter, processor := open(t)
	_, err := With(Files{})(t.Context(), adapter, processor)
	require.NoError(t, err)
	path, err := Files{}.path(pairOf(adapter.info, processor.info).key())
	require.NoError(t, err)
	require.FileExists(t, path)
	runs := adapter.runs
	_, err = With(Files{})(t.Context(), adapter, processor)
	require.NoError(t, err)
	assert.Equal(t, runs, adapter.runs)

	folder := filepath.Dir(path)
	require.NoError(t, os.RemoveAll(folder))
	require.NoError(t, os.WriteFile(folder, nil, 0o600), "a file where the folder should be")
	_, err = With(Files{})(t.Context(), adapter, processor)
	require.NoError(t, err)
	assert.Greater(t, adapter.runs, runs)
}

// An adapter that fails, or computes something else, is tried twice. The caller gets an error and
// takes the processor.
func TestFailingAdapter(t *testing.T) {
	for what, failing := range map[string]guise{"lost": {err: fmt.Errorf("%w: gone", gpu.ErrLost)}, "wrong": {wrong: true}, "slow": {delay: Patience + time.Millisecond}} {
		known := memory{}
		adapter, processor := open(t)
		adapter.err, adapter.wrong, adapter.delay = failing.err, failing.wrong, failing.delay
		for range mostFailures {
			_, err := With(known)(t.Context(), adapter, processor)
			require.Error(t, err, what)
			require.NotErrorIs(t, err, errFailed, what)
		}
		runs := adapter.runs
		_, err := With(known)(t.Context(), adapter, processor)
		require.ErrorIs(t, err, errFailed, what)
		assert.Equal(t, runs, adapter.runs, what)
	}

	known := memory{}
	adapter, processor := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range mostFailures {
		_, err := With(known)(ctx, adapter, processor)
		require.True(t, errors.Is(err, context.Canceled))
	}
	_, err := With(known)(t.Context(), adapter, processor)
	require.NoError(t, err, "Ctrl-C is no failure of the adapter's")
}

// dying is a memory of a process that ends while it measures.
type dying struct{ memory }

func (d dying) Put(key string, text []byte) error {
	if len(d.memory[key]) > 0 {
		return errors.New("the process has ended")
	}
	return d.memory.Put(key, text)
}

// A measurement that began and never ended counts as a failed one.
func TestMeasurementThatTookTheProgramWithIt(t *testing.T) {
	known := memory{}
	adapter, processor := open(t)
	_, _ = With(dying{known})(t.Context(), adapter, processor)
	key := pairOf(adapter.info, processor.info).key()
	var r record
	require.NoError(t, json.Unmarshal(known[key], &r))
	assert.Equal(t, record{pair: pairOf(adapter.info, processor.info), Failures: 1}, r)
}
