package segment

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"slices"
	"testing"

	"mrprism/internal/files/imageio"
	"mrprism/internal/trust"
	"mrprism/shaders/gpu/gputest"
	"mrprism/weights"
	_ "mrprism/weights/shipped"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stained is an image with a flat disc of a value around x, y.
func stained(img *imageio.Image, x, y, radius float64, value [3]uint8) *imageio.Image {
	out := *img
	out.Pix = slices.Clone(img.Pix)
	for i := range out.W * out.H {
		if math.Hypot(float64(i%out.W)-x, float64(i/out.W)-y) <= radius {
			copy(out.Pix[3*i:], value[:])
		}
	}
	return &out
}

// asJPEG is an image as a camera saves it.
func asJPEG(t *testing.T, img *imageio.Image) *imageio.Image {
	t.Helper()
	m, data := image.NewRGBA(image.Rect(0, 0, img.W, img.H)), bytes.Buffer{}
	for i := range img.W * img.H {
		m.Set(i%img.W, i/img.W, color.RGBA{img.Pix[3*i], img.Pix[3*i+1], img.Pix[3*i+2], 255})
	}
	require.NoError(t, jpeg.Encode(&data, m, &jpeg.Options{Quality: 90}))
	out, err := imageio.DecodeSlice("a.jpg", imageio.Whole("a.jpg", data.Bytes(), nil), 0)
	require.NoError(t, err)
	return out
}

// A flat spot on the disc is doubted, whatever its size and shade, and nothing then is trusted. The
// photograph without it is not.
func TestSpotIsDoubted(t *testing.T) {
	m, err := weights.Load("fundus")
	require.NoError(t, err)
	e, img := engine(t, gputest.Require(t, "processor"), m), photograph(768, 640)
	spotted := func(img *imageio.Image) (is bool, r *Result) {
		r, err := e.Segment(t.Context(), img, Options{})
		require.NoError(t, err)
		return slices.ContainsFunc(r.Doubts, func(d Doubt) bool { return d.Code == trust.Spot }), r
	}
	is, r := spotted(img)
	require.True(t, r.Found)
	assert.False(t, is, "%v", r.Figures)
	is, _ = spotted(asJPEG(t, img))
	assert.False(t, is)
	disc, radius := shapeOf(r.Probability(0), r.Width), math.Sqrt(float64(r.Measurements.Structures[0].Area)/math.Pi)
	mean := [3]float64{}
	for i, p := range r.Probability(0) {
		for c := range mean {
			mean[c] += float64(p) * float64(img.Pix[3*i+c]) / disc.area
		}
	}
	for name, value := range map[string][3]uint8{"black": {}, "white": {255, 255, 255}, "mean": {uint8(mean[0]), uint8(mean[1]), uint8(mean[2])}} {
		for _, share := range []float64{.15, .3, .5} {
			with := stained(img, disc.x+.4*radius, disc.y-.3*radius, share*radius, value)
			is, r := spotted(with)
			assert.True(t, is, "%s, %v of the diameter: %v", name, share, r.Figures)
			for _, s := range r.Measurements.Structures {
				assert.NotEqual(t, trust.Trusted, s.Trust.Word)
			}
			if name != "mean" {
				is, _ = spotted(asJPEG(t, with))
				assert.True(t, is, "%s as JPEG, %v of the diameter", name, share)
			}
		}
	}
}

// What is flat far from the disc, or reaches out of the region, is no spot: the dark around a
// photograph, or a label.
func TestSpotBesideTheDisc(t *testing.T) {
	const s = 64
	disc := shapeOf(drawn(s, 32, 32, 16, 16, 1), s)
	spotAt := func(x, y, radius int) float64 {
		pixels := make([]float32, 3*s*s)
		for i := range pixels {
			pixels[i] = float32(i*7919%97) / 200
			if at := i / 3; math.Hypot(float64(at%s-x), float64(at/s-y)) <= float64(radius) {
				pixels[i] = .8
			}
		}
		return flattest(pixels, s, disc)
	}
	assert.Greater(t, spotAt(32, 32, 5), .01)
	assert.Greater(t, spotAt(46, 32, 5), .01, "on the disc's border")
	assert.Zero(t, spotAt(8, 8, 3), "far from it")
	assert.Zero(t, spotAt(64, 32, 20), "beyond the region's border")
	assert.Zero(t, spotAt(-9, -9, 5), "no spot")
}
