package foreign

import (
	"crypto/sha256"
	"fmt"
	"image"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/paint"
)

// TestIsDeterministic: the bytes change only if someone changes the generator on purpose.
func TestIsDeterministic(t *testing.T) {
	all := sha256.New()
	for _, k := range Kinds {
		first := k.Picture(5, 96, 72)
		assert.Equal(t, image.Rect(0, 0, 96, 72), first.Rect)
		assert.Equal(t, sum(first), sum(k.Picture(5, 96, 72)), k.Name)
		all.Write(first.Pix)
	}
	assert.Equal(t, "df597b4ac570529a", fmt.Sprintf("%x", all.Sum(nil))[:16])
}

// TestVaries: pictures of two seeds or two kinds differ, and so does their brightness.
func TestVaries(t *testing.T) {
	seen := map[string]string{}
	for _, k := range Kinds {
		darkest, brightest := 255.0, 0.0
		for seed := range uint64(12) {
			img := k.Picture(seed, 64, 80)
			name := fmt.Sprintf("%s %d", k.Name, seed)
			assert.Empty(t, seen[sum(img)], name)
			seen[sum(img)] = name
			mean := brightness(img)
			darkest, brightest = min(darkest, mean), max(brightest, mean)
		}
		assert.Greater(t, brightest-darkest, 40.0, k.Name)
	}
}

func brightness(img *image.RGBA) (mean float64) {
	for i, v := range img.Pix {
		if i%4 != 3 {
			mean += float64(v) / float64(len(img.Pix)/4*3)
		}
	}
	return mean
}

// TestAtEverySize: the size changes a picture's detail, not its content. Noise has the size
// of pixels.
func TestAtEverySize(t *testing.T) {
	for _, k := range Kinds {
		for _, size := range [][2]int{{1, 1}, {1, 40}, {33, 9}} {
			assert.Equal(t, size, [2]int{k.Picture(3, size[0], size[1]).Rect.Dx(), k.Picture(3, size[0], size[1]).Rect.Dy()})
		}
		if k.Name == "noise" {
			continue
		}
		for seed := range uint64(3) {
			small, large := k.Picture(seed, 60, 45), k.Picture(seed, 240, 180)
			assert.Less(t, difference(small, large), 25.0, "%s %d", k.Name, seed)
		}
	}
}

// difference is the mean of |small − large| in levels, the large one averaged over squares of 4 × 4
// pixels.
func difference(small, large *image.RGBA) (mean float64) {
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			for k := range 3 {
				v := 0.0
				for i := range 16 {
					v += float64(large.Pix[large.PixOffset(4*x+i%4, 4*y+i/4)+k]) / 16
				}
				mean += math.Abs(v - float64(small.Pix[small.PixOffset(x, y)+k]))
			}
		}
	}
	return mean / float64(3*small.Rect.Dx()*small.Rect.Dy())
}

func TestScansAreGrey(t *testing.T) {
	scan := Kinds[len(Kinds)-1]
	for seed := range uint64(12) {
		img := scan.Picture(seed, 64, 64)
		for i := 0; i < len(img.Pix); i += 4 {
			require.True(t, img.Pix[i] == img.Pix[i+1] && img.Pix[i] == img.Pix[i+2], "seed %d", seed)
		}
	}
}

// TestRetinaHasNoDisc: under the lesions nothing of a disc's size is bright.
func TestRetinaHasNoDisc(t *testing.T) {
	for seed := range uint64(25) {
		c := newCanvas(160, 160)
		c.Draws = paint.Source(seed, 1)
		r := newRetina(c)
		r.ground()
		r.vasculature()
		assert.Less(t, brightPlace(c, r.radius), 1.5, "seed %d", seed)
	}
}

// brightPlace is the brightest green to the median one, of the field's inner part, blurred by a
// third of a disc's radius.
func brightPlace(c *canvas, field float64) float64 {
	var green []float64
	c.blur(0.33)
	for i, p := range c.pix {
		if x, y := c.point(float64(i%c.width), float64(i/c.width)); math.Hypot(x, y) < field-1 {
			green = append(green, p[1])
		}
	}
	slices.Sort(green)
	return green[len(green)-1] / green[len(green)/2]
}

func BenchmarkKinds(b *testing.B) {
	for _, k := range Kinds {
		b.Run(k.Name, func(b *testing.B) {
			seed := uint64(0)
			for b.Loop() {
				k.Picture(seed, 512, 512)
				seed++
			}
		})
	}
}

func sum(img *image.RGBA) string { return fmt.Sprintf("%x", sha256.Sum256(img.Pix)) }
