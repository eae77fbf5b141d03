package metric

import "math"

// Merge joins two clusters into a new one. Clusters 0..n-1 are the items themselves, and cluster
// n+i is what the i-th merge made. A is the smaller number.
type Merge struct {
	A, B   int
	Height float64 // the mean distance between an item of A and an item of B
}

// AverageLinkage clusters items by their distances (n, n), of which it reads the lower triangle: it
// merges the two nearest clusters until one is left (UPGMA; Sokal and Michener 1958). The distance
// of two clusters is the mean over their pairs of items. Pairs whose distance is NaN do not count.
// AverageLinkage ends early if no distance is known between the clusters that are left. Of equal
// distances it takes the pair with the smallest numbers.
func AverageLinkage(distances [][]float64) (merges []Merge) {
	type link struct{ sum, pairs float64 }
	n := len(distances)
	links := make([][]link, n, 2*n) // by cluster and smaller cluster
	alive := make([]bool, n, 2*n)
	for i := range n {
		links[i], alive[i] = make([]link, i), true
		for j := range i {
			if d := distances[i][j]; !math.IsNaN(d) {
				links[i][j] = link{d, 1}
			}
		}
	}
	between := func(a, b int) link {
		if a < b {
			a, b = b, a
		}
		return links[a][b]
	}
	for {
		nearest := Merge{Height: math.Inf(1)}
		for b := range links {
			for a := range b {
				l := links[b][a]
				if alive[a] && alive[b] && l.pairs > 0 && l.sum/l.pairs < nearest.Height {
					nearest = Merge{a, b, l.sum / l.pairs}
				}
			}
		}
		if math.IsInf(nearest.Height, 1) {
			return merges
		}
		joined := make([]link, len(links))
		for c := range links {
			if c != nearest.A && c != nearest.B {
				x, y := between(nearest.A, c), between(nearest.B, c)
				joined[c] = link{x.sum + y.sum, x.pairs + y.pairs}
			}
		}
		merges = append(merges, nearest)
		alive[nearest.A], alive[nearest.B] = false, false
		links, alive = append(links, joined), append(alive, true)
	}
}
