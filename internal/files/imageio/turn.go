package imageio

import "image"

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
	turned.Pix = Turn(m.Pix, m.W, m.H, 3, turn)
	return &turned
}

// Turn turns pixels (h, w, channels) by quarters clockwise, 0 to 3.
func Turn[T any](pixels []T, w, h, channels, turn int) []T {
	if turn == 0 {
		return pixels
	}
	out := make([]T, len(pixels))
	base, dx, dy := orient(quarters[turn], w, h)
	for y := range h {
		for x := range w {
			copy(out[(base+x*dx+y*dy)*channels:][:channels], pixels[(y*w+x)*channels:])
		}
	}
	return out
}

// Part is a rectangle of the picture, which lies within it, with all else that is known of it.
func (m *Image) Part(at image.Rectangle) *Image {
	out := *m
	out.W, out.H, out.Pix = at.Dx(), at.Dy(), make([]uint8, 0, 3*at.Dx()*at.Dy())
	for y := at.Min.Y; y < at.Max.Y; y++ {
		out.Pix = append(out.Pix, m.Pix[3*(y*m.W+at.Min.X):3*(y*m.W+at.Max.X)]...)
	}
	return &out
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
	return Turn(levels, m.W, m.H, 1, (4-m.Turn)%4), before.W, before.H
}
