package segment

import (
	"context"
	"fmt"
	"testing"

	"mrprism/internal/files/imageio"
	"mrprism/internal/segment/segmenttest"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A model with Mirrored gives the mean of an image and its mirror image, for both of them. The
// recurrences can run again and give the same mean, after either image and after an interrupted
// run.
func TestMirrored(t *testing.T) {
	d := reference.Open()
	about := segmenttest.Raters()
	once := engine(t, d, open(t, about))
	about.Mirrored = true
	twice := engine(t, d, open(t, about))
	img := photograph(64, 64)
	mirrored := &imageio.Image{W: 64, H: 64, Pix: make([]uint8, len(img.Pix))}
	for i := range img.Pix {
		y, x, c := i/3/64, i/3%64, i%3
		mirrored.Pix[i] = img.Pix[(y*64+63-x)*3+c]
	}

	options := Options{Recurrences: 2, ROI: "none", RaterWeights: []float32{1, .2, .7}}
	var told []string
	options.Progress = func(stage string, done, total int) { told = append(told, stage) }
	segment := func(e *Engine, img *imageio.Image) *Result {
		r, err := e.Segment(t.Context(), img, options)
		require.NoError(t, err)
		return r
	}
	a, b := segment(once, img), segment(once, mirrored)
	told = nil
	both := segment(twice, img)
	assert.Equal(t, []string{"segment", "segment", "segment", "segment", "mirror", "mirror", "mirror", "mirror"}, told)
	assert.Contains(t, both.Timings, "mirror")
	assert.NotContains(t, a.Timings, "mirror")
	differ := 0
	for i, maps := range append(append([][]float32{}, both.masks...), both.raters) {
		of := func(r *Result) []float32 {
			if i < len(r.masks) {
				return r.masks[i]
			}
			return r.raters
		}
		channels := len(maps) / (a.side * a.side)
		for j, v := range maps {
			pixel, c := j/channels, j%channels
			y, x := pixel/a.side, pixel%a.side
			there := of(b)[(y*a.side+a.side-1-x)*channels+c]
			require.InDelta(t, (of(a)[j]+there)/2, v, 1e-6)
			if of(a)[j] != there {
				differ++
			}
		}
	}
	require.Positive(t, differ, "or this test says little")

	again := func() { // the encoder has seen one way round or the other
		t.Helper()
		r, err := twice.Recalculate(t.Context(), options)
		require.NoError(t, err)
		assert.Equal(t, both.masks, r.masks)
		assert.Equal(t, both.raters, r.raters)
	}
	again()
	again()
	for _, at := range []string{"segment 1", "mirror 0", "mirror 1", "mirror 1"} {
		ctx, cancel := context.WithCancel(t.Context())
		interrupted := options
		interrupted.Progress = func(now string, done, _ int) {
			if fmt.Sprint(now, " ", done) == at {
				cancel()
			}
		}
		_, err := twice.Recalculate(ctx, interrupted)
		require.ErrorIs(t, err, context.Canceled)
		again()
	}
}
