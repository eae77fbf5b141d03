package roi

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/imageio"
)

// paint sets a rectangle of an s×s map.
func paint(p []float32, s, x0, y0, x1, y1 int, v float32) {
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			p[y*s+x] = v
		}
	}
}

// locate returns the square of the first candidate in the whole image; found is false without
// candidates.
func locate(t *testing.T, p []float32, s, w, h int) (square imageio.Square, found bool) {
	t.Helper()
	all, err := Candidates(p, s, imageio.Letterbox(w, h), w, h)
	require.NoError(t, err)
	if len(all) == 0 {
		return square, false
	}
	return all[0].Square, true
}

func TestLargestCandidate(t *testing.T) {
	const s = 256
	p := make([]float32, s*s)
	paint(p, s, 100, 60, 130, 80, .9)        // the structure, 30×20
	paint(p, s, 10, 200, 20, 210, .99)       // smaller, though surer
	paint(p, s, 150, 150, 250, 250, .5)      // larger, but not above one half
	got, found := locate(t, p, s, 1024, 768) // 4 pixels of the photograph for one; letterbox begins at y = -128
	require.True(t, found)
	assert.Equal(t, imageio.Square{X: 460 - 120, Y: 280 - 128 - 120, Side: 240}, got)
}

func TestPiecesConnectDiagonally(t *testing.T) {
	p := make([]float32, 64)
	for i := range 5 {
		p[i*8+i] = .6
	}
	paint(p, 8, 6, 0, 8, 2, .9) // four pixels against a diagonal of five
	got, found := locate(t, p, 8, 80, 80)
	require.True(t, found)
	assert.Equal(t, imageio.Letterbox(80, 80), got, "twice five eighths is the whole image")
}

func TestCandidatesAtTheBorder(t *testing.T) {
	p := make([]float32, 100)
	paint(p, 10, 0, 0, 2, 2, 1)
	got, found := locate(t, p, 10, 100, 100)
	require.True(t, found)
	assert.Equal(t, imageio.Square{X: -10, Y: -10, Side: 40}, got, "the structure stays in the middle")
	tiny := make([]float32, 100)
	tiny[55] = 1
	got, found = locate(t, tiny, 10, 3, 3) // 0.3 pixels of the photograph for one
	require.True(t, found)
	assert.Equal(t, 1, got.Side)
	require.NoError(t, Check(got, 3, 3))
	for i := range tiny {
		tiny[i] = 0
	}
	tiny[99] = 1
	got, found = locate(t, tiny, 10, 1, 1)
	require.True(t, found)
	assert.Equal(t, imageio.Square{Side: 1}, got, "the region reaches into the image")
}

// Parts are lists of pixels, in the order of their first ones. The end of a row and the beginning
// of the next are no neighbours.
func TestConnected(t *testing.T) {
	const picture = "#..#" +
		"#.#." +
		".#.#"
	set := func(i int) bool { return picture[i] == '#' }
	assert.Equal(t, [][]int{{0, 4, 9, 6, 3, 11}}, Connected(len(picture), 4, true, set))
	assert.Equal(t, [][]int{{0, 4}, {3}, {6}, {9}, {11}}, Connected(len(picture), 4, false, set))
}

// Candidates finds nothing outside of the image. Of a piece that reaches there, only the part in
// the image counts.
func TestCandidatesBesideTheImage(t *testing.T) {
	const s, w, h = 64, 30, 512 // 8 pixels for one; the image is in columns 30 to 33
	p := make([]float32, s*s)
	paint(p, s, 40, 10, 60, 30, .9)
	_, found := locate(t, p, s, w, h)
	require.False(t, found)
	paint(p, s, 10, 50, 32, 54, .8)
	got, found := locate(t, p, s, w, h)
	require.True(t, found)
	assert.Equal(t, imageio.Square{X: 7 - 32, Y: 416 - 32, Side: 64}, got)
	require.NoError(t, Check(got, w, h))
}

func TestCandidatesFindsNothing(t *testing.T) {
	_, found := locate(t, make([]float32, 16), 4, 100, 100)
	require.False(t, found)
	p := make([]float32, 16)
	p[3] = float32(math.NaN())
	_, err := Candidates(p, 4, imageio.Letterbox(100, 100), 100, 100)
	require.ErrorContains(t, err, "the probability at x 3, y 0 is NaN")
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
