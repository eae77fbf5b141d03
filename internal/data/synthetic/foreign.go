package synthetic

import (
	"image"
	"math/rand/v2"

	"mrprism/internal/choice"
)

// ForeignKind is a kind of picture in which there is no optic disc.
type ForeignKind struct {
	Name, Description string
	draw              func(*canvas)
}

// ForeignKinds are the kinds of pictures that teach a network to mark nothing, and test that it
// doubts.
var ForeignKinds = []ForeignKind{
	{"lesions", "a retina beside the disc: scars, exudates, haemorrhages and reflexes", drawLesions},
	{"veil", "a retina behind a cataract: a glow, hardly a vessel", drawVeil},
	{"noise", "noise by pixels, blobs, rows or blocks", drawNoise},
	{"flat", "one colour, or a slow gradient", drawFlat},
	{"landscape", "sky, sun, ground, mountains and trees", drawLandscape},
	{"room", "a room in perspective with a lamp and furniture", drawRoom},
	{"text", "a page of strokes that look like text", drawText},
	{"shapes", "geometric shapes, bright circles on dark ground among them", drawShapes},
	{"scan", "grey pictures as of MRI, X-ray, ultrasound and microscopes", drawScan},
}

// FindForeign returns a kind by name. The error lists the names.
func FindForeign(name string) (ForeignKind, error) {
	return choice.Find("kind of foreign picture", name, ForeignKinds, func(k ForeignKind) string { return k.Name })
}

// Picture draws a picture of the kind. The seed and the size decide every byte.
func (k ForeignKind) Picture(seed uint64, width, height int) *image.RGBA {
	c := newCanvas(width, height)
	c.draws = source(seed, k.purpose())
	k.draw(c)
	return c.develop(source(seed, k.purpose()+1))
}

// purpose makes the kinds of one seed independent of each other. The sensor uses the next purpose,
// and the pictures of a data set use those after it.
func (k ForeignKind) purpose() uint64 {
	purpose := forForeign
	for _, letter := range []byte(k.Name) {
		purpose = purpose*31 + uint64(letter)
	}
	return purpose
}

// forForeign is far above the raters' purposes.
const forForeign uint64 = 1 << 16

// chance is true with probability p.
func (r draws) chance(p float64) bool { return r.Float64() < p }

// either returns one of the values.
func either[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// anyColour is a colour of any hue, brightness and saturation.
func (r draws) anyColour() colour {
	c := colour{r.Float64(), r.Float64(), r.Float64()}
	mean := (c[0] + c[1] + c[2]) / 3
	return mixed(gray(mean), c, either(r.Rand, 0.3, 1, 1)).scaled(r.between(0.4, 1.2))
}

// near varies a colour: the brightness by up to a share, each channel by up to half of it.
func (r draws) near(c colour, share float64) colour {
	light := r.between(1-share, 1+share)
	for i := range c {
		c[i] *= light * r.between(1-share/2, 1+share/2)
	}
	return c
}

// camera adds the faults of a camera to a drawn picture: focus, vignette, colour balance, contrast
// and noise.
func (c *canvas) camera() {
	c.blur(either(c.Rand, 0, 0, c.between(0, 0.004), c.between(0, 0.02)))
	vignette, contrast, black := c.between(0, 0.4), c.between(0.65, 1.15), either(c.Rand, 0, c.between(0, 0.12))
	balance := colour{c.between(0.85, 1.15), 1, c.between(0.8, 1.2)}
	c.fill(func(x, y float64, under colour) colour {
		return under.times(balance).scaled(contrast * (1 - vignette*(x*x+y*y))).plus(gray(black))
	})
	c.noise = either(c.Rand, 0.002, c.between(0.002, 0.02), c.between(0.01, 0.06))
}
