package importer

import (
	"image"
	"math/rand/v2"
	"testing"

	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"

	"github.com/stretchr/testify/assert"
)

// A mask shrinks as its picture does, but where half of a pixel is marked, which floats cannot tell.
func TestMasksShrinkAsImages(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][3]int{{115, 87, 102}, {87, 115, 102}, {60, 40, 20}, {33, 9, 10}, {64, 1, 7}} {
		w, h, longest := size[0], size[1], size[2]
		mask, whole := make([]uint8, w*h), &imageio.Image{W: w, H: h, Pix: make([]uint8, 3*w*h)}
		for i := range mask {
			if y := i / w; y > h/5 || h < 10 {
				mask[i] = uint8(min(1, rng.IntN(5)/2))
			}
			for c := range 3 {
				whole.Pix[3*i+c] = 255 * mask[i]
			}
		}
		small := shrunkImage(whole, longest)
		d := &drawing{image.Rect(0, 0, w, h), mask}
		if h >= 10 { // of which nothing lies outside the rectangle
			d = &drawing{image.Rect(0, h/5, w, h), d.cut(image.Rect(0, h/5, w, h))}
		}
		got := d.shrunk(w, h, small.W, small.H).cut(image.Rect(0, 0, small.W, small.H))
		assert.Greater(t, metric.Area(got), 0)
		for i, v := range got {
			if grey := small.Pix[3*i]; grey != 127 && grey != 128 {
				assert.Equal(t, grey>>7, v, "%v: pixel %d of %d", size, i, grey)
			}
		}
	}
}
