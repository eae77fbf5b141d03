package metrics

import "math"

// Matrix is the Dice of each predicted mask (row) with each rater's (column).
type Matrix [][]float64

// Max is D-Persona's Dice_max (Wu et al., CVPR 2024): for each rater the best Dice of any
// prediction with that rater, averaged.
func (m Matrix) Max() (sum float64) {
	for j := range m[0] {
		best := 0.
		for i := range m {
			best = max(best, m[i][j])
		}
		sum += best
	}
	return sum / float64(len(m[0]))
}

// Match is D-Persona's Dice_match: the mean Dice if every rater is given a different prediction, in
// the best of all assignments (the Hungarian method). It is NaN if there are fewer predictions than
// raters.
func (m Matrix) Match() (sum float64) {
	raters := len(m[0])
	if len(m) < raters {
		return math.NaN()
	}
	for i, j := range m.assign(raters) {
		if j >= 0 {
			sum += m[i][j]
		}
	}
	return sum / float64(raters)
}

// assign gives each rater a prediction, so that Dice is largest. It returns each prediction's
// rater, or -1 for none. Every rater in turn takes the shortest augmenting path over the distances
// 1 − Dice, reduced by the prices of raters and predictions (Kuhn 1955; Jonker and Volgenant 1987).
func (m Matrix) assign(raters int) (rater []int) {
	n := len(m)
	rater = make([]int, n+1) // prediction n is the start of each path
	for i := range rater {
		rater[i] = -1
	}
	prices, costs := make([]float64, raters), make([]float64, n+1)
	for j := range raters {
		rater[n] = j
		way, least, seen := make([]int, n), make([]float64, n), make([]bool, n+1)
		for i := range least {
			least[i] = math.Inf(1)
		}
		at := n
		for rater[at] >= 0 {
			seen[at] = true
			from, next, step := rater[at], -1, math.Inf(1)
			for i := range n {
				if seen[i] {
					continue
				}
				if d := 1 - m[i][from] - prices[from] - costs[i]; d < least[i] {
					least[i], way[i] = d, at
				}
				if least[i] < step {
					step, next = least[i], i
				}
			}
			for i := range seen {
				switch {
				case seen[i]:
					prices[rater[i]] += step
					costs[i] -= step
				case i < n:
					least[i] -= step
				}
			}
			at = next
		}
		for at != n { // the raters of the path move on by one prediction
			rater[at] = rater[way[at]]
			at = way[at]
		}
	}
	return rater[:n]
}

// Dices are the Dice of each prediction with each rater's mask.
func Dices(predicted, raters []Bits) Matrix {
	m := make(Matrix, len(predicted))
	for i, p := range predicted {
		m[i] = make([]float64, len(raters))
		for j, r := range raters {
			m[i][j] = p.Dice(r)
		}
	}
	return m
}

// Energy is the generalized energy distance of two sets of masks, 2E[d(S, Y)] − E[d(S, S′)] −
// E[d(Y, Y′)] with d = 1 − IoU, over all pairs (Kohl et al., NeurIPS 2018). A mask with itself is
// one of the pairs. For two empty masks d = 0; for an empty mask and another d = 1.
func Energy(predicted, raters []Bits) float64 {
	return 2*distance(predicted, raters) - distance(predicted, predicted) - distance(raters, raters)
}

// distance is the mean of 1 − IoU over all pairs.
func distance(a, b []Bits) (sum float64) {
	for _, x := range a {
		for _, y := range b {
			d := x.Dice(y)
			sum += 1 - d/(2-d)
		}
	}
	return sum / float64(len(a)*len(b))
}
