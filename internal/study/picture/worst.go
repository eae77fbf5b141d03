package picture

import (
	"cmp"
	"image"
	"image/color"
	"slices"
)

// Most is the number of results in a block of the sheet.
const Most = 10

// Worst keeps the cells of the worst results, the worst first. Its memory does not grow with the
// number of results.
type Worst struct {
	Cells   []*Cell
	Offered int
}

// Cell is one result on the sheet.
type Cell struct {
	Rank
	Name    string
	Turned  int    // degrees, clockwise
	Figure  string // in ASCII, as the sheet's font has no other letters
	Frame   color.RGBA
	Picture *image.RGBA
}

// Rank says how bad a result is. A greater group is worse; within a group a greater figure is
// worse.
type Rank struct {
	Group  int
	Figure float64
}

// Compare orders ranks, the worst first.
func (r Rank) Compare(other Rank) int {
	return cmp.Or(cmp.Compare(other.Group, r.Group), cmp.Compare(other.Figure, r.Figure))
}

// Offer draws a result and keeps it if it is among the worst until now. Of two results of equal
// rank it keeps the earlier.
func (w *Worst) Offer(r Rank, draw func() *Cell) {
	w.Offered++
	if len(w.Cells) == Most && r.Compare(w.Cells[Most-1].Rank) >= 0 {
		return
	}
	c := draw()
	c.Rank = r
	w.Cells = append(w.Cells, c)
	slices.SortStableFunc(w.Cells, func(a, b *Cell) int { return a.Compare(b.Rank) })
	w.Cells = w.Cells[:min(Most, len(w.Cells))]
}
