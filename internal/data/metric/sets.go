package metric

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

// mostMatched bounds the assignments of Match, whose work grows as 2ⁿ.
const mostMatched = 16

// Match is D-Persona's Dice_match: the mean Dice if every rater is given a different prediction, in
// the best of all assignments. It is NaN if there are fewer predictions than raters, or more than
// 16 predictions.
func (m Matrix) Match() (most float64) {
	n := len(m)
	if n < len(m[0]) || n > mostMatched {
		return math.NaN()
	}
	// best maps a set of predictions to the largest sum if the first raters have these predictions.
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
	for _, sum := range best {
		most = max(most, sum)
	}
	return most / float64(len(m[0]))
}

// Energy is the generalized energy distance of two sets of masks, 2E[d(S, Y)] − E[d(S, S′)] −
// E[d(Y, Y′)] with d = 1 − IoU, over all pairs (Kohl et al., NeurIPS 2018). A mask with itself
// is one of the pairs. Two empty masks have d = 0, an empty mask and another have d = 1.
func Energy[P, R Pixel](predicted [][]P, raters [][]R) float64 {
	return 2*distance(predicted, raters) - distance(predicted, predicted) - distance(raters, raters)
}

// distance is the mean of 1 − IoU over all pairs.
func distance[A, B Pixel](a [][]A, b [][]B) (sum float64) {
	for _, x := range a {
		for _, y := range b {
			d := Dice(x, y)
			sum += 1 - d/(2-d)
		}
	}
	return sum / float64(len(a)*len(b))
}
