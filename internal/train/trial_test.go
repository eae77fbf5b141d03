package train

import (
	"context"
	"errors"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// metered is a device that sums up the allocated memory.
type metered struct {
	gpu.Device
	bytes int64
}

func (m *metered) Allocate(ctx context.Context, specs []gpu.BufferSpec) ([]gpu.Buffer, error) {
	for _, s := range specs {
		m.bytes += int64(s.Bytes())
	}
	return m.Device.Allocate(ctx, specs)
}

// A trial predicts the memory of the run within a tenth, and writes nothing.
func TestTry(t *testing.T) {
	data, _ := finished(t)
	some(t, func(t *testing.T, device gpu.Device) {
		for name, change := range map[string]func(*Options){
			"plain":     func(*Options) {},
			"elaborate": func(o *Options) { o.Accumulate, o.Clip, o.Fold = 2, 0.5, Fold{2, 4} },
		} {
			o := options(t, data)
			o.Phases = []Phase{{64, 1}}
			change(&o)
			run := o
			o.DryRun, o.Out = true, ""
			tried, err := New(t.Context(), device, o, nil)
			require.NoError(t, err)
			var trials []Trial
			require.NoError(t, tried.Try(t.Context(), func(trial Trial) { trials = append(trials, trial) }))
			steps := tried.Steps()
			tried.Close()
			require.Len(t, trials, 1)
			assert.Equal(t, 64, trials[0].Side)
			assert.Positive(t, trials[0].Seconds)
			assert.Less(t, trials[0].DataSeconds, trials[0].Seconds)
			assert.InEpsilon(t, float64(steps)*trials[0].Seconds, trials[0].Left.Seconds(), 1e-3)

			meter := &metered{Device: device}
			train(t, meter, run, steps)
			t.Logf("%s: said %d, used %d bytes", name, trials[0].Bytes, meter.bytes)
			assert.InEpsilon(t, meter.bytes, trials[0].Bytes, 0.1, name)
		}
	})
}

// Every side is tried once.
func TestTryPhases(t *testing.T) {
	data, _ := finished(t)
	o := options(t, data)
	o.Phases, o.DryRun = []Phase{{128, 1}, {64, 1}, {128, 2}, {192, 0}}, true
	tried, err := New(t.Context(), processor(t), o, nil)
	require.NoError(t, err)
	defer tried.Close()
	var sides []int
	var seconds []float64
	require.NoError(t, tried.Try(t.Context(), func(trial Trial) {
		sides = append(sides, trial.Side)
		seconds = append(seconds, trial.Left.Seconds()/trial.Seconds)
	}))
	assert.Equal(t, []int{128, 64}, sides)
	assert.InDeltaSlice(t, []float64{6, 2}, seconds, 1e-3, "steps at each side")
	assert.NoDirExists(t, o.Out)
}

// A trial that is cancelled while it waits for data returns the context's error.
func TestTryInterrupted(t *testing.T) {
	data, _ := finished(t)
	o := options(t, data)
	o.DryRun = true
	tried, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	defer tried.Close()
	ctx, stop := context.WithCancelCause(t.Context())
	p, err := tried.prepare(ctx, 64, tried.Options.Recipe)
	require.NoError(t, err)
	defer p.release()
	why := errors.New("enough")
	stop(why)
	for range p.data { // what was made already
	}
	_, err = tried.takeStep(ctx, p)
	require.ErrorIs(t, err, why)
}
