package importer

import (
	"math"
	"slices"

	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
)

// A rater has drawn two closed outlines, of the disc and of the cup within it, into a copy of a
// photograph. The strokes are the pixels in which the copy differs from the photograph. They
// separate regions of the image. Every pixel of a stroke is given to the nearer region, so that the
// border runs along the stroke's middle, however thick the stroke is. Photographs saved again as
// JPEG differ a little everywhere, and strokes have gaps. Therefore outlined tries several
// thresholds, and thickens strokes.
const (
	speck    = 20   // strokes of fewer pixels are noise
	least    = 0.01 // regions of a smaller share of the enclosed area are noise
	oval     = 0.85 // least fullness of an outline; an ellipse has 1
	leftover = 0.25 // strokes beside outlines / length of the outer one; more: an outline is open
)

// outlined finds the disc and the cup (H, W), 0 and 1, whose outlines are drawn into a copy of a
// photograph of equal size. A single outline is the disc; cup is then nil, and reason says so.
// Without outlines both are nil.
func outlined(photograph, drawn *imageio.Image) (disc, cup []uint8, reason string) {
	w, h := photograph.W, photograph.H
	difference := make([]uint8, w*h)
	strongest := uint8(0)
	for i := range difference {
		for c := range 3 {
			a, b := photograph.Pix[3*i+c], drawn.Pix[3*i+c]
			difference[i] = max(difference[i], a-min(a, b), b-min(a, b))
		}
		strongest = max(strongest, difference[i])
	}
	thresholds := []uint8{20, 40, 80, 10}
	if strongest <= slices.Min(thresholds) {
		return nil, nil, "nothing is drawn into it"
	}
	reason = "no closed outline was found"
	for _, thicker := range []int{0, 1, 2, 3, 4} {
		for _, threshold := range thresholds {
			s := newStrokes(difference, w, h, threshold, thicker)
			if s == nil {
				continue
			}
			outer, inner := s.regions()
			switch {
			case outer == nil:
			case inner != nil:
				return s.imageMask(outer, w, h), s.imageMask(inner, w, h), ""
			case disc == nil:
				disc, reason = s.imageMask(outer, w, h), "only one closed outline was found; it is taken for the disc"
			}
		}
	}
	return disc, nil, reason
}

// strokes are a part of the image that holds all strokes and a margin around them.
type strokes struct {
	x, y, w, h int    // the part's corner in the image, which may lie outside, and its size
	line       []bool // (h, w) the strokes
	thick      []bool // (h, w) the strokes made thicker
}

// newStrokes finds pixels that differ by more than a threshold. It returns nil if there are only
// specks.
func newStrokes(difference []uint8, w, h int, threshold uint8, thicker int) *strokes {
	all := make([]bool, w*h)
	for i, d := range difference {
		all[i] = d > threshold
	}
	x0, y0, x1, y1 := w, h, -1, -1
	label, sizes := components(all, w, true)
	for i, l := range label {
		if l >= 0 && sizes[l] < speck {
			all[i] = false
		}
		if all[i] {
			x0, y0, x1, y1 = min(x0, i%w), min(y0, i/w), max(x1, i%w), max(y1, i/w)
		}
	}
	if x1 < 0 {
		return nil
	}
	margin := thicker + 1
	s := &strokes{x: x0 - margin, y: y0 - margin, w: x1 - x0 + 1 + 2*margin, h: y1 - y0 + 1 + 2*margin}
	s.line, s.thick = make([]bool, s.w*s.h), make([]bool, s.w*s.h)
	for y := y0; y <= y1; y++ {
		for x := x0; x <= x1; x++ {
			if !all[y*w+x] {
				continue
			}
			at := (y-s.y)*s.w + x - s.x
			s.line[at] = true
			for dy := -thicker; dy <= thicker; dy++ {
				for dx := -thicker; dx <= thicker; dx++ {
					s.thick[at+dy*s.w+dx] = true
				}
			}
		}
	}
	return s
}

// regions returns the area within the outer outline (including the inner area) and the area within
// the inner one. Without a closed oval outline both are nil.
func (s *strokes) regions() (outer, inner []bool) {
	free := make([]bool, len(s.thick))
	for i, thick := range s.thick {
		free[i] = !thick
	}
	label, sizes := components(free, s.w, false)
	outside := label[0] // the margin is free
	enclosed := 0
	for l, n := range sizes {
		if l != outside {
			enclosed += n
		}
	}
	for i, l := range label {
		if l >= 0 && l != outside && float64(sizes[l]) < least*float64(enclosed) {
			label[i] = -1 // a hole in a stroke
		}
	}
	s.share(label)
	outer = make([]bool, len(label))
	for i, l := range label {
		outer[i] = l != outside
	}
	length := s.length(outer)
	if enclosed == 0 || fullness(outer, s.w) < oval || s.strayStrokes(label, outside) > leftover*length {
		return nil, nil
	}
	inside := -1
	best, regions := 0., 0
	for l := range sizes {
		if l == outside || float64(sizes[l]) < least*float64(enclosed) {
			continue
		}
		regions++
		region := make([]bool, len(label))
		for i := range label {
			region[i] = label[i] == l
		}
		if f := fullness(region, s.w); f > best {
			best, inside, inner = f, l, region
		}
	}
	switch {
	case regions > 1 && best >= oval:
		return outer, inner
	case regions == 1 && s.strayStrokes(label, inside) <= leftover*length:
		return outer, nil
	}
	return nil, nil
}

// share gives every pixel without a region the region of the nearest pixel that has one.
func (s *strokes) share(label []int) {
	var front []int
	for i, l := range label {
		if l >= 0 {
			front = append(front, i)
		}
	}
	for len(front) > 0 {
		var next []int
		for _, i := range front {
			x := i % s.w
			for _, j := range [4]int{i - 1, i + 1, i - s.w, i + s.w} {
				if j < 0 || j >= len(label) || (j == i-1 && x == 0) || (j == i+1 && x == s.w-1) || label[j] >= 0 {
					continue
				}
				label[j] = label[i]
				next = append(next, j)
			}
		}
		front = next
	}
}

// strayStrokes counts the stroke pixels that lie within one region and separate nothing.
func (s *strokes) strayStrokes(label []int, region int) float64 {
	stroke, sizes := components(s.line, s.w, true)
	parts := make([]bool, len(sizes))
	for i, l := range stroke {
		if l >= 0 && label[i] != region {
			parts[l] = true
		}
	}
	n := 0
	for l, part := range parts {
		if !part {
			n += sizes[l]
		}
	}
	return float64(n)
}

// length counts a region's pixels that have a neighbour outside it. The margin keeps all neighbours
// within s.
func (s *strokes) length(region []bool) float64 {
	n := 0
	for i, in := range region {
		if in && !(region[i-1] && region[i+1] && region[i-s.w] && region[i+s.w]) {
			n++
		}
	}
	return float64(n)
}

// imageMask is a region as a mask of the whole image.
func (s *strokes) imageMask(region []bool, w, h int) []uint8 {
	mask := make([]uint8, w*h)
	for i, in := range region {
		x, y := s.x+i%s.w, s.y+i/s.w
		if in && x >= 0 && y >= 0 && x < w && y < h {
			mask[y*w+x] = 1
		}
	}
	return mask
}

// fullness is a region's area / the area of the ellipse with the same second moments, 4π·sqrt(det):
// 1 for ellipses, and less for rings, crescents and broken shapes.
func fullness(region []bool, w int) float64 {
	var n, sx, sy, sxx, syy, sxy float64
	for i, in := range region {
		if in {
			x, y := float64(i%w), float64(i/w)
			n, sx, sy, sxx, syy, sxy = n+1, sx+x, sy+y, sxx+x*x, syy+y*y, sxy+x*y
		}
	}
	if n == 0 {
		return 0
	}
	mx, my := sx/n, sy/n
	determinant := (sxx/n-mx*mx)*(syy/n-my*my) - (sxy/n-mx*my)*(sxy/n-mx*my)
	const pixel = 1. / 144 // the determinant of one pixel, 1/12 along each axis
	return n / (4 * math.Pi * math.Sqrt(max(determinant, pixel)))
}

// components numbers the connected parts of the set pixels, in rows of w. label is the part of each
// pixel, or -1 if the pixel is not set. sizes are the parts' areas in pixels.
func components(set []bool, w int, diagonal bool) (label, sizes []int) {
	label = slices.Repeat([]int{-1}, len(set))
	for l, piece := range roi.Connected(len(set), w, diagonal, func(i int) bool { return set[i] }) {
		sizes = append(sizes, len(piece))
		for _, i := range piece {
			label[i] = l
		}
	}
	return label, sizes
}
