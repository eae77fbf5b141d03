package metric

import (
	"encoding/binary"
	"slices"
)

// Pattern is the pixels that the same raters marked.
type Pattern struct {
	Marks  []uint8 // by rater, 0 or 1
	Pixels int
}

// Patterns groups the pixels of masks (0 or 1) of equal size by who marked them. There are few, and
// what compares raters needs no more of their masks.
type Patterns []Pattern

// PatternsOf groups pixels. The first pattern is of those that nobody marked; of no masks it is empty.
func PatternsOf(masks ...[]uint8) Patterns {
	// A tree: node 0 is the root, and the mark of each mask leads on to the next node.
	nodes, counts := [][2]int{{}}, []int{0}
	enter := func(i int) *int {
		at := 0
		for _, mask := range masks {
			next := nodes[at][mask[i]]
			if next == 0 {
				next = len(nodes)
				nodes[at][mask[i]] = next
				nodes, counts = append(nodes, [2]int{}), append(counts, 0)
			}
			at = next
		}
		return &counts[at]
	}
	if len(masks) == 0 {
		return Patterns{{}}
	}
	for i, n := 0, len(masks[0]); i < n; {
		if i+8 <= n && even(masks, i) {
			*enter(i) += 8
			i += 8
			continue
		}
		for end := min(i+8, n); i < end; i++ {
			*enter(i)++
		}
	}
	all := Patterns{{make([]uint8, len(masks)), 0}}
	var list func(at int, marks []uint8)
	list = func(at int, marks []uint8) {
		switch {
		case len(marks) < len(masks):
			for v, next := range nodes[at] {
				if next > 0 {
					list(next, append(marks, uint8(v)))
				}
			}
		case slices.Contains(marks, 1):
			all = append(all, Pattern{slices.Clone(marks), counts[at]})
		default:
			all[0].Pixels += counts[at]
		}
	}
	list(0, nil)
	return all
}

// even reports whether eight pixels have the same marks.
func even(masks [][]uint8, i int) bool {
	for _, mask := range masks {
		if marks := binary.LittleEndian.Uint64(mask[i:]); marks != 0 && marks != 0x0101010101010101 {
			return false
		}
	}
	return true
}

// Pixels is the number of all pixels.
func (p Patterns) Pixels() (n int) { return p.count(func([]uint8) bool { return true }) }

// Area is the number of pixels that a rater marked.
func (p Patterns) Area(m int) int { return p.count(func(marks []uint8) bool { return marks[m] == 1 }) }

// Dice is 2|A∩B|/(|A| + |B|) of two raters. Two empty masks give 1.
func (p Patterns) Dice(a, b int) float64 {
	both := p.count(func(marks []uint8) bool { return marks[a]&marks[b] == 1 })
	return share(both, p.Area(a)+p.Area(b), 0)
}

// Kappa is Cohen's (1960) of two raters, over all pixels; NaN if both marked all of them, or none.
func (p Patterns) Kappa(a, b int) float64 {
	all, inA, inB := float64(p.Pixels()), float64(p.Area(a)), float64(p.Area(b))
	apart := float64(p.count(func(marks []uint8) bool { return marks[a] != marks[b] }))
	return 1 - apart*all/(inA*(all-inB)+inB*(all-inA))
}

func (p Patterns) count(has func(marks []uint8) bool) (n int) {
	for _, one := range p {
		if has(one.Marks) {
			n += one.Pixels
		}
	}
	return n
}

// Tally is the number of pixels by how many raters marked them: 0 to all.
type Tally []int

// Tally counts the raters of each pattern.
func (p Patterns) Tally() Tally {
	t := make(Tally, len(p[0].Marks)+1)
	for _, one := range p {
		n := 0
		for _, v := range one.Marks {
			n += int(v)
		}
		t[n] += one.Pixels
	}
	return t
}

// Union is the tally of the pixels that somebody marked.
func (t Tally) Union() Tally { return append(Tally{0}, t[1:]...) }

// Pixels is the number of pixels counted.
func (t Tally) Pixels() (n int) {
	for _, pixels := range t {
		n += pixels
	}
	return n
}
