package imageio

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func random(w, h int) *Image {
	rng := rand.New(rand.NewPCG(1, 2))
	m := &Image{W: w, H: h, Pix: make([]uint8, 3*w*h)}
	for i := range m.Pix {
		m.Pix[i] = uint8(rng.IntN(256))
	}
	return m
}

// at is a pixel of the image, whose edge continues beyond the border.
func (m *Image) at(x, y, c int) float64 {
	x, y = min(max(x, 0), m.W-1), min(max(y, 0), m.H-1)
	return float64(m.Pix[3*(y*m.W+x)+c]) / 255
}

// slowWeights lists (pixel, weight) for one output pixel, straight from the definition.
func slowWeights(origin, step float64, i int) map[int]float64 {
	lo := origin + float64(i)*step
	w := map[int]float64{}
	if step > 1 {
		for j := int(math.Floor(lo)); float64(j) < lo+step; j++ {
			w[j] = math.Max(0, math.Min(lo+step, float64(j+1))-math.Max(lo, float64(j))) / step
		}
		return w
	}
	c := lo + step/2 - 0.5
	j := math.Floor(c)
	w[int(j)], w[int(j)+1] = 1-(c-j), c-j
	return w
}

func TestCropEqualsDefinition(t *testing.T) {
	m := random(23, 17)
	for _, c := range []struct {
		sq Square
		s  int
	}{
		{Square{0, 0, 17}, 17}, {Square{3, 2, 10}, 31}, {Square{-4, -7, 30}, 8}, {Square{-4, 5, 30}, 64}, {Square{19, 12, 9}, 4},
		{Square{0, -3, 23}, 16}, {Square{100, 100, 5}, 3}, {Square{-50, -50, 20}, 7}, {Square{2, 2, 1}, 5}, {Square{2, 2, 9}, 1},
	} {
		got := make([]float32, 3*c.s*c.s)
		m.Crop(got, c.sq, c.s)
		step := float64(c.sq.Side) / float64(c.s)
		for y := range c.s {
			wy := slowWeights(float64(c.sq.Y), step, y)
			for x := range c.s {
				wx := slowWeights(float64(c.sq.X), step, x)
				for ch := range 3 {
					var want float64
					for j, a := range wy {
						for i, b := range wx {
							want += a * b * m.at(i, j, ch)
						}
					}
					// float32 sums of at most 30×30 terms that weigh 1 together
					require.InDelta(t, want, got[3*(y*c.s+x)+ch], 1e-6, "%+v to %d at %d,%d", c.sq, c.s, x, y)
				}
			}
		}
	}
}

func TestCropIdentity(t *testing.T) {
	m := random(16, 16)
	got := make([]float32, 3*16*16)
	m.Crop(got, Letterbox(16, 16), 16)
	for i, v := range m.Pix {
		require.InDelta(t, float64(v)/255, got[i], 1e-7)
	}
}

func TestLetterboxHoldsTheImage(t *testing.T) {
	assert.Equal(t, Square{0, -55, 768}, Letterbox(768, 658))
	assert.Equal(t, Square{-3, 0, 10}, Letterbox(3, 10))
	assert.Equal(t, Square{0, 0, 1}, Letterbox(1, 1))
}

// enlarged is slowWeights of Restore, which enlarges by the uniform cubic B-spline.
func enlarged(step float64, i int) map[int]float64 {
	if step >= 1 {
		return slowWeights(0, step, i)
	}
	c := (float64(i)+.5)*step - .5
	w := map[int]float64{}
	for j := int(math.Floor(c)) - 1; j <= int(math.Floor(c))+2; j++ {
		if d := math.Abs(c - float64(j)); d < 1 {
			w[j] = 2./3 - d*d + d*d*d/2
		} else {
			w[j] = (2 - d) * (2 - d) * (2 - d) / 6
		}
	}
	return w
}

func TestRestore(t *testing.T) {
	Restore := func(src []float32, s, channels, c int, sq Square, w, h int) []float32 {
		return Restore(src, s, channels, c, sq, w, h, image.Rectangle{}, func(row []float32) {
			for i := range row {
				row[i] *= 2 // finish has each pixel of the square once
			}
		})
	}
	t.Run("identity and zero outside", func(t *testing.T) {
		src := []float32{.1, .2, .3, .4}
		got := Restore(src, 2, 1, 0, Square{1, 1, 2}, 4, 3)
		assert.Equal(t, []float32{0, 0, 0, 0, 0, .2, .4, 0, 0, .6, .8, 0}, got)
	})
	t.Run("channel, partly outside", func(t *testing.T) {
		src := []float32{0, .1, 0, .2, 0, .3, 0, .4}
		got := Restore(src, 2, 2, 1, Square{-1, 1, 2}, 2, 2)
		assert.Equal(t, []float32{0, 0, .4, 0}, got)
		assert.Equal(t, make([]float32, 4), Restore(src, 2, 2, 1, Square{5, 5, 2}, 2, 2))
	})
	t.Run("equals definition", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		s, w, h := 9, 31, 20
		src := make([]float32, s*s)
		for i := range src {
			src[i] = rng.Float32()
		}
		for _, sq := range []Square{{2, 3, 15}, {-5, -2, 28}, {10, 6, 6}, {-3, 15, 4}, {3, 1, 9}} {
			got := Restore(src, s, 1, 0, sq, w, h)
			step := float64(s) / float64(sq.Side)
			clamp := func(i int) int { return min(max(i, 0), s-1) }
			for y := range h {
				for x := range w {
					var want float64
					if x >= sq.X && x < sq.X+sq.Side && y >= sq.Y && y < sq.Y+sq.Side {
						for j, a := range enlarged(step, y-sq.Y) {
							for i, b := range enlarged(step, x-sq.X) {
								want += 2 * a * b * float64(src[clamp(j)*s+clamp(i)])
							}
						}
					}
					require.InDelta(t, want, got[y*w+x], 1e-6, "%+v at %d,%d", sq, x, y)
				}
			}
		}
	})
	t.Run("there and back", func(t *testing.T) {
		// The border of a half plane stays in place to a pixel after Crop and Restore.
		m := &Image{W: 300, H: 200, Pix: make([]uint8, 3*300*200)}
		for y := range 200 {
			for x := 120; x < 300; x++ {
				for c := range 3 {
					m.Pix[3*(y*300+x)+c] = 255
				}
			}
		}
		for _, sq := range []Square{Letterbox(300, 200), {80, 50, 90}, {20, -30, 170}} {
			crop := make([]float32, 3*64*64)
			m.Crop(crop, sq, 64)
			back := Restore(crop, 64, 3, 1, sq, 300, 200)
			for x := max(0, sq.X); x < min(300, sq.X+sq.Side); x++ {
				if d := math.Abs(float64(x) + .5 - 120); d > float64(sq.Side)/64 {
					require.Equal(t, x > 120, back[100*300+x] > 1, "%+v x %d", sq, x)
				}
			}
		}
	})
}

func TestEncodeGrey(t *testing.T) {
	levels, err := Levels(3, 2, []float32{0, .25, .5, .75, 1, .001})
	require.NoError(t, err)
	data := EncodeGrey(3, 2, image.Rectangle{}, levels, "")
	m, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	got, err := Decode("p.png", data)
	require.NoError(t, err)
	assertPixels(t, m, got)
	assert.Equal(t, []uint8{0, 64, 127, 191, 255, 0}, []uint8{got.Pix[0], got.Pix[3], got.Pix[6], got.Pix[9], got.Pix[12], got.Pix[15]})
	var chunks []string
	for at := 8; at < len(data); {
		n := int(data[at])<<24 | int(data[at+1])<<16 | int(data[at+2])<<8 | int(data[at+3])
		chunks = append(chunks, string(data[at+4:at+8]))
		at += 12 + n
	}
	assert.Equal(t, []string{"IHDR", "IDAT", "IEND"}, chunks, "pixels only")
	for _, bad := range []float32{float32(math.NaN()), -.1, 1.1, float32(math.Inf(1))} {
		_, err := Levels(1, 1, []float32{bad})
		assert.Error(t, err)
	}
}

// A picture that is black beside a part is the same file, whoever left the black out.
func TestEncodeGreyOfAPart(t *testing.T) {
	for _, part := range []image.Rectangle{{}, image.Rect(0, 0, 300, 700), image.Rect(7, 430, 60, 470), image.Rect(250, 690, 300, 700), image.Rect(0, 0, 1, 1)} {
		levels, m := make([]uint8, part.Dx()*part.Dy()), image.NewGray(image.Rect(0, 0, 300, 700))
		for i := range levels {
			if levels[i] = uint8(i * i >> 4); i/part.Dx()%5 == 2 {
				levels[i] = 0
			}
			m.Pix[(part.Min.Y+i/part.Dx())*300+part.Min.X+i%part.Dx()] = levels[i]
		}
		data := EncodeGrey(300, 700, image.Rectangle{}, m.Pix, "black")
		got, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		require.Equal(t, m, got, "%v", part)
		if !part.Empty() {
			require.Equal(t, data, EncodeGrey(300, 700, part, levels, "black"), "%v", part)
		}
	}
}

func BenchmarkCrop(b *testing.B) {
	m := random(4288, 2848)
	dst := make([]float32, 3*256*256)
	for b.Loop() {
		m.Crop(dst, Letterbox(m.W, m.H), 256)
	}
}
