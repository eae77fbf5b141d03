package dataset

import (
	"math"
	"math/rand/v2"
)

// disc is the circle of an anchor's area about its middle, in pixels.
type disc struct{ x, y, radius float64 }

// anchorDisc is that of the pixels that more than half of the raters who marked class k, of so many, did; the zero disc where there is no anchor.
func (it *Sample) anchorDisc(k, classes int) disc {
	if !it.anchored { // nor are there votes to count, where agreement levels are missing
		return disc{}
	}
	given := float32(0)
	for l := k; l < len(it.valid); l += classes {
		given += it.valid[l]
	}
	most := make([]bool, len(it.patterns))
	for n, pattern := range it.patterns {
		marked := float32(0)
		for l := k; l < len(pattern); l += classes {
			marked += pattern[l]
		}
		most[n] = marked > given/2
	}
	var d disc
	area := 0.
	for i, n := range it.index {
		if most[n] {
			d.x += float64(i%it.image.W) + .5
			d.y += float64(i/it.image.W) + .5
			area++
		}
	}
	if area == 0 {
		return disc{}
	}
	return disc{d.x / area, d.y / area, math.Sqrt(area / math.Pi)}
}

// MostSwell is where Augmentation.Swell ends, below which the distances of swell stay in order.
const MostSwell = 1.3

// swell makes what lies about the middle of a disc smaller (by > 0) or larger (-1 < by < 0) and leaves the outline: at distance r of the middle, in
// radii, is seen what lies at r(1 + by (1 - r)²). That increases with r for -1 < by < 3, and has slope 1 at r = 1.
type swell struct {
	disc
	by float64
}

// swell draws one, after bend; nothing is drawn without Swell.
func (a Augmentation) swell(it *Sample, rng *rand.Rand) *swell {
	if a.Swell == 0 {
		return nil
	}
	by := math.Exp(a.Swell*symmetric(rng)) - 1
	if it.disc.radius == 0 {
		return nil
	}
	return &swell{it.disc, by}
}

// at is what is seen at (x, y), in pixels.
func (s *swell) at(x, y float64) (float64, float64) {
	dx, dy := x-s.x, y-s.y
	r := math.Hypot(dx, dy) / s.radius
	if r >= 1 {
		return x, y
	}
	f := 1 + s.by*(1-r)*(1-r)
	return s.x + f*dx, s.y + f*dy
}
