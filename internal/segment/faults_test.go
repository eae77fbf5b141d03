package segment

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"mrprism/internal/files/imageio"
	"mrprism/internal/files/raster"
	"mrprism/internal/segment/segmenttest"
	"mrprism/internal/trust"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRefusedOptions(t *testing.T) {
	img := photograph(64, 64)
	levels, raters := engine(t, reference.Open(), open(t, segmenttest.Fundus())), engine(t, reference.Open(), open(t, segmenttest.Raters()))
	for want, try := range map[string]func() error{
		"call Segment first": func() error { _, err := raters.Recalculate(t.Context(), Options{}); return err },
		"agreement levels": func() error {
			_, err := levels.Segment(t.Context(), img, Options{RaterWeights: make([]float32, 4)})
			return err
		},
		"2 rater weights": func() error {
			_, err := raters.Segment(t.Context(), img, Options{RaterWeights: make([]float32, 2)})
			return err
		},
		"not in 0..1": func() error {
			_, err := raters.Segment(t.Context(), img, Options{RaterWeights: []float32{0, 2, 0}})
			return err
		},
		"-1 recurrences":           func() error { _, err := raters.Segment(t.Context(), img, Options{Recurrences: -1}); return err },
		"99 recurrences":           func() error { _, err := raters.Segment(t.Context(), img, Options{Recurrences: 99}); return err },
		`region "middle"`:          func() error { _, err := raters.Segment(t.Context(), img, Options{ROI: "middle"}); return err },
		"does not fit this image":  func() error { _, err := raters.Segment(t.Context(), img, Options{ROI: "64,0,10"}); return err },
		"region 0,0,129 does not":  func() error { _, err := raters.Segment(t.Context(), img, Options{ROI: "0,0,129"}); return err },
		"is not 8-bit RGB":         func() error { _, err := raters.Segment(t.Context(), &imageio.Image{W: 2, H: 2}, Options{}); return err },
		"0×0 pixels with 0 bytes ": func() error { _, err := raters.Segment(t.Context(), &imageio.Image{}, Options{}); return err },
	} {
		require.ErrorContains(t, try(), want)
	}
}

// If all probabilities are below one half, there is no structure.
func TestNothingFound(t *testing.T) {
	d := &counter{Device: reference.Open()}
	e := engine(t, d, biased(t, segmenttest.Fundus(), -20, -20))
	img := photograph(120, 90)
	r, err := e.Segment(t.Context(), img, Options{Recurrences: 1})
	require.NoError(t, err)
	require.False(t, r.Found)
	require.Equal(t, []Doubt{{trust.NotFound, "No disc was found in this picture."}}, r.Doubts)
	require.Zero(t, slices.Max(r.Recurrence(1, 0)))
	require.Zero(t, slices.Max(r.Rater(3, 1)))
	require.Zero(t, *r.Measurements.Structures[1].High)
	img.Cut = raster.Span{Low: 0, High: 9}
	searched := d.runs
	for _, again := range []func() (*Result, error){
		func() (*Result, error) { return e.Segment(t.Context(), img, Options{Recurrences: 3}) },
		func() (*Result, error) { return e.Recalculate(t.Context(), Options{Recurrences: 3}) },
	} {
		r, err = again()
		require.NoError(t, err)
		require.False(t, r.Found)
		require.Zero(t, slices.Max(r.Recurrence(3, 0)))
		require.Contains(t, r.Looks, "whole")
		require.Equal(t, trust.Range, r.Doubts[1].Code, "with a wider range there may be something")
	}
	require.Equal(t, searched, d.runs, "the same image is not searched again")
	r, err = e.Segment(t.Context(), photograph(120, 90), Options{Recurrences: 1, ROI: "none"})
	require.NoError(t, err)
	require.False(t, r.Found)
	require.Nil(t, r.Measurements.VerticalRatio)
	require.Zero(t, r.Measurements.Structures[0].Area)
}

func TestWrongWeightsAreRefused(t *testing.T) {
	fresh := func() *weights.File {
		f, err := segmenttest.Untrained(segmenttest.Raters())
		require.NoError(t, err)
		return f
	}
	t.Run("missing, unexpected and of another shape, all in one message", func(t *testing.T) {
		f := fresh()
		f.Tensors = slices.DeleteFunc(f.Tensors, func(w weights.Tensor) bool { return w.Name == "divp.project.bias" })
		f.Tensors = append(f.Tensors, weights.NewF32("extra", []int{2}, []float32{1, 2}))
		at := f.Tensor("conp.head.bias")
		*at = weights.NewF32(at.Name, []int{2}, []float32{0, 0})
		_, err := New(t.Context(), reference.Open(), seal(t, f), model.F32)
		var mismatch *weights.MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.Len(t, mismatch.Missing, 1)
		for _, part := range []string{"untrained-raters", "divp.project.bias [8]", "extra", "conp.head.bias is [2], expected [1]"} {
			require.ErrorContains(t, err, part)
		}
	})
	t.Run("one flipped byte", func(t *testing.T) {
		data, err := segmenttest.Encode(fresh())
		require.NoError(t, err)
		for _, at := range []int{3, 50, len(data) / 2, len(data) - 1} {
			damaged := slices.Clone(data)
			damaged[at] ^= 0x10
			_, err = weights.Shipped().Open("untrained", damaged)
			require.Error(t, err, "byte %d", at)
		}
	})
	t.Run("unknown configuration", func(t *testing.T) {
		m := seal(t, fresh())
		m.Metadata.Configuration = "huge"
		_, err := New(t.Context(), reference.Open(), m, model.F32)
		require.ErrorContains(t, err, `"huge"`)
	})
}

// counter counts submissions and can spoil reads.
type counter struct {
	gpu.Device
	runs  int
	spoil func(ranges []gpu.Range) error
}

func (c *counter) Run(ctx context.Context, recordings ...gpu.Recording) error {
	c.runs++
	return c.Device.Run(ctx, recordings...)
}

func (c *counter) Read(ctx context.Context, ranges ...gpu.Range) error {
	err := c.Device.Read(ctx, ranges...)
	if err == nil && c.spoil != nil {
		err = c.spoil(ranges)
	}
	return err
}

// A fault of the device gives an error that describes it, and never a mask. The engine works again
// when the device does.
func TestFaultsOfTheDeviceNeverBecomeMasks(t *testing.T) {
	fill := func(v float32) func([]gpu.Range) error {
		return func(ranges []gpu.Range) error {
			for _, r := range ranges {
				copy(r.Dst, gpu.Float32Bytes(slices.Repeat([]float32{v}, len(r.Dst)/4)))
			}
			return nil
		}
	}
	fails := func(err error) func([]gpu.Range) error { return func([]gpu.Range) error { return err } }
	d := &counter{Device: reference.Open()}
	e := engine(t, d, open(t, segmenttest.Raters()))
	img := photograph(80, 80)
	for _, fault := range []struct {
		spoil func([]gpu.Range) error
		want  error
	}{
		{fill(0), model.ErrNothing}, {fill(float32(math.NaN())), model.ErrNotFinite}, {fill(float32(math.Inf(1))), model.ErrNotFinite},
		{fill(-.1), model.ErrNotFinite}, {fails(gpu.ErrLost), gpu.ErrLost}, {fails(gpu.ErrOutOfMemory), gpu.ErrOutOfMemory},
		{fails(gpu.ErrValidation), gpu.ErrValidation}, {fails(errors.New("map rejected")), nil},
	} {
		d.spoil = fault.spoil
		r, err := e.Segment(t.Context(), img, Options{Recurrences: 1})
		require.Nil(t, r)
		require.Error(t, err)
		if fault.want != nil {
			assert.ErrorIs(t, err, fault.want)
		}
	}
	d.spoil = nil
	_, err := e.Segment(t.Context(), img, Options{Recurrences: 1})
	require.NoError(t, err)
}

// If reading the features fails, the next call reads them: every result has the features of its
// region.
func TestLooksAreNotLost(t *testing.T) {
	d := &counter{Device: reference.Open()}
	e := engine(t, d, open(t, segmenttest.Raters()))
	img := photograph(80, 80)
	d.spoil = func(ranges []gpu.Range) error {
		if len(ranges) == 4 { // the bridge's map, and three merges
			return context.Canceled
		}
		return nil
	}
	_, err := e.Segment(t.Context(), img, Options{})
	require.ErrorIs(t, err, context.Canceled)
	d.spoil = nil
	for range 2 {
		r, err := e.Segment(t.Context(), img, Options{})
		require.NoError(t, err)
		require.Contains(t, r.Looks, "close")
		clear(r.Looks) // the caller's own
	}
}

func TestCancelling(t *testing.T) {
	e := engine(t, reference.Open(), open(t, segmenttest.Raters()))
	img := photograph(80, 80)
	ctx, cancel := context.WithCancel(t.Context())
	var told []string
	_, err := e.Segment(ctx, img, Options{Recurrences: 3, Progress: func(stage string, done, total int) {
		told = append(told, stage)
		require.Equal(t, 4, total)
		if done == 2 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"segment", "segment", "segment", "segment"}, told) // before the encoder, and Rec0, Rec1, Rec2
	_, err = e.Segment(t.Context(), img, Options{Recurrences: 3})
	require.NoError(t, err)
}
