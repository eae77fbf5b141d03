package imageio

// Turn turns pixels (h, w, channels) clockwise by a quarter: the result is (w, h, channels).
func Turn[T any](pixels []T, w, h, channels int) []T {
	out := make([]T, len(pixels))
	for y := range h {
		for x := range w {
			copy(out[(x*h+h-1-y)*channels:][:channels], pixels[(y*w+x)*channels:])
		}
	}
	return out
}
