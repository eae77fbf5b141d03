package synthetic

import (
	"image"
	"math"
)

// SampleSeed is the eye of the tests that segment a photograph; the site has its own (site/sample).
const SampleSeed = 4

// Photograph paints a whole fundus photograph: the round field of a camera on black, cut off above and below where the image is not high
// enough, with the disc beside its middle at about 0.083 of the width, as in a 30° photograph centred near the disc.
func Photograph(seed uint64, width, height int) *image.RGBA {
	img, _ := NewPhotograph(seed, width, height)
	return img
}

// NewPhotograph also returns what is in the photograph.
func NewPhotograph(seed uint64, width, height int) (*image.RGBA, *Scene) {
	e := NewEye(seed)
	r := source(seed, forFraming)
	w, h := float64(width), float64(height)
	fieldRadius := 0.5 * min(w, 1.17*h)
	radius := fieldRadius * between(r, 0.155, 0.19)
	v := view{width: width, height: height, radius: radius}
	v.x = w/2 - e.temporal*fieldRadius*between(r, 0.15, 0.27)
	v.y = h/2 + fieldRadius*between(r, -0.10, 0.10)

	cx, cy := (w-1)/2, (h-1)/2
	soft := max(0.7, fieldRadius*0.006)
	cut := min(h/2-1.5, fieldRadius*0.855) // the field stop's straight edges
	aperture := func(x, y int) float64 {
		dx, dy := float64(x)-cx, float64(y)-cy
		inside := min(fieldRadius-math.Hypot(dx, dy), cut-math.Abs(dy))
		// The notch that marks the upper right: a small tab on the rim at 45°.
		along, across := (dx-dy)*math.Sqrt2/2, (dx+dy)*math.Sqrt2/2
		tab := min(fieldRadius*1.035-along, fieldRadius*0.045-math.Abs(across), along)
		return smooth(max(inside, tab)/soft + 0.5)
	}
	s := newScene(e, v)
	return newPainter(e).paint(v, aperture), s
}
