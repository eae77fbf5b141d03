package roi

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/imageio"
)

// paint sets a rectangle of an s×s map.
func paint(p []float32, s, x0, y0, x1, y1 int, v float32) {
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			p[y*s+x] = v
		}
	}
}

func TestLocate(t *testing.T) {
	const s = 256
	p := make([]float32, s*s)
	paint(p, s, 100, 60, 130, 80, .9)   // the structure, 30×20
	paint(p, s, 10, 200, 20, 210, .99)  // smaller, though surer
	paint(p, s, 150, 150, 250, 250, .5) // larger, but not above one half
	got, err := Locate(p, s, 1024, 768) // 4 pixels of the photograph for one; letterbox begins at y = -128
	require.NoError(t, err)
	assert.Equal(t, imageio.Square{X: 460 - 120, Y: 280 - 128 - 120, Side: 240}, got)
}

func TestLocateConnectsDiagonally(t *testing.T) {
	p := make([]float32, 64)
	for i := range 5 {
		p[i*8+i] = .6
	}
	paint(p, 8, 6, 0, 8, 2, .9) // four pixels against a diagonal of five
	got, err := Locate(p, 8, 80, 80)
	require.NoError(t, err)
	assert.Equal(t, imageio.Letterbox(80, 80), got, "twice five eighths is the whole image")
}

func TestLocateAtTheBorder(t *testing.T) {
	p := make([]float32, 100)
	paint(p, 10, 0, 0, 2, 2, 1)
	got, err := Locate(p, 10, 100, 100)
	require.NoError(t, err)
	assert.Equal(t, imageio.Square{X: -10, Y: -10, Side: 40}, got, "the structure stays in the middle")
	tiny := make([]float32, 100)
	tiny[55] = 1
	got, err = Locate(tiny, 10, 3, 3) // 0.3 pixels of the photograph for one
	require.NoError(t, err)
	assert.Equal(t, 1, got.Side)
	require.NoError(t, Check(got, 3, 3))
	for i := range tiny {
		tiny[i] = 0
	}
	tiny[99] = 1
	got, err = Locate(tiny, 10, 1, 1)
	require.NoError(t, err)
	assert.Equal(t, imageio.Square{Side: 1}, got, "the region reaches into the image")
}

// Candidates finds nothing outside of the image. Of a piece that reaches there, only the part in
// the image counts.
func TestLocateBesideTheImage(t *testing.T) {
	const s, w, h = 64, 30, 512 // 8 pixels for one; the image is in columns 30 to 33
	p := make([]float32, s*s)
	paint(p, s, 40, 10, 60, 30, .9)
	_, err := Locate(p, s, w, h)
	require.ErrorIs(t, err, ErrNotFound)
	paint(p, s, 10, 50, 32, 54, .8)
	got, err := Locate(p, s, w, h)
	require.NoError(t, err)
	assert.Equal(t, imageio.Square{X: 7 - 32, Y: 416 - 32, Side: 64}, got)
	require.NoError(t, Check(got, w, h))
}

func TestLocateFindsNothing(t *testing.T) {
	_, err := Locate(make([]float32, 16), 4, 100, 100)
	require.ErrorIs(t, err, ErrNotFound)
	p := make([]float32, 16)
	p[3] = float32(math.NaN())
	_, err = Locate(p, 4, 100, 100)
	require.Error(t, err)
	assert.NotErrorIs(t, err, ErrNotFound)
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Request{
		"auto": {Mode: Auto}, "none": {Mode: None},
		"10,-20,300": {Mode: Given, Square: imageio.Square{X: 10, Y: -20, Side: 300}},
	} {
		got, err := Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", "1,2", "1,2,3,4", "1,2,0", "1,2,-3", "1.5,2,3", "a,b,c", "Auto", "1,2,99999999999999999999"} {
		_, err := Parse(text)
		assert.Error(t, err, text)
	}
}

func TestCheck(t *testing.T) {
	for _, sq := range []imageio.Square{{X: 0, Y: 0, Side: 10}, {X: -9, Y: 0, Side: 10}, {X: 99, Y: 49, Side: 200}} {
		assert.NoError(t, Check(sq, 100, 50))
	}
	for _, sq := range []imageio.Square{
		{X: 100, Y: 0, Side: 10}, {X: -10, Y: 0, Side: 10}, {X: 0, Y: 50, Side: 9}, {X: 0, Y: 0, Side: 201}, {X: 0, Y: 0, Side: 0},
		{X: math.MinInt, Y: 0, Side: 5},
	} {
		assert.Error(t, Check(sq, 100, 50), "%+v", sq)
	}
}
