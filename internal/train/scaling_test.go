package train

import (
	"context"
	"math"
	"slices"
	"testing"

	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestScaling(t *testing.T) {
	s := newScaling(model.F16)
	assert.Equal(t, scaling{Scale: 65536}, s)
	step := func(finite bool) {
		t.Helper()
		var err error
		s, err = s.next(finite)
		require.NoError(t, err)
	}
	step(true)
	step(false)
	step(false)
	assert.Equal(t, scaling{Scale: 16384, Skipped: 2}, s)
	for range goodSteps - 1 {
		step(true)
	}
	assert.Equal(t, scaling{Scale: 16384, Good: 1999, Skipped: 2}, s)
	parsed, err := parseScaling(s.String())
	require.NoError(t, err)
	assert.Equal(t, s, parsed)
	step(true)
	assert.Equal(t, scaling{Scale: 32768, Skipped: 2}, s)
	for range 15 {
		step(false)
	}
	assert.Equal(t, scaling{Scale: 1, Skipped: 17}, s)
	_, err = s.next(false)
	require.ErrorIs(t, err, ErrDiverged)

	s = newScaling("")
	step(true)
	assert.Equal(t, newScaling(model.F32), s)
	_, err = s.next(false)
	require.ErrorIs(t, err, ErrDiverged)
	for _, text := range []string{"", "1 2", "0 1 2", "NaN 1 1", "1 -1 0"} {
		_, err := parseScaling(text)
		assert.Error(t, err, text)
	}
}

// curve is a run's losses. begun, if not nil, gets the trainer before it runs.
func curve(t *testing.T, d gpu.Device, o Options, begun func(*Trainer)) (reports []Report) {
	t.Helper()
	trainer, err := New(t.Context(), d, o, nil)
	require.NoError(t, err)
	defer trainer.Close()
	if begun != nil {
		begun(trainer)
	}
	require.NoError(t, trainer.Run(t.Context(), func(r Report) { reports = append(reports, r) }))
	return reports
}

// In f16 the loss follows the curve of f32, with all options. A device without f16 refuses it
// before any image is read.
func TestMixedPrecisionFollowsF32(t *testing.T) {
	data := writeData(t, 9)
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		o := options(t, data)
		o.Seed = 2 // some seeds grow roundings further
		o.Phases, o.Accumulate, o.Clip, o.Recompute, o.Precision = []Phase{{64, 3}}, 2, 1, true, model.F16
		if model.F16.Runs(d.Info()) != nil {
			_, err := New(t.Context(), d, o, func(int, int) { t.Error("read images first") })
			require.ErrorContains(t, err, "it lacks shader-f16); use f32")
			assert.NoDirExists(t, o.Out)
			return
		}
		got := curve(t, d, o, nil)
		o = options(t, data)
		o.Seed = 2
		o.Phases, o.Accumulate, o.Clip, o.Recompute = []Phase{{64, 3}}, 2, 1, true
		want := curve(t, d, o, nil)
		require.Len(t, got, len(want))
		for i, r := range want {
			assert.InEpsilon(t, r.Loss, got[i].Loss, 0.03, "step %d", r.Step) // the bridge normalises over two pixels here, so that roundings grow
			assert.InEpsilon(t, r.Norm, got[i].Norm, 0.3, "step %d", r.Step)
			assert.Zero(t, r.Scale)
			assert.EqualValues(t, model.LossScale, got[i].Scale)
		}
		assert.Less(t, got[len(got)-1].Loss, 0.9*got[0].Loss)
	})
}

// A scale far too large is halved until gradients fit. Skipped steps change no parameter. A stopped
// and resumed run ends with the bytes of one that is not stopped, and it cannot be resumed in f32.
func TestLossScaleRecovers(t *testing.T) {
	data := writeData(t, 5)
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		if err := model.F16.Runs(d.Info()); err != nil {
			t.Skip(err)
		}
		const tooLarge = 1 << 26
		straight, stopped := options(t, data), options(t, data)
		straight.Precision, straight.Phases = model.F16, []Phase{{64, 8}}
		var notes []string
		straight.Note = func(text string) { notes = append(notes, text) }
		stopped.Precision, stopped.Phases = straight.Precision, straight.Phases
		raise := func(trainer *Trainer) { trainer.scaled.Scale = tooLarge }
		reports := curve(t, d, straight, raise)
		skipped := 0
		for reports[skipped].Skipped {
			assert.EqualValues(t, math.Ldexp(tooLarge, -skipped), reports[skipped].Scale)
			skipped++
		}
		require.Greater(t, skipped, 3)
		assert.Contains(t, notes, "step 1: a gradient is too large for f16 with the loss scale 6.7108864e+07: no update, and the scale is now 3.3554432e+07")
		updates := 0
		for _, r := range reports[skipped:] { // a gradient may yet grow beyond what just fitted
			assert.Equal(t, r.Skipped, r.Norm == 0)
			if !r.Skipped {
				updates++
			}
		}
		assert.Greater(t, updates, 6)
		assert.Less(t, reports[len(reports)-1].Loss, reports[0].Loss)

		trainer, err := New(t.Context(), d, stopped, nil)
		require.NoError(t, err)
		raise(trainer)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		require.ErrorIs(t, trainer.Run(ctx, func(r Report) {
			if r.Step == 2 {
				cancel()
			}
		}), context.Canceled)
		trainer.Close()
		saved := must(weights.Decode(results(t, stopped.Out)["eyes.f32.safetensors"]))
		scales := must(saved.Tensor("encoder.bn1.weight").Float32())
		assert.Equal(t, slices.Repeat([]float32{1}, len(scales)), scales, "no update so far: as it began")
		stopped.Resume = true
		train(t, d, stopped, skipped+2)
		train(t, d, stopped, len(reports))
		requireSame(t, straight.Out, stopped.Out)

		stopped.Precision = model.F32
		_, err = New(t.Context(), d, stopped, nil)
		require.ErrorIs(t, err, errOptions)
		assert.ErrorContains(t, err, `precision: then "f16", now ""`)
	})
}

func TestPrecisionRefused(t *testing.T) {
	o := options(t, writeData(t, 5))
	o.Precision = model.Int8
	assert.ErrorContains(t, o.Check(), "precision int8: train in f32 or f16")
	o.Precision = model.F16
	_, err := New(t.Context(), reference.Open(), o, nil)
	assert.ErrorContains(t, err, "use f32")
}
