package segment

import (
	"testing"

	"mrprism/internal/gpu/reference"
	"mrprism/internal/imageio"
	"mrprism/internal/segment/segmenttest"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// painted is an image of one colour with a black frame, which has none.
func painted(r, g, b uint8) *imageio.Image {
	img := &imageio.Image{W: 40, H: 40, Pix: make([]uint8, 3*40*40)}
	for y := 8; y < 32; y++ {
		for x := 8; x < 32; x++ {
			copy(img.Pix[3*(40*y+x):], []uint8{r, g, b})
		}
	}
	return img
}

func TestColours(t *testing.T) {
	red, blue := colours(painted(150, 75, 25))
	assert.InDelta(t, .6, red, 1e-9)
	assert.InDelta(t, .1, blue, 1e-9)
	red, blue = colours(painted(9, 9, 9))
	assert.Equal(t, [2]float64{1. / 3, 1. / 3}, [2]float64{red, blue}, "too dark to have a colour")

	var seen *weights.Colours
	for _, img := range []*imageio.Image{painted(150, 75, 25), painted(140, 60, 0), painted(120, 80, 40)} {
		seen = Widened(seen, img)
	}
	assert.InDeltaSlice(t, []float64{.5, .7}, seen.Red[:], 1e-9)
	assert.InDeltaSlice(t, []float64{0, 1. / 6}, seen.Blue[:], 1e-9)

	about := segmenttest.Raters()
	about.Colours = seen
	e := engine(t, reference.Open(), open(t, about))
	for _, c := range []struct {
		img    *imageio.Image
		unlike bool
	}{
		{painted(150, 75, 25), false}, {painted(225, 110, 40), false}, {painted(60, 30, 10), false}, {painted(112, 71, 32), false}, // brighter, darker, bluish
		{painted(100, 100, 100), true}, {painted(40, 160, 40), true}, {painted(95, 70, 45), false}, {painted(90, 40, 70), true}, {painted(3, 3, 3), true},
	} {
		r, err := e.Segment(t.Context(), c.img, Options{ROI: "none"})
		require.NoError(t, err)
		assert.Equal(t, c.unlike, r.Unlike, "%v", c.img.Pix[3*(40*20+20):][:3])
	}

	r, err := engine(t, reference.Open(), open(t, segmenttest.Raters())).Segment(t.Context(), painted(0, 200, 0), Options{ROI: "none"})
	require.NoError(t, err)
	assert.False(t, r.Unlike, "where nothing is known")
}
