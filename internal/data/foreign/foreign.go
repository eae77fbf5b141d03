// Package foreign draws pictures in which there is no optic disc. They teach a network to mark
// nothing, and programs when to doubt a result. A seed decides every byte.
package foreign

import (
	"image"

	"mrprism/internal/choice"
	"mrprism/internal/data/paint"
)

// Kind is a kind of picture.
type Kind struct {
	Name, Description string
	draw              func(*canvas)
}

// Kinds are all kinds.
var Kinds = []Kind{
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

// Find returns a kind by name. The error lists the names.
func Find(name string) (Kind, error) {
	return choice.Find("kind of foreign picture", name, Kinds, func(k Kind) string { return k.Name })
}

// Picture draws a picture of the kind. The seed and the size decide every byte.
func (k Kind) Picture(seed uint64, width, height int) *image.RGBA {
	c := newCanvas(width, height)
	c.Draws = paint.Source(seed, k.purpose())
	k.draw(c)
	return c.develop(paint.Source(seed, k.purpose()+1))
}

// Source is the random source of picture number n (from 1) of a set of the kind's pictures.
func (k Kind) Source(seed uint64, n int) paint.Draws {
	return paint.Source(seed, k.purpose()+1+uint64(n))
}

// purpose makes the kinds of one seed independent of each other. The sensor uses the next purpose,
// and the pictures of a data set use those after it.
func (k Kind) purpose() uint64 {
	purpose := uint64(1 << 16)
	for _, letter := range []byte(k.Name) {
		purpose = purpose*31 + uint64(letter)
	}
	return purpose
}
