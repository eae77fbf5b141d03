package dataset

import (
	"math"
	"slices"
	"testing"

	"mrprism/internal/files/imageio"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// picture is a case of 20×30 pixels in one colour, except for a white column. One mask marks the
// column and one is missing.
func picture(r, g, b uint8) *Loaded {
	l := &Loaded{Image: &imageio.Image{W: 20, H: 30}, Masks: [][][]uint8{{make([]uint8, 600), nil}}}
	for i := range 600 {
		if i%20 == 4 {
			l.Masks[0][0][i] = 1
			l.Image.Pix = append(l.Image.Pix, 255, 255, 255)
			continue
		}
		l.Image.Pix = append(l.Image.Pix, r, g, b)
	}
	return l
}

func pixel(l *Loaded, x, y int) []uint8 { return l.Image.Pix[3*(20*y+x):][:3] }

func TestLooks(t *testing.T) {
	l := picture(120, 60, 30)
	before := slices.Clone(l.Image.Pix)
	look := func(set func(*Look)) *Loaded {
		asked := AsTaken
		set(&asked)
		return l.With(asked)
	}
	for name, c := range map[string]struct {
		set  func(*Look)
		want []uint8
	}{
		"as taken":   {func(*Look) {}, []uint8{120, 60, 30}},
		"brighter":   {func(l *Look) { l.Brightness = .2 }, []uint8{171, 111, 81}},
		"contrast":   {func(l *Look) { l.Contrast = .5 }, []uint8{124, 94, 79}},
		"darker":     {func(l *Look) { l.Gamma = 2 }, []uint8{56, 14, 4}},
		"bluish":     {func(l *Look) { l.Channels = [3]float64{.5, 1, 2} }, []uint8{60, 60, 60}},
		"less vivid": {func(l *Look) { l.Saturation = .5 }, []uint8{95, 65, 50}}, // about 70, the mean
		"grey":       {func(l *Look) { l.Saturation = 0 }, []uint8{70, 70, 70}},
	} {
		assert.Equal(t, c.want, pixel(look(c.set), 12, 3), name)
	}
	assert.Equal(t, before, l.Image.Pix, "the case itself stays")
	assert.Equal(t, before, l.With(AsTaken).Image.Pix)

	// The deviation is in widths, here one pixel. The white column keeps 1/√2π of the difference (a
	// little more: the kernel ends at three deviations), and a line keeps its sum. The blur changes
	// nothing down a column.
	blurred := look(func(l *Look) { l.Blur = 1. / 20 })
	assert.InDelta(t, 30+(255-30)/math.Sqrt(2*math.Pi), float64(pixel(blurred, 4, 15)[2]), 1.5)
	sum := 0
	for x := range 20 {
		sum += int(pixel(blurred, x, 15)[2])
		assert.Equal(t, pixel(blurred, x, 15), pixel(blurred, x, 0))
	}
	assert.InDelta(t, 19*30+255, sum, 4, "rounding of eight pixels")
	assert.Equal(t, &l.Masks[0][0][0], &blurred.Masks[0][0][0])
}

func TestMirrored(t *testing.T) {
	l := picture(1, 2, 3)
	l.Image.Pix[3*(20*7)+1] = 200 // at x 0, y 7
	m := l.Mirrored()
	assert.Equal(t, []uint8{1, 200, 3}, pixel(m, 19, 7))
	assert.Equal(t, []uint8{255, 255, 255}, pixel(m, 15, 0))
	require.Nil(t, m.Masks[0][1])
	assert.Equal(t, []uint8{1, 0}, []uint8{m.Masks[0][0][20+15], m.Masks[0][0][20+4]})
	twice := m.Mirrored()
	assert.Equal(t, l.Image, twice.Image)
	assert.Equal(t, l.Masks, twice.Masks)
}

func TestTurned(t *testing.T) {
	l := picture(10, 20, 30) // 20×30, its column 4 white and marked
	l.Image.Pix[3*(20*2+7)] = 99
	turned := l.Turned(1)
	assert.Equal(t, []int{30, 20}, []int{turned.Image.W, turned.Image.H})
	assert.Equal(t, uint8(99), turned.Image.Pix[3*(7*30+27)], "what was near the upper left is at the upper right")
	for i, v := range turned.Masks[0][0] {
		require.Equal(t, i/30 == 4, v == 1)
	}
	assert.Nil(t, turned.Masks[0][1])
	assert.Equal(t, l.Image, l.Turned(4).Image)
	assert.Equal(t, turned.Image, l.Turned(5).Image)
}

func TestFarther(t *testing.T) {
	l := picture(1, 2, 3)
	l.Image.Pix[3*(20*7)+1] = 200 // at x 0, y 7
	f := l.Farther(1.6)
	w, h := f.Image.W, f.Image.H
	assert.Equal(t, []int{32, l.Image.H * 16 / 10, 20}, []int{w, h, l.Image.W})
	x, y := 3, 3*(h-l.Image.H)/4
	assert.Len(t, f.Image.Pix, 3*w*h)
	assert.Equal(t, []uint8{1, 200, 3}, f.Image.Pix[3*((y+7)*w+x):][:3])
	assert.Equal(t, []uint8{0, 0, 0}, f.Image.Pix[3*((y+7)*w+x-1):][:3])
	require.Nil(t, f.Masks[0][1])
	count := func(mask []uint8) (n int) {
		for _, v := range mask {
			n += int(v)
		}
		return n
	}
	assert.Equal(t, count(l.Masks[0][0]), count(f.Masks[0][0]))
	assert.Equal(t, l.Masks[0][0][20+4], f.Masks[0][0][(y+1)*w+x+4])
	assert.Len(t, l.Image.Pix, 3*20*l.Image.H, "the case itself stays")
}

func TestFinish(t *testing.T) {
	const side = 33
	view := make([]float32, side*side*3)
	for i := range view {
		view[i] = float32(i%7) / 10
	}
	dot := 3 * (side*(side/2) + side/2)
	same, grey := slices.Clone(view), slices.Clone(view)
	AsTaken.finish(same, side, side)
	assert.Equal(t, view, same)
	Look{}.finish(grey, side, side)
	mean := (view[dot] + view[dot+1] + view[dot+2]) / 3
	assert.InDeltaSlice(t, []float32{mean, mean, mean}, grey[dot:dot+3], 1e-6)

	clear(view)
	view[dot+1] = 1
	Look{Saturation: 1, Blur: 1.5 / side}.finish(view, side, side)
	sum, spread := 0., 0.
	for y := range side {
		for x := range side {
			v := float64(view[3*(y*side+x)+1])
			sum += v
			spread += v * float64((x-side/2)*(x-side/2))
			assert.Zero(t, view[3*(y*side+x)])
			assert.InDelta(t, v, view[3*(x*side+y)+1], 1e-7, "the same both ways")
		}
	}
	assert.InDelta(t, 1, sum, 1e-5)
	assert.InDelta(t, 1.5*1.5, spread, .06, "cut off at three deviations")
}
