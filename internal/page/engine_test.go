package page

import (
	"context"
	"errors"
	"testing"
	"time"

	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// held makes a world whose GPU compiles nothing before release is closed, and prepares a model.
func held(t *testing.T, name string) (w *world, release chan struct{}) {
	w, release = here(t, card), make(chan struct{})
	w.compile = func(d *fakeDevice, _ *weights.Model) error {
		if d.info.Adapter == "card" {
			<-release
		} else if w.misfit.Load() {
			return &weights.MismatchError{}
		}
		return nil
	}
	w.start()
	w.waiting.Store(true)
	require.NoError(t, w.Prepare(0, name, func(string, int, int) {}), "another message comes first")
	w.waiting.Store(false)
	return w, release
}

// The processor answers while the GPU's engine is being made, also for another model. Then the GPU
// answers.
func TestTheProcessorBridges(t *testing.T) {
	w, release := held(t, "brain")
	for _, name := range []string{"brain", "brain", "cells"} {
		got, err := w.ask(name)
		require.NoError(t, err)
		require.Equal(t, "Go", got)
		require.True(t, w.Computer().GPU)
	}
	w.segment = func(context.Context, *fakeDevice, segment.Options) error {
		return &segment.OptionError{Err: errors.New("no such region")}
	}
	_, err := w.ask("cells")
	require.Equal(t, "options", FaultOf(err).Code, "what is wrong is told at once")
	w.segment = nil
	close(release)
	<-w.engines.making.done
	_, err = w.Result(0)
	require.Equal(t, "gone", FaultOf(err).Code)
	require.Nil(t, w.engines.bridge, "any message gives the bridge up")
	w.asks("cells", card)
	require.Empty(t, w.notes)
}

// When the GPU is ready, the processor stops and the GPU takes over.
func TestAGPUThatIsReadyTakesOver(t *testing.T) {
	w, release := held(t, "brain")
	w.segment = func(ctx context.Context, d *fakeDevice, _ segment.Options) error {
		if d.info.Adapter == "card" {
			return nil
		}
		close(release)
		<-ctx.Done()
		return ctx.Err()
	}
	w.asks("brain", card)
}

// If the bridge fails, the request waits for the GPU, and the user is told nothing.
func TestABridgeThatFails(t *testing.T) {
	w, release := held(t, "brain")
	w.segment = func(_ context.Context, d *fakeDevice, _ segment.Options) error {
		if d.info.Adapter == "card" {
			return nil
		}
		close(release)
		return full
	}
	w.asks("brain", card)
	require.Empty(t, w.notes)
}

// Weights that do not fit fail on the bridge already.
func TestABridgeThatCannotBeMade(t *testing.T) {
	w, release := held(t, "brain")
	defer close(release)
	w.misfit.Store(true)
	_, err := w.ask("brain")
	require.Equal(t, "weights", FaultOf(err).Code)
}

// The processor does not bridge a large model or another precision: the request waits for the GPU.
func TestTheGPUIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		model     string
		precision model.Precision
	}{{"large", ""}, {"brain", model.Int8}} {
		w := here(t, card)
		w.platform.Precision = c.precision
		w.start()
		w.waiting.Store(true)
		require.NoError(t, w.Prepare(0, c.model, func(string, int, int) {}))
		w.asks(c.model, card)
		require.NotContains(t, w.take(), "compile "+c.model+" f32 on Go")
	}
}

// Cancel ends the wait for a GPU; the engine is made all the same.
func TestCancelWhileAGPUCompiles(t *testing.T) {
	w, release := held(t, "large")
	asked := requestsMade + 1
	job := w.job(asked, "large")
	job.Options.Progress = func(stage string, _, _ int) {
		if stage == "compile" {
			w.Cancel(asked)
		}
	}
	_, err := w.Segment(job)
	require.Equal(t, "cancelled", FaultOf(err).Code)
	requestsMade = asked
	close(release)
	w.asks("large", card)
	require.Len(t, w.take(), 3, "warm, compile, prove")
}

// Prepare waits until the engine is made, and proves it.
func TestPrepare(t *testing.T) {
	w := here(t, card).start()
	require.NoError(t, w.Prepare(0, "brain", func(string, int, int) {}))
	require.Equal(t, []string{"warm brain f32 on card", "compile brain f32 on card", "prove brain on card"}, w.take())
	w.asks("brain", card)
	require.NoError(t, w.Prepare(0, "brain", func(string, int, int) {}))
	require.Empty(t, w.take())
}

// Prepare ends when any message comes, and when it is cancelled.
func TestPrepareGivesWay(t *testing.T) {
	w, release := held(t, "brain")
	w.Interrupt() // of a message that has been answered
	go func() {
		w.waiting.Store(true)
		w.Interrupt()
	}()
	require.NoError(t, w.Prepare(0, "brain", func(string, int, int) {}))
	w.waiting.Store(false)
	go func() { w.Cancel(1) }()
	require.ErrorIs(t, w.Prepare(1, "brain", func(string, int, int) {}), context.Canceled)
	require.ErrorIs(t, func() error { w.Cancel(2); return w.Prepare(2, "brain", nil) }(), context.Canceled)
	close(release)
}

// If Prepare cannot make an engine, the request that needs it tries again and meets the error.
func TestWhatPrepareCannotMake(t *testing.T) {
	w := here(t, card).start()
	w.compile = func(*fakeDevice, *weights.Model) error { return full }
	require.NoError(t, w.Prepare(0, "brain", func(string, int, int) {}))
	require.Empty(t, w.notes)
	w.compile = nil
	w.asks("brain", card)
}

// A software adapter is proved only while nobody waits for it.
func TestProofsOfSoftware(t *testing.T) {
	w := here(t, software).start()
	w.asks("brain", software)
	require.NotContains(t, w.take(), "prove brain on software")
	require.NoError(t, w.Prepare(0, "cells", func(string, int, int) {}))
	require.Contains(t, w.take(), "prove cells on software")
}

// Another model's engine takes the place of the first. While its weights arrive, the device
// compiles nothing.
func TestAnotherModel(t *testing.T) {
	w := here(t, card).start()
	w.asks("brain", card)
	w.take()
	w.asks("cells", card)
	require.Equal(t, []string{"compile cells f32 on card", "prove cells on card"}, w.take())
}

// A request for another model replaces the engine that is being made. The replaced engine is not
// proved.
func TestAnotherModelWhileAGPUCompiles(t *testing.T) {
	w, release := held(t, "brain")
	requestsMade++
	brain, job := w.engines.making, w.job(requestsMade, "large")
	job.Options.Progress = func(stage string, _, _ int) {
		if stage == "compile" {
			require.Eventually(t, brain.stale.Load, time.Second, time.Millisecond)
			close(release)
		}
	}
	r, err := w.Segment(job)
	require.NoError(t, err)
	require.Equal(t, "card", r.Adapter)
	require.Equal(t, []string{"warm brain f32 on card", "compile brain f32 on card", "compile large f32 on card", "prove large on card"}, w.take())
}
