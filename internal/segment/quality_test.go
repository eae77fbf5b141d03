package segment

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"mrprism/internal/files/imageio"
)

// fundusLike is a picture of w×h pixels with lit circles of the radius about the middles. value is
// a pixel's lightness.
func fundusLike(w, h int, radius float64, middles [][2]float64, value func(x, y int) float64) *imageio.Image {
	img := &imageio.Image{W: w, H: h, Pix: make([]uint8, 3*w*h)}
	for i := range w * h {
		for _, m := range middles {
			if x, y := i%w, i/w; math.Hypot(float64(x)-m[0], float64(y)-m[1]) < radius {
				for c := range 3 {
					img.Pix[3*i+c] = uint8(max(0, min(255, 255*value(x, y))))
				}
			}
		}
	}
	return img
}

// Each way of spoiling a photograph is named, and a good one has no fault.
func TestQuality(t *testing.T) {
	const side = 512
	noise := func(x, y int) float64 { // as a photograph's: at every scale
		v := .4
		for scale := 2; scale <= 32; scale *= 2 {
			r := rand.New(rand.NewPCG(uint64(x/scale), uint64(y/scale+1000*scale)))
			v += .04 * r.NormFloat64()
		}
		return v
	}
	one := [][2]float64{{side / 2, side / 2}}
	of := func(img *imageio.Image, sharpness float64) (codes []string) {
		const s = 128
		field := imageio.Letterbox(img.W, img.H)
		x := make([]float32, 3*s*s)
		for i := range x {
			at := func(v, from int) int { return from + (2*v+1)*field.Side/(2*s) }
			if px, py := at(i/3%s, field.X), at(i/3/s, field.Y); px >= 0 && py >= 0 && px < img.W && py < img.H {
				x[i] = float32(img.Pix[3*(py*img.W+px)+i%3]) / 255
			}
		}
		q := quality(x, s, img, field, sharpness)
		assert.Equal(t, len(q.Faults) == 0, q.Gradable)
		for _, f := range q.Faults {
			assert.NotEmpty(t, f.Text)
			codes = append(codes, f.Code)
		}
		return codes
	}
	assert.Empty(t, of(fundusLike(side, side, 250, one, noise), -2.5))
	assert.Equal(t, []string{"blurred"}, of(fundusLike(side, side, 250, one, noise), -3))
	assert.Equal(t, []string{"burnt"}, of(fundusLike(side, side, 250, one, func(x, y int) float64 { return 3 * noise(x, y) }), -2.5))
	assert.Contains(t, of(fundusLike(side, side, 250, one, func(x, y int) float64 { return .25 * noise(x, y) }), -2.5), "dark")
	assert.Equal(t, []string{"covered"}, of(fundusLike(side, side, 250, one, func(x, y int) float64 {
		if y > 330 && x > 150 {
			return 0
		}
		return noise(x, y)
	}), -2.5))
	assert.Equal(t, []string{"screen"}, of(fundusLike(side, side, 250, one, func(x, y int) float64 {
		u := .98*float64(x) + .2*float64(y)
		return noise(x, y) * (1 + .3*math.Sin(2*math.Pi*u/3.1))
	}), -2.5))
	two := of(fundusLike(2*side, side, 250, [][2]float64{{side / 2, side / 2}, {3 * side / 2, side / 2}}, noise), -2.5)
	assert.Contains(t, two, "several-fields")
	assert.Zero(t, grid(fundusLike(100, 100, 50, [][2]float64{{50, 50}}, noise), imageio.Letterbox(100, 100)), "smaller than the patch")
	r := &Result{Doubts: []Doubt{{"shape", "Odd."}}}
	assert.Len(t, r.Reasons(), 1)
	r.Quality = &Quality{Faults: []Doubt{{"dark", "Too dark."}}}
	assert.Equal(t, []Doubt{{"shape", "Odd."}, {"dark", "Too dark."}}, r.Reasons())
	var nobody *Quality
	assert.Empty(t, nobody.first())
	assert.Nil(t, nobody.with(nil, nil, 0))
}

// The spectrum is that of the definition.
func TestFourier(t *testing.T) {
	p, r := make([]complex128, patch), rand.New(rand.NewPCG(1, 2))
	for i := range p {
		p[i] = complex(r.NormFloat64(), r.NormFloat64())
	}
	as := append([]complex128{}, p...)
	fourier(p)
	for k := range patch {
		want := 0i
		for n := range patch {
			sin, cos := math.Sincos(-2 * math.Pi * float64(k*n) / patch)
			want += as[n] * complex(cos, sin)
		}
		assert.InDelta(t, real(want), real(p[k]), 1e-9)
		assert.InDelta(t, imag(want), imag(p[k]), 1e-9)
	}
}
