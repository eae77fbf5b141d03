package metric

import "math"

// Displacement is how far the centre of gravity of a mask lies from that of the pixels that more
// than half of the others mark; NaN if either is empty.
type Displacement struct {
	X, Y float64 // to the right and down, pixels
	Size float64 // the diameter of a disc with the area of those pixels, pixels
}

// moments are sums over pixels.
type moments struct{ n, x, y int }

func (m *moments) add(x, y int) { m.n, m.x, m.y = m.n+1, m.x+x, m.y+y }

// Displacements are those of several masks of 0 and 1, of width w. A nil mask is missing.
func Displacements(w int, masks ...[]uint8) []Displacement {
	own, rest, all := make([]moments, len(masks)), make([]moments, len(masks)), make([]Displacement, len(masks))
	pixels, others := 0, -1
	first := -1 // the first marked pixel: places count from it, so that a crop gives the same bits
	for _, mask := range masks {
		if mask != nil {
			pixels, others = len(mask), others+1
		}
	}
	for i := range pixels {
		count := 0
		for m, mask := range masks {
			if mask != nil && mask[i] == 1 {
				if first < 0 {
					first = i
				}
				own[m].add(i%w-first%w, i/w-first/w)
				count++
			}
		}
		if count == 0 {
			continue
		}
		for m, mask := range masks {
			if mask != nil && 2*(count-int(mask[i])) > others {
				rest[m].add(i%w-first%w, i/w-first/w)
			}
		}
	}
	for m := range masks {
		a, b := own[m], rest[m]
		between := func(a0, b0 int) float64 { return float64(a0)/float64(a.n) - float64(b0)/float64(b.n) }
		all[m] = Displacement{between(a.x, b.x), between(a.y, b.y), 2 * math.Sqrt(float64(b.n)/math.Pi)}
	}
	return all
}
