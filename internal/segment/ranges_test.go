package segment

import (
	"testing"

	"mrprism/internal/files/imageio"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Weights without ranges give an error that says so. With the ranges of an image, its masks in int8
// are close to its masks in floats.
func TestInt8(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		m := open(t, segmenttest.Raters())
		_, err := New(t.Context(), d, m, model.Int8)
		require.ErrorIs(t, err, model.ErrNoRanges)
		require.ErrorContains(t, err, "untrained-raters")

		img := photograph(80, 60)
		images := []*imageio.Image{img, nil}
		m.Metadata.Ranges, err = Ranges(t.Context(), d, m, func() (*imageio.Image, error) {
			next := images[0]
			images = images[1:]
			return next, nil
		})
		require.NoError(t, err)
		e, err := New(t.Context(), d, m, model.Int8)
		require.NoError(t, err)
		defer e.Close()
		floats, err := engine(t, d, m).Segment(t.Context(), img, Options{Recurrences: 1, ROI: "none"})
		require.NoError(t, err)
		whole, err := e.Segment(t.Context(), img, Options{Recurrences: 1, ROI: "none"})
		require.NoError(t, err)
		want, got := floats.Probability(0), whole.Probability(0)
		assert.NotEqual(t, want, got)
		assert.InDeltaSlice(t, want, got, 0.1, "steps of a 127th of the largest, through some ten random layers")
	})
}

// Int8 weights become floats on the device, and f16 has a largest number. Without a precision an
// engine computes in f32.
func TestPrecisions(t *testing.T) {
	assert.NoError(t, fitHalf("w", []byte{127, 127}, []float32{1, 515}))
	assert.ErrorContains(t, fitHalf("w", []byte{127, 127}, []float32{1, 516}), "element 1 of w is 65532, and f16 ends at 65504")
	assert.Error(t, fitHalf("w", []byte{0x80}, []float32{512}))
	e, err := New(t.Context(), reference.Open(), open(t, segmenttest.Raters()), "")
	require.NoError(t, err)
	defer e.Close()
	r, err := e.Segment(t.Context(), photograph(40, 40), Options{ROI: "none"})
	require.NoError(t, err)
	assert.Equal(t, model.F32, r.Precision)
}
