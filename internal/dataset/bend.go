package dataset

import "math/rand/v2"

// bendCells is how many cells of control points there are along a side of the view.
const bendCells = 4

// MostElastic is where Augmentation.Elastic ends: 0.4 of the distance of control points, below which nothing folds (Choi and Lee 2000).
const MostElastic = 0.4 / bendCells

// bend is a smooth displacement over the unit square: a uniform cubic B-spline (Rueckert et al. 1999, free-form deformation) of control points that
// stand 1/bendCells apart, one more on each side than the square has corners of cells.
type bend [bendCells + 3][bendCells + 3][2]float64

// bend draws one, after all else of a view but grain; nothing is drawn without Elastic.
func (a Augmentation) bend(rng *rand.Rand) *bend {
	if a.Elastic == 0 {
		return nil
	}
	var b bend
	for row := range b {
		for column := range b[row] {
			b[row][column] = [2]float64{a.Elastic * symmetric(rng), a.Elastic * symmetric(rng)}
		}
	}
	return &b
}

// at is the displacement at (u, v) in -½..½, in sides.
func (b *bend) at(u, v float64) (du, dv float64) {
	column, across := spline(u)
	row, down := spline(v)
	for j, wj := range down {
		for i, wi := range across {
			point := &b[row+j][column+i]
			du += wj * wi * point[0]
			dv += wj * wi * point[1]
		}
	}
	return du, dv
}

// spline is the first of the four control points that reach t in -½..½, and their weights, which sum to 1.
func spline(t float64) (first int, weights [4]float64) {
	t = max(0, min(bendCells, (t+.5)*bendCells))
	first = min(bendCells-1, int(t))
	t -= float64(first)
	s := 1 - t
	return first, [4]float64{s * s * s / 6, (3*t*t*t - 6*t*t + 4) / 6, (3*s*s*s - 6*s*s + 4) / 6, t * t * t / 6}
}
