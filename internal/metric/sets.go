package metric

import "math"

// Matrix is the Dice of each predicted mask (row) with each rater's (column).
type Matrix [][]float64

// Max is D-Persona's Dice_max (Wu et al., CVPR 2024): for each rater the best Dice that any prediction has with him, averaged.
func (m Matrix) Max() float64 {
	sum := 0.
	for j := range m[0] {
		best := 0.
		for i := range m {
			best = max(best, m[i][j])
		}
		sum += best
	}
	return sum / float64(len(m[0]))
}

// mostMatched bounds the assignments of Match, whose work grows as 2ⁿ.
const mostMatched = 16

// Match is D-Persona's Dice_match: the mean Dice where every rater is given another prediction, in the best of all assignments. NaN where there
// are fewer predictions than raters, or more than 16 predictions.
func (m Matrix) Match() float64 {
	n := len(m)
	if n < len(m[0]) || n > mostMatched {
		return math.NaN()
	}
	// best[taken] is the largest sum of the first raters, as many as there are predictions taken.
	best := map[int]float64{0: 0}
	for j := range m[0] {
		next := map[int]float64{}
		for taken, sum := range best {
			for i := range n {
				if taken>>i&1 == 0 {
					next[taken|1<<i] = max(next[taken|1<<i], sum+m[i][j])
				}
			}
		}
		best = next
	}
	most := 0.
	for _, sum := range best {
		most = max(most, sum)
	}
	return most / float64(len(m[0]))
}

// Energy is the generalized energy distance of two sets of masks, 2E[d(S, Y)] − E[d(S, S′)] − E[d(Y, Y′)] with d = 1 − IoU, over all pairs
// (Kohl et al., NeurIPS 2018; a mask with itself is a pair of two equal draws). Two empty masks have d = 0, one empty one d = 1.
func Energy[P, R Pixel](predicted [][]P, raters [][]R) float64 {
	return 2*distance(predicted, raters) - distance(predicted, predicted) - distance(raters, raters)
}

// distance is the mean of 1 − IoU over all pairs.
func distance[A, B Pixel](a [][]A, b [][]B) float64 {
	sum := 0.
	for _, x := range a {
		for _, y := range b {
			d := Dice(x, y)
			sum += 1 - d/(2-d)
		}
	}
	return sum / float64(len(a)*len(b))
}
