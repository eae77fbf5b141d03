package imageio

// quarters has, by the number of quarter turns clockwise, the EXIF orientation that displays them.
var quarters = [4]int{1, 6, 3, 8}

// Turned is the picture after quarter turns clockwise, 0 to 3.
func (m *Image) Turned(turn int) *Image {
	if turn == 0 {
		return m
	}
	turned := *m
	turned.Turn = (m.Turn + turn) % 4
	if turn%2 == 1 {
		turned.W, turned.H = m.H, m.W
		turned.Spacing = [2]float64{m.Spacing[1], m.Spacing[0]}
	}
	turned.Pix = make([]uint8, len(m.Pix))
	eachTurned(m.W, m.H, turn, func(from, to int) { copy(turned.Pix[3*to:3*to+3], m.Pix[3*from:3*from+3]) })
	return &turned
}

// TurnLevels turns levels (h, w) by quarters clockwise, 0 to 3.
func TurnLevels[T any](levels []T, w, h, turn int) []T {
	if turn == 0 {
		return levels
	}
	out := make([]T, len(levels))
	eachTurned(w, h, turn, func(from, to int) { out[to] = levels[from] })
	return out
}

// Before is the picture as it was before its turns, without pixels.
func (m *Image) Before() Image {
	before := *m
	before.Pix, before.Turn = nil, 0
	if m.Turn%2 == 1 {
		before.W, before.H = m.H, m.W
		before.Spacing = [2]float64{m.Spacing[1], m.Spacing[0]}
	}
	return before
}

// Unturned turns levels (H, W) of a picture that Turned has made back, to (h, w).
func Unturned[T any](m *Image, levels []T) (out []T, w, h int) {
	before := m.Before()
	return TurnLevels(levels, m.W, m.H, (4-m.Turn)%4), before.W, before.H
}

// eachTurned calls pixel with the index of each pixel of a w×h picture before and after its turns.
func eachTurned(w, h, turn int, pixel func(from, to int)) {
	base, dx, dy := orient(quarters[turn], w, h)
	for y := range h {
		for x := range w {
			pixel(y*w+x, base+x*dx+y*dy)
		}
	}
}
