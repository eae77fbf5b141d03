package processor_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/processor"
	"mrprism/shaders/vector"
)

// run runs a program without parameters on a buffer of n elements, and returns the buffer.
func run(t *testing.T, ctx context.Context, n int, p *gpu.Program) ([]float32, error) {
	t.Helper()
	d := processor.Open()
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	buffers, err := d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "x", Type: gpu.F32, Elements: n}})
	require.NoError(t, err)
	p.Name, p.Entry, p.Source, p.Arguments = "p", "p", "-", []gpu.Access{gpu.ReadWrite}
	require.NoError(t, d.Prepare(t.Context(), []*gpu.Program{p}))
	r, err := d.Record([]gpu.Command{{Program: p, Arguments: buffers, Groups: [3]int{1, 1, 1}}})
	require.NoError(t, err)
	failure := d.Run(ctx, r)
	return d.Values(buffers[0]), failure
}

func none(any, []gpu.Array) { panic("the body ran") }

// Split covers everything once.
func TestSplitCovers(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 1000} {
		x, err := run(t, t.Context(), n+1, &gpu.Program{Body: none, Fast: func(_ any, a []gpu.Array32, split gpu.Split) {
			split(n, func(from, to int) {
				for i := from; i < to; i++ {
					a[0].F[i]++
				}
			})
		}})
		require.NoError(t, err)
		for i := range n {
			require.EqualValues(t, 1, x[i], "%d of %d", i, n)
		}
		require.Zero(t, x[n])
	}
}

// A cancelled run leaves out the pieces that have not begun.
func TestCancelledWithinADispatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int64
	_, err := run(t, ctx, 1, &gpu.Program{Body: none, Fast: func(_ any, _ []gpu.Array32, split gpu.Split) {
		split(1<<20, func(from, to int) {
			begun.Add(int64(to - from))
			cancel()
		})
	}})
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, begun.Load(), int64(1<<20))
}

// Without a Fast the Body computes, and its results are kept.
func TestBodyComputesWhereThereIsNoFast(t *testing.T) {
	x, err := run(t, t.Context(), 3, &gpu.Program{Body: func(_ any, a []gpu.Array) {
		for i := range a[0].F {
			a[0].F[i] += 1.5
		}
	}})
	require.NoError(t, err)
	assert.Equal(t, []float32{1.5, 1.5, 1.5}, x)
}

// A panic on another goroutine becomes a panic of Run, with the program's name.
func TestPanicNamesTheProgram(t *testing.T) {
	require.PanicsWithValue(t, "processor: p: out of range", func() {
		_, _ = run(t, t.Context(), 1, &gpu.Program{Body: none, Fast: func(_ any, _ []gpu.Array32, split gpu.Split) {
			split(64, func(int, int) { panic("out of range") })
		}})
	})
}

// Kept data of an argument is fresh until the argument is written, in any way.
func TestKeptUntilWritten(t *testing.T) {
	d := processor.Open()
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	ctx, fresh, known := t.Context(), false, false
	keep := &gpu.Program{Name: "keep", Entry: "p", Source: "-", Arguments: []gpu.Access{gpu.Read}, Body: none,
		Fast: func(_ any, a []gpu.Array32, _ gpu.Split) {
			value, holds := a[0].Kept.Get(gpu.KeptKey{1})
			fresh, known = holds, value != nil
			a[0].Kept.Set(gpu.KeptKey{1}, "packed")
		}}
	change := &gpu.Program{Name: "change", Entry: "p", Source: "-", Arguments: []gpu.Access{gpu.ReadWrite}, Body: none,
		Fast: func(any, []gpu.Array32, gpu.Split) {}}
	require.NoError(t, d.Prepare(ctx, []*gpu.Program{keep, change}))
	buffers, err := d.Allocate(ctx, []gpu.BufferSpec{{Label: "x", Type: gpu.F32, Elements: 256}})
	require.NoError(t, err)
	x := buffers[0]
	first, second := gpu.NewView("first", x, 0, 64), gpu.NewView("second", x, 64, 64)
	run := func(c gpu.Command) {
		c.Groups = [3]int{1, 1, 1}
		r, err := d.Record([]gpu.Command{c})
		require.NoError(t, err)
		require.NoError(t, d.Run(ctx, r))
	}
	look := func(of gpu.Buffer) bool {
		run(gpu.Command{Program: keep, Arguments: []gpu.Buffer{of}})
		return fresh
	}
	assert.False(t, look(first))
	assert.True(t, look(first))
	assert.False(t, look(second), "another view has its own")
	for name, write := range map[string]func(){
		"Write":      func() { require.NoError(t, d.Write(second, 0, make([]byte, 4))) },
		"a dispatch": func() { run(gpu.Command{Program: change, Arguments: []gpu.Buffer{x}}) },
		"zeroing":    func() { run(gpu.Command{Clear: x}) },
	} {
		write()
		assert.False(t, look(first), name)
		assert.True(t, known, "%s: its memory can be used again", name)
		assert.True(t, look(first), name)
	}
	d.Values(x)
	assert.False(t, look(first))
	assert.False(t, look(first), "what may change unseen is never kept")
}

// No piece is lost if devices run at the same time, or with pauses between dispatches.
func TestDevicesShareTheThreads(t *testing.T) {
	var devices sync.WaitGroup
	for range 3 {
		devices.Go(func() {
			for i := range 200 {
				x, err := run(t, t.Context(), 100, &gpu.Program{Body: none, Fast: func(_ any, a []gpu.Array32, split gpu.Split) {
					for range 10 {
						split(100, func(from, to int) {
							for i := from; i < to; i++ {
								a[0].F[i]++
							}
						})
					}
				}})
				if !assert.NoError(t, err) || !assert.EqualValues(t, 1000, vector.Sum(x)) {
					return
				}
				if i%50 == 0 {
					time.Sleep(time.Millisecond) // longer than the threads look for work
				}
			}
		})
	}
	devices.Wait()
}
