package segment

import (
	"image"
	"math"
	"slices"

	"mrprism/internal/data/contour"
	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"
	"mrprism/internal/trust"
	"mrprism/weights"
)

// Outlines are an inner and an outer outline on either side of that of the mask. Of a further
// expert's outline trust.Between of the length lies between them, in a share, Coverage, of images
// like those that they were learned from.
type Outlines struct {
	Margin   float64 `json:"margin"` // from the mask's outline to each of both, pixels
	Coverage float64 `json:"coverage"`
	// Withheld is why there are none, a sentence; empty: there are.
	Withheld string `json:"withheld,omitempty"`
}

// depths is how deep each pixel lies in the mask of a class before calibrate, (Height, Width): 1/2
// on its outline, 1 at least weights.MostReach radii inside, and 0 as far outside. It is nil
// without the structure.
func (r *Maps) depths(class int) []float32 {
	s, radius, mask := r.side, r.radius(class), channel(r.plain, class, len(r.Classes))
	if radius == 0 {
		return nil
	}
	line := contour.Trace(mask, s, s, .5, 0).Points
	depths := make([]float32, s*s)
	for i, p := range mask {
		x, y, nearest := float32(i%s)+.5, float32(i/s)+.5, float32(math.Inf(1))
		for at := 0; at < len(line); at += 2 {
			dx, dy := line[at]-x, line[at+1]-y
			nearest = min(nearest, dx*dx+dy*dy)
		}
		depth := math.Sqrt(float64(nearest)) / radius / (2 * weights.MostReach)
		if p <= .5 {
			depth = -depth
		}
		depths[i] = float32(.5 + depth)
	}
	return imageio.Restore(depths, s, 1, 0, r.ROI, r.Width, r.Height, image.Rectangle{}, clamp)
}

// radius is that of a circle of the area of the outermost structure around a class before
// calibrate, in pixels of the network. It is 0 without the structure.
func (r *Maps) radius(class int) float64 {
	if r.plain == nil {
		return 0
	}
	area := func(class int) float64 { return float64(metric.Area(channel(r.plain, class, len(r.Classes)))) }
	switch {
	case area(class) == 0:
		return 0
	case r.separate:
		return math.Sqrt(area(class) / math.Pi)
	}
	return math.Sqrt(area(0) / math.Pi)
}

// pixels is a margin of a class in pixels of the image.
func (r *Maps) pixels(class int, margin float64) float64 {
	return math.Round(100*margin*r.radius(class)*float64(r.ROI.Side)/float64(r.side)) / 100
}

// Apart is the least margin with which trust.Between of the outline of an expert's mask (Height,
// Width) lies between the outlines of a class, in radii as in weights.Trust.Outlines. It is
// infinite if there is none.
func (r *Maps) Apart(class int, mask []uint8) float64 {
	values := make([]float32, len(mask))
	for i, v := range mask {
		values[i] = float32(v)
	}
	line, depths := contour.Trace(values, r.Width, r.Height, .5, 0).Points, r.depths(class)
	if len(line) == 0 || depths == nil {
		return math.Inf(1)
	}
	var apart []float64
	for at := 0; at < len(line); at += 2 {
		x, y := min(r.Width-1, int(line[at])), min(r.Height-1, int(line[at+1]))
		apart = append(apart, math.Abs(float64(depths[y*r.Width+x])-.5))
	}
	slices.Sort(apart)
	margin := 2 * weights.MostReach * apart[int(math.Ceil(trust.Between*float64(len(apart))))-1]
	if margin >= weights.MostReach {
		return math.Inf(1)
	}
	return margin
}

// HasOutlines says whether a class has an inner and an outer outline.
func (r *Maps) HasOutlines(class int) bool {
	_, ok := r.margins[class]
	return ok
}

// Inner and Outer are the maps of a class inside of its inner and its outer outline, which lie at
// one half. Between is that between them. The calibrated mask lies between them too. The class must
// have outlines.
func (r *Maps) Inner(class int) []float32 {
	return r.moved(class, -1, func(a, b float32) float32 { return min(a, b) })
}

func (r *Maps) Outer(class int) []float32 {
	return r.moved(class, 1, func(a, b float32) float32 { return max(a, b) })
}

func (r *Maps) Between(class int) []float32 {
	between, inner := r.Outer(class), r.Inner(class)
	for i, v := range inner {
		between[i] = min(between[i], 1-v)
	}
	return between
}

// moved is the depths of a class with the margin added to a side, or the mask where that is
// farther.
func (r *Maps) moved(class, side int, farther func(a, b float32) float32) []float32 {
	depths, mask := r.depths(class), r.Probability(class)
	by := float32(side) * float32(r.margins[class]/(2*weights.MostReach))
	for i, depth := range depths {
		depths[i] = farther(min(1, max(0, depth+by)), mask[i])
	}
	return depths
}
