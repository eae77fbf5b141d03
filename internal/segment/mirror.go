package segment

import "context"

// withMirrored makes each map of r, which are of what the encoder has seen of the view, the mean with that of its mirror image: a left eye and a
// right one are then segmented alike. The encoder is left with the image that it has seen last, which the next recurrences begin with.
func (e *Engine) withMirrored(ctx context.Context, o Options, r *Result) error {
	v := e.view
	e.view = nil // what the encoder has seen is not known until it has
	v.mirrored = !v.mirrored
	if err := e.encode(ctx, v.image, v.square, v.mirrored); err != nil {
		return err
	}
	e.view = v
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
		} else { // those before were of the mirror image
			mirror(mean, r.side)
		}
		for j, m := range maps {
			mean[j] = (mean[j] + m) / 2
		}
	}
	return nil
}

// mirror exchanges left and right of maps (S, S, channels).
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
