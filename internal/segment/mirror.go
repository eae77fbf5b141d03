package segment

import (
	"math"

	"mrprism/internal/data/metric"
	"mrprism/internal/trust"
)

// between says how far the maps of a region and those of its mirror image lie apart.
func (e *Engine) between(a, b output) trust.Figures {
	last := len(a.masks) - 1
	out := trust.Figures{trust.Unstable: apart(a.masks[last], b.masks[last])}
	own, ok := ratioOf(a.masks[last], e.about.Side, e.about.Classes)
	if other, also := ratioOf(b.masks[last], e.about.Side, e.about.Classes); ok && also {
		out[trust.Mirror] = math.Abs(own - other)
	}
	return out
}

// average replaces the maps of an output by their means with those of others.
func average(to output, others ...output) {
	for i, maps := range to.all() {
		for _, other := range others {
			for j, v := range other.all()[i] {
				maps[j] += v
			}
		}
		for j := range maps {
			maps[j] /= float32(1 + len(others))
		}
	}
}

// ratioOf is the vertical cup-to-disc ratio of maps (S, S, K). It is not ok if one of both is
// empty.
func ratioOf(maps []float32, side int, classes []string) (ratio float64, ok bool) {
	outer, inner := metric.DiscAndCup(classes)
	if outer < 0 || inner < 0 {
		return 0, false
	}
	height := func(c int) float64 {
		return float64(metric.VerticalDiameter(channel(maps, c, len(classes)), side, side))
	}
	ratio = height(inner) / height(outer)
	return ratio, ratio > 0 && !math.IsInf(ratio, 0)
}

// mirror exchanges left and right in maps (S, S, channels).
func mirror(maps []float32, side int) {
	channels := len(maps) / (side * side)
	for y := range side {
		row := maps[y*side*channels:][:side*channels]
		for x := range side / 2 {
			left, right := row[x*channels:][:channels], row[(side-1-x)*channels:][:channels]
			for c := range left {
				left[c], right[c] = right[c], left[c]
			}
		}
	}
}
