package segment

import (
	"context"
	"math"

	"mrprism/internal/data/metric"
	"mrprism/internal/trust"
)

// withMirrored replaces each map of r by its mean with the map of the mirror image. The masks of
// left and right eyes are then mirror images too. The encoder keeps its last input, mirrored or
// not, and the next recurrences begin with that.
func (e *Engine) withMirrored(ctx context.Context, o Options, r *Result) error {
	o.Progress("mirror", 0, o.Recurrences+1)
	v := e.view
	if err := e.show(ctx, v, !v.mirrored); err != nil {
		return err
	}
	masks, raters, err := e.passes(ctx, o, "mirror", map[string]float64{})
	if err != nil {
		return err
	}
	for i, maps := range append(masks, raters) {
		mean := r.raters
		if i < len(masks) {
			mean = r.masks[i]
		}
		if v.mirrored {
			mirror(maps, r.side)
		} else { // the maps of r are of the mirror image
			mirror(mean, r.side)
		}
		if i == len(masks)-1 {
			r.Figures[trust.Unstable] = apart(mean, maps)
			if other, ok := ratioOf(maps, r.side, r.Classes); ok {
				if own, ok := ratioOf(mean, r.side, r.Classes); ok {
					r.Figures[trust.Mirror] = math.Abs(own - other)
				}
			}
		}
		for j, m := range maps {
			mean[j] = (mean[j] + m) / 2
		}
	}
	return nil
}

// ratioOf is the vertical cup-to-disc ratio of maps (S, S, K). It is not ok if one of both is
// empty.
func ratioOf(maps []float32, side int, classes []string) (ratio float64, ok bool) {
	outer, inner := DiscAndCup(classes)
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
