package overlay

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMapKeepsPlaceAndValues(t *testing.T) {
	v := cone(120, 110, 50.5, 50, 30)
	m := NewMap(v, Window{100, 40, 120, 110})
	assert.Equal(t, [2]int{120, 110}, [2]int{m.PixelsWide, m.PixelsHigh}, "small windows keep every pixel")
	assert.EqualValues(t, 255, m.Values[50*120+50], "the middle is certain")
	assert.EqualValues(t, 0, m.Values[0])
	for i := 0; i < len(m.Lines.Points); i += 2 {
		r := math.Hypot(float64(m.Lines.Points[i])-150.5, float64(m.Lines.Points[i+1])-90)
		assert.InDelta(t, 30, r, 0.1, "tolerance of the simplification")
	}
}

func TestLargeMapIsAveragedInPlace(t *testing.T) {
	const w, h = 2500, 2100
	v := cone(w, h, 1300, 1000, 600)
	m := NewMap(v, Window{0, 0, w, h})
	require.LessOrEqual(t, max(m.PixelsWide, m.PixelsHigh), longestSide)
	assert.Equal(t, m.PixelsWide*3, m.Width, "three pixels a block")
	for i := 0; i < len(m.Lines.Points); i += 2 {
		r := math.Hypot(float64(m.Lines.Points[i])-1300, float64(m.Lines.Points[i+1])-1000)
		assert.InDelta(t, 600, r, 0.5, "blocks of three average a linear slope exactly; the rest is simplification")
	}
	assert.Panics(t, func() { NewMap(v, Window{0, 0, w, h + 1}) })
}

func TestPhotograph(t *testing.T) {
	rgb := []byte{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170} // 3 × 2
	same := Photograph(rgb, 3, 2, 4)
	assert.Equal(t, []int{3, 2, 3, 2}, []int{same.PixelsWide, same.PixelsHigh, same.Width, same.Height})
	assert.Equal(t, []byte{30, 40, 50, 255}, same.Values[4:8])
	half := Photograph(rgb, 3, 2, 2)
	assert.Equal(t, []int{2, 1, 4, 2}, []int{half.PixelsWide, half.PixelsHigh, half.Width, half.Height})
	assert.Equal(t, []byte{60, 70, 80, 255, 105, 115, 125, 255}, half.Values, "blocks of 2 × 2 and 1 × 2")
}

// cone has value level+radius−distance around (cx, cy): its level set is a circle.
func cone(width, height int, cx, cy, radius float64) []float32 {
	v := make([]float32, width*height)
	for y := range height {
		for x := range width {
			v[y*width+x] = float32(0.5 + radius - math.Hypot(float64(x)+0.5-cx, float64(y)+0.5-cy))
		}
	}
	return v
}
