package train

import (
	"context"
	"math"
	"runtime"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/shaders/gpu"

	"github.com/stretchr/testify/require"
)

// counting is a device that counts what makes something on it.
type counting struct {
	gpu.Device
	made int
}

func (c *counting) Allocate(ctx context.Context, specs []gpu.BufferSpec) ([]gpu.Buffer, error) {
	c.made++
	return c.Device.Allocate(ctx, specs)
}

func (c *counting) Prepare(ctx context.Context, programs []*gpu.Program) error {
	c.made++
	return c.Device.Prepare(ctx, programs)
}

func (c *counting) Record(commands []gpu.Command) (gpu.Recording, error) {
	c.made++
	return c.Device.Record(commands)
}

// A step allocates nothing on the device, and nothing in Go that stays. It allocates for a short
// time the batch in the device's bytes and, for each of thousands of commands, at most the
// arguments of the calls that encode it (purego keeps them in Go's memory). Dawn's device submits
// in portions of equal time, each with its own calls, so that a slower machine makes more of them.
func TestStepsMakeNothingThatStays(t *testing.T) {
	const (
		steps            = 2
		windows          = 3
		objectsACommand  = 16      // measured: Dawn 4.0, 6.5 on a busy machine; wgpu-native 2.6
		bytesACommand    = 450     // measured: 97, 178; 35
		staysAltogether  = 8 << 10 // bytes; it is the runtime's own
		besidesTheInputs = 1.2     // of their bytes: w₀, shares, permutations
	)
	data, _ := finished(t)
	some(t, func(t *testing.T, device gpu.Device) {
		o := options(t, data)
		o.Phases = []Phase{{64, 50}}
		d := &counting{Device: device}
		trainer, err := New(t.Context(), d, o, nil)
		require.NoError(t, err)
		defer trainer.Close()
		p, err := trainer.prepare(t.Context(), 64, trainer.Options.Recipe)
		require.NoError(t, err)
		defer p.release()
		batches := make([]*dataset.Batch, windows*steps+2) // made before, so that steps alone are measured
		ready := make(chan *dataset.Batch, len(batches))
		for i := range batches {
			batches[i] = <-p.data
			ready <- batches[i]
		}
		p.cancel()
		p.data = ready
		step := func() {
			_, err := trainer.takeStep(t.Context(), p)
			require.NoError(t, err)
		}
		memory := func(collect bool) (m runtime.MemStats) {
			if collect {
				runtime.GC()
				runtime.GC() // a pool's victims live for one more
			}
			runtime.ReadMemStats(&m)
			return m
		}
		step()
		step()
		made, stays, objects, bytes := d.made, int64(math.MaxInt64), math.Inf(1), math.Inf(1)
		for range windows { // what a step leaves is in every one of them, what the runtime does meanwhile is not
			before := memory(true)
			for range steps {
				step()
			}
			after := memory(false)
			stays = min(stays, int64(memory(true).HeapAlloc)-int64(before.HeapAlloc))
			objects = min(objects, float64(after.Mallocs-before.Mallocs)/steps)
			bytes = min(bytes, float64(after.TotalAlloc-before.TotalAlloc)/steps)
		}
		require.Equal(t, made, d.made, "allocations, programs and recordings on the device")
		require.Less(t, stays, int64(staysAltogether))
		commands := p.plan.Commands().Commands
		n, inputs := float64(len(commands)), float64(4*(p.step.X.Elements()+p.step.Z.Elements()))
		t.Logf("%.0f objects and %.0f bytes a step of %.0f commands and %.0f bytes of images and labels; %d bytes stay", objects, bytes, n, inputs, stays)
		if d.Info().InGo() {
			return // its kernels are Go and make slices of their own
		}
		require.Less(t, objects, objectsACommand*n)
		require.Less(t, bytes, bytesACommand*n+besidesTheInputs*inputs)
		runtime.KeepAlive(batches)
	})
}
