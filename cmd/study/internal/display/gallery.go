package display

import (
	"cmp"
	"slices"

	"mrprism/internal/study/report"
)

// Gallery keeps the exhibits of the greatest ranks, the greatest first. Its memory does not grow
// with the number of images. Of two images of equal rank it keeps the earlier.
type Gallery struct {
	report.Album
	Most  int
	ranks []Rank
}

// Rank says how far in front an image stands: a greater group first, within a group a greater
// figure.
type Rank struct {
	Group  int
	Figure float64
}

// Compare orders ranks, the greatest first.
func (r Rank) Compare(other Rank) int {
	return cmp.Or(cmp.Compare(other.Group, r.Group), cmp.Compare(other.Figure, r.Figure))
}

// Offer draws an image and keeps it if it is among the first until now.
func (g *Gallery) Offer(r Rank, draw func() (report.Exhibit, error)) error {
	if g.Most == 0 || len(g.ranks) == g.Most && r.Compare(g.ranks[g.Most-1]) >= 0 {
		return nil
	}
	e, err := draw()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(g.ranks, func(other Rank) bool { return r.Compare(other) < 0 })
	if at < 0 {
		at = len(g.ranks)
	}
	g.ranks, g.Exhibits = slices.Insert(g.ranks, at, r), slices.Insert(g.Exhibits, at, e)
	n := min(g.Most, len(g.ranks))
	g.ranks, g.Exhibits = g.ranks[:n], g.Exhibits[:n]
	return nil
}
