package roi

const (
	bright = .6          // lightness of a field in even light
	reach  = .22         // of a field's side: how far around a pixel Even looks
	glow   = dark / 255. // lightness above which a pixel is lit
	gloom  = .03         // least lightness that Even divides by
)

// Even puts the pixels (s, s, 3), 0..1, of a field into even and bright light. Each lit pixel is
// divided by the mean lightness of the lit pixels around it (a box blur, twice), which then is 0.6.
// So neither a short exposure nor a field that is dark on one side hides a structure. Even is for
// whole fields: in a close view a structure would be divided by its own lightness.
func Even(x []float32, s int) {
	lit, light := make([]float32, s*s), make([]float32, s*s)
	for i := range lit {
		if l := (x[3*i] + x[3*i+1] + x[3*i+2]) / 3; l > glow {
			lit[i], light[i] = 1, l
		}
	}
	inside, around := lit, int(reach*float64(s))
	for range 4 {
		lit, light = blurred(lit, s, around), blurred(light, s, around)
	}
	for i, v := range x {
		if inside[i/3] > 0 {
			x[i] = min(1, v*bright/max(gloom, light[i/3]/lit[i/3]))
		}
	}
}

// blurred returns the transpose of p (s, s), after replacing each value by the mean of the values
// in its row that are at most `around` away.
func blurred(p []float32, s, around int) []float32 {
	out, sums := make([]float32, s*s), make([]float32, s+1)
	for y := range s {
		for x, v := range p[y*s:][:s] {
			sums[x+1] = sums[x] + v
		}
		for x := range s {
			from, to := max(0, x-around), min(s, x+around+1)
			out[x*s+y] = (sums[to] - sums[from]) / float32(to-from)
		}
	}
	return out
}
