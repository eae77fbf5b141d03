//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
)

// lose makes Dawn lose the device, like a crash of the driver.
func lose(t *testing.T, d *device, message string) {
	t.Helper()
	lib, err := load(d.l.path)
	require.NoError(t, err)
	symbol, err := symbolOf(lib, "wgpuDeviceForceLoss")
	require.NoError(t, err)
	var force func(device handle, reason uint32, message stringView)
	purego.RegisterFunc(&force, symbol)
	force(d.handle, 1, view(message))
}

// After a loss every method returns gpu.ErrLost with Dawn's message, Lost receives it once, and a
// new device computes.
func TestLostDevice(t *testing.T) {
	d := open(t)
	buffers, err := d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "x", Elements: 64}, {Label: "y", Elements: 64}})
	require.NoError(t, err)
	require.NoError(t, d.Prepare(t.Context(), []*gpu.Program{saxpy}))
	commands := []gpu.Command{{Program: saxpy, Params: &saxpyParams{64, 1}, Arguments: buffers, Groups: [3]int{1, 1, 1}}}
	r, err := d.Record(commands)
	require.NoError(t, err)
	require.NoError(t, d.Run(t.Context(), r))
	lose(t, d, "pulled out")

	dst := make([]byte, 256)
	for name, err := range map[string]error{
		"Run": d.Run(t.Context(), r), "Write": d.Write(buffers[0], 0, dst), "Prepare": d.Prepare(t.Context(), []*gpu.Program{sum}),
		"Read": d.Read(t.Context(), gpu.Range{Buffer: buffers[1], Dst: dst}),
	} {
		assert.ErrorIs(t, err, gpu.ErrLost, name)
		assert.ErrorContains(t, err, "pulled out", name)
	}
	_, err = d.Record(commands)
	require.ErrorIs(t, err, gpu.ErrLost)
	_, err = d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "z", Elements: 64}})
	require.ErrorIs(t, err, gpu.ErrLost)
	select {
	case err := <-d.Lost():
		require.ErrorIs(t, err, gpu.ErrLost)
	case <-time.After(time.Second):
		t.Fatal("Lost tells nothing")
	}
	require.NoError(t, d.Close())

	again := open(t)
	buffers, err = again.Allocate(t.Context(), []gpu.BufferSpec{{Label: "x", Elements: 64}, {Label: "y", Elements: 64}})
	require.NoError(t, err)
	require.NoError(t, again.Read(t.Context(), gpu.Range{Buffer: buffers[0], Dst: dst}))
}

// If the device is lost during work, a wait for the work ends with the loss.
func TestLostWhileWorking(t *testing.T) {
	d := open(t)
	buffers, err := d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "y", Elements: 1 << 14}})
	require.NoError(t, err)
	require.NoError(t, d.Prepare(t.Context(), []*gpu.Program{spin}))
	commands := make([]gpu.Command, 20)
	for i := range commands {
		commands[i] = gpu.Command{Program: spin, Params: &struct{ N uint32 }{200}, Arguments: buffers, Groups: [3]int{256, 1, 1}}
	}
	r, err := d.Record(commands)
	require.NoError(t, err)
	require.NoError(t, d.Run(t.Context(), r))
	lose(t, d, "pulled out")
	assert.ErrorIs(t, d.Read(t.Context(), gpu.Range{Buffer: buffers[0], Dst: make([]byte, 4)}), gpu.ErrLost)
}

// A cancelled Prepare loses nothing: the next one waits for its compilations, and Close ends those
// that are left.
func TestCancelledPrepare(t *testing.T) {
	d := open(t)
	fresh := func() []*gpu.Program {
		var programs []*gpu.Program
		for range 8 {
			p := *sum
			programs = append(programs, &p)
		}
		return programs
	}
	cancelled, cancel := context.WithCancel(t.Context())
	programs := fresh()
	for _, p := range programs {
		require.NoError(t, d.start(p))
	}
	cancel()
	require.ErrorIs(t, d.Prepare(cancelled, programs), context.Canceled)
	require.NoError(t, d.Prepare(t.Context(), programs))
	assert.Empty(t, d.compiling)
	for _, p := range fresh() {
		require.NoError(t, d.start(p))
	}
	require.NoError(t, d.Close())
	assertNoHandlers(t)
}

// Dawn works while Go collects garbage, grows stacks and moves goroutines to other threads: C must
// hold no Go pointer.
func TestGarbageCollection(t *testing.T) {
	d := open(t)
	stop := make(chan struct{})
	var churn sync.WaitGroup
	churn.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	defer func() { close(stop); churn.Wait() }()
	for i := range 20 {
		done := make(chan error)
		go func() { done <- deepen(100, func() error { return d.saxpyOnce(float32(i)) }) }()
		require.NoError(t, <-done)
	}
}

// deepen runs f on a stack of some depth.
func deepen(depth int, f func() error) error {
	var pad [64]byte
	if depth == 0 {
		return f()
	}
	err := deepen(depth-1, f)
	runtime.KeepAlive(&pad)
	return err
}

func (d *device) saxpyOnce(value float32) error {
	ctx := context.Background()
	p := *saxpy // a program of its own, so that it is compiled now
	p.Source = strings.Replace(p.Source, "params.a *", "params.a * 1.0 *", 1)
	if err := d.Prepare(ctx, []*gpu.Program{&p}); err != nil {
		return err
	}
	buffers, err := d.Allocate(ctx, []gpu.BufferSpec{{Label: "x", Elements: 64}, {Label: "y", Elements: 64}})
	if err != nil {
		return err
	}
	if err := d.Write(buffers[0], 5, gpu.Float32Bytes([]float32{value})); err != nil {
		return err
	}
	r, err := d.Record([]gpu.Command{{Program: &p, Params: &saxpyParams{64, 3}, Arguments: buffers, Groups: [3]int{1, 1, 1}}})
	if err != nil {
		return err
	}
	if err := d.Run(ctx, r); err != nil {
		return err
	}
	dst := make([]byte, 4)
	if err := d.Read(ctx, gpu.Range{Buffer: buffers[1], Offset: 5, Dst: dst}); err != nil {
		return err
	}
	r.Release()
	for _, b := range buffers {
		b.Release()
	}
	if got := gpu.BytesFloat32(dst)[0]; got != 3*value {
		return errors.New("wrong result")
	}
	return nil
}

// The process does not grow with many allocations, recordings and releases, or with many devices.
func TestNoLeak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the size of the process is read from Linux's /proc")
	}
	d := open(t)
	grow := func(what string, most int64, rounds int, f func()) {
		for range rounds / 4 { // caches fill
			f()
		}
		before := resident(t)
		for range rounds {
			f()
		}
		grown := resident(t) - before
		t.Logf("%s: %d rounds grow the process by %d KiB", what, rounds, grown>>10)
		assert.Less(t, grown, most, what)
	}
	// 64 rounds of 8 MiB leaked would be 512 MiB; 32 MiB allow for the heaps of Go, Mesa and the C
	// library.
	grow("buffers", 32<<20, 64, func() {
		buffers, err := d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "x", Elements: 1 << 20}, {Label: "y", Elements: 1 << 20}})
		require.NoError(t, err)
		require.NoError(t, d.Prepare(t.Context(), []*gpu.Program{saxpy}))
		r, err := d.Record([]gpu.Command{{Program: saxpy, Params: &saxpyParams{64, 1}, Arguments: buffers, Groups: [3]int{1, 1, 1}}})
		require.NoError(t, err)
		require.NoError(t, d.Run(t.Context(), r))
		require.NoError(t, d.Read(t.Context(), gpu.Range{Buffer: buffers[1], Dst: make([]byte, 4)}))
		r.Release()
		for _, b := range buffers {
			b.Release()
		}
	})
	// A device on lavapipe takes about 15 MiB, 32 of them 480; heaps keep 30 to 70.
	grow("devices", 128<<20, 32, func() {
		d, err := Open(t.Context(), func(string) {})
		require.NoError(t, err)
		require.NoError(t, d.Close())
	})
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	assert.Less(t, len(threads), 100, "threads")
}

// resident is the memory of the process, bytes, after Go has returned unused memory.
func resident(t *testing.T) int64 {
	t.Helper()
	runtime.GC()
	raw, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	fields := strings.Fields(string(raw))
	var pages int64
	for _, c := range fields[1] {
		pages = 10*pages + int64(c-'0')
	}
	return pages * int64(os.Getpagesize())
}

func TestPortions(t *testing.T) {
	d := &device{}
	d.About.Kind = gpu.KindCPU
	d.guess = firstGuess(gpu.KindCPU)
	steps := make([]*step, 100)
	for i := range steps {
		steps[i] = &step{}
	}
	n := d.portion(steps, 0)
	assert.Equal(t, int(submissionTime/d.guess), n, "steps that never ran")
	d.learn(steps[:n], time.Second)
	assert.Equal(t, 2, d.portion(steps, 0), "20 steps took a second, so 2 take a tenth of one")
	assert.Equal(t, 2, d.portion(steps[n:], 0), "others are thought to be alike")
	for _, s := range steps {
		s.cost = time.Millisecond
	}
	steps[3].cost = time.Minute
	assert.Equal(t, 3, d.portion(steps, 0), "a long step is not joined to short ones")
	assert.Equal(t, 1, d.portion(steps[3:], 0), "nor refused")
	assert.Equal(t, 96, d.portion(steps[4:], 0))
	assert.Equal(t, 32, d.portion(steps[4:], mostSteps(gpu.KindDiscrete)), "a card starts early")
}
