package page

import (
	"fmt"
	"testing"
	"time"

	"mrprism/model"
	"mrprism/shaders/gpu"

	"github.com/stretchr/testify/require"
)

var (
	lost = fmt.Errorf("%w: reading", gpu.ErrLost)
	full = fmt.Errorf("%w: 3 GB", gpu.ErrOutOfMemory)
)

func TestTheWishedDeviceComputes(t *testing.T) {
	w := here(t, card).start()
	require.Equal(t, Device{Name: card.String(), GPU: true}, w.Computer())
	w.asks("brain", card)
	require.Empty(t, w.notes)

	w = here(t, software).start()
	require.Equal(t, Device{Name: software.String(), GPU: true, Software: true}, w.Computer())

	faster := processor
	faster.Why = "9 times as fast"
	w = here(t, faster).start()
	require.Equal(t, Device{Name: processor.String(), Why: "9 times as fast"}, w.Computer())
}

// Without an adapter the processor computes. A browser with WebGPU may offer one later.
func TestWithoutAnAdapter(t *testing.T) {
	for _, returns := range []bool{false, true} {
		w := here(t, noAdapter, card)
		w.platform.Returns = returns
		w.start()
		require.Equal(t, Device{Name: processor.String(), Reason: noAdapter.Error()}, w.Computer())
		w.asks("brain", processor)
		w.time = w.time.Add(gpuPause)
		if !returns {
			w.asks("brain", processor)
			continue
		}
		w.asks("brain", card)
		require.Equal(t, []Device{{Name: card.String(), GPU: true}}, w.told)
		require.Equal(t, []string{""}, w.notes)
	}
}

func TestPrecisions(t *testing.T) {
	halves := card
	halves.Features = []string{"shader-f16"}
	for _, c := range []struct {
		wished, want model.Precision
		device       gpu.Info
	}{
		{"", model.F32, halves}, {"f64", model.F32, halves}, {model.F16, model.F16, halves}, {model.F16, model.F32, card}, {model.Int8, model.Int8, card},
	} {
		w := here(t, c.device)
		w.platform.Precision = c.wished
		w.start().asks("brain", c.device)
		require.Contains(t, w.take(), fmt.Sprintf("compile brain %s on card", c.want))
	}
}

// A GPU that is lost is opened again, and the image is segmented anew.
func TestALostGPUIsOpenedAgain(t *testing.T) {
	w := here(t, card).start()
	for range 2 {
		w.fails("card", lost)
		w.asks("brain", card)
		w.time = w.time.Add(lossWindow + 1)
	}
	require.Equal(t, []string{"", ""}, w.notes)
}

func TestALostGPUDoesNotComeBack(t *testing.T) {
	w := here(t, card, noAdapter, card).start()
	w.fails("card", lost)
	w.asks("brain", processor)
	require.Equal(t, []string{"The graphics processor was lost and does not come back; the processor computes."}, w.notes)
	require.Equal(t, noAdapter.Error(), w.Computer().Reason)
	w.time = w.time.Add(gpuPause)
	w.asks("brain", card)
}

// A second loss, in the same request or soon after, leaves the GPU alone for a while.
func TestAGPUIsLostTwice(t *testing.T) {
	const note = "The graphics processor failed twice; the processor computes meanwhile. It takes longer, with the same result."
	w := here(t, card).start()
	w.fails("card", lost, lost)
	w.asks("brain", processor)
	require.Equal(t, []string{"", note}, w.notes)
	require.Equal(t, lost.Error(), w.Computer().Reason)
	w.time = w.time.Add(gpuPause - 1)
	w.asks("cells", processor)
	w.time = w.time.Add(1)
	w.asks("cells", card)

	w = here(t, card).start()
	w.fails("card", lost)
	w.asks("brain", card)
	w.time = w.time.Add(lossWindow)
	w.fails("card", lost)
	w.asks("brain", processor)
	require.Equal(t, []string{"", note}, w.notes)
}

// If the GPU is still refused after its pause, or slower, the processor keeps its engine.
func TestAPauseIsProlonged(t *testing.T) {
	w := here(t, card, noAdapter, noAdapter, processor, card).start()
	w.fails("card", lost)
	w.asks("brain", processor)
	w.take()
	for range 2 {
		w.time = w.time.Add(gpuPause)
		w.asks("brain", processor)
		w.asks("brain", processor)
		require.Empty(t, w.take(), "nothing is compiled")
	}
	w.time = w.time.Add(gpuPause)
	w.asks("brain", card)
}

// The processor computes a model that a GPU refuses or computes wrongly. Another model returns to
// the GPU.
func TestAModelThatAGPUCannotRun(t *testing.T) {
	const refusal, mistake = "The graphics processor cannot run this model; the processor computes. It takes longer, with the same result.",
		"What the graphics processor computed is not shown; the processor computes. It takes longer."
	for cause, note := range map[error]string{
		gpu.ErrValidation: refusal, gpu.ErrInternal: refusal, model.ErrNothing: mistake, model.ErrNotFinite: mistake, model.ErrWrong: mistake,
	} {
		w := here(t, card).start()
		w.fails("card", fmt.Errorf("running: %w", cause))
		w.asks("brain", processor)
		require.Equal(t, []string{note}, w.notes)
		require.Equal(t, "running: "+cause.Error(), w.Computer().Reason)
		w.time = w.time.Add(time.Hour)
		w.asks("brain", processor)
		w.asks("cells", card)
	}
}

// The proof of a model, computed when its engine is made, finds a GPU that computes wrongly.
func TestAGPUThatFailsTheProof(t *testing.T) {
	w := here(t, card).start()
	w.prove = func(*fakeDevice) error { return model.ErrWrong }
	w.asks("brain", processor)
	require.Len(t, w.notes, 1)
	require.Contains(t, w.take(), "prove brain on card")
	require.NotContains(t, w.take(), "prove brain on Go")
}

func TestMemoryThatDoesNotSuffice(t *testing.T) {
	w := here(t, card).start()
	w.fails("card", full)
	w.asks("brain", processor)
	require.Equal(t, []string{"The graphics memory does not suffice; the processor computes. It takes longer, with the same result."}, w.notes)
	w.fails("Go", full)
	_, err := w.ask("brain")
	require.Equal(t, "memory", FaultOf(err).Code)
	require.Len(t, w.notes, 1, "nothing else could compute")
	w.asks("brain", processor)
}

// A fault of the question is a fault on every device: the processor does not repeat it.
func TestOtherErrorsStay(t *testing.T) {
	w := here(t, card).start()
	w.fails("card", fmt.Errorf("no such region"))
	_, err := w.ask("brain")
	require.EqualError(t, err, "a.png: no such region")
	require.Empty(t, w.notes)
}
