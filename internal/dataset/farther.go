package dataset

// Farther is the case as a camera that sees more would show it, and not in the middle: on black, so many times as wide and high (at least 1), a
// quarter of the new room left of it and three quarters above.
func (l *Loaded) Farther(times float64) *Loaded {
	w, h := int(times*float64(l.Image.W)), int(times*float64(l.Image.H))
	x, y := (w-l.Image.W)/4, 3*(h-l.Image.H)/4
	return l.moved(w, h, func(pixels []uint8, channels int) []uint8 { return placed(pixels, l.Image.W, w, h, x, y, channels) })
}

// placed is a picture of lines of so many pixels on zeros (h, w, channels), its corner at (x, y).
func placed(pixels []uint8, line, w, h, x, y, channels int) []uint8 {
	out := make([]uint8, w*h*channels)
	for from := 0; from < len(pixels); from += line * channels {
		copy(out[((y+from/(line*channels))*w+x)*channels:], pixels[from:from+line*channels])
	}
	return out
}
