package roi

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/imageio"
)

// lamp is a picture of w×h pixels that is lit only within a rectangle.
func lamp(w, h, x0, y0, x1, y1 int) *imageio.Image {
	img := &imageio.Image{W: w, H: h, Pix: make([]uint8, 3*w*h)}
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			img.Pix[3*(y*w+x)] = 90
		}
	}
	return img
}

func TestField(t *testing.T) {
	whole := imageio.Letterbox(400, 300)
	assert.Equal(t, imageio.Square{X: 100, Y: 50, Side: 200}, Field(lamp(400, 300, 100, 50, 300, 250)))
	assert.Equal(t, imageio.Square{X: 100, Y: 0, Side: 200}, Field(lamp(400, 300, 100, 50, 300, 150)), "the longer side, about the middle")
	assert.Equal(t, whole, Field(lamp(400, 300, 10, 0, 390, 300)), "little would be gained")
	assert.Equal(t, whole, Field(lamp(400, 300, 0, 0, 0, 0)), "nothing is lit")
	assert.Equal(t, whole, Field(lamp(400, 300, 200, 100, 220, 120)), "too small to be a field")
	speck := lamp(400, 300, 100, 50, 300, 250)
	speck.Pix[3*(290*400+390)] = 255
	assert.Equal(t, imageio.Square{X: 100, Y: 50, Side: 200}, Field(speck), "a speck is no field")
}

func TestCandidates(t *testing.T) {
	const s = 64
	p := make([]float32, s*s)
	paint(p, s, 10, 20, 14, 26, .8) // 24 pixels
	paint(p, s, 40, 40, 50, 50, .6) // 100
	seen := imageio.Square{X: 100, Y: 200, Side: 128}
	got, err := Candidates(p, s, seen, 1000, 1000)
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, imageio.Square{X: 100 + 90 - 20, Y: 200 + 90 - 20, Side: 40}, got[0].Square, "the largest first")
	assert.InDeltaSlice(t, []float64{190, 290, 400, 240}, []float64{got[0].X, got[0].Y, got[0].Area, got[0].Mass}, 1e-3)
	assert.InDeltaSlice(t, []float64{124, 246, 96, 76.8}, []float64{got[1].X, got[1].Y, got[1].Area, got[1].Mass}, 1e-3)
	none, err := Candidates(make([]float32, s*s), s, seen, 1000, 1000)
	require.NoError(t, err)
	assert.Empty(t, none)
}
