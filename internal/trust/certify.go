package trust

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"mrprism/weights"
)

// Certified is the share of new patients whose marked ratio an interval of a certificate holds.
const Certified = 0.9

// Narrow is the reach up to which a certified ratio is trusted.
const Narrow = 0.125

// Eye is the vertical ratio of one eye.
type Eye struct {
	Patient           int // of dataset.Units
	Predicted, Marked float64
}

// TooFew says that the eyes are those of too few patients for a certificate.
type TooFew struct{ Patients, Fewest int }

func (e TooFew) Error() string {
	return fmt.Sprintf("there are eyes of %d patients, and a certificate takes %d: the errors of fewer do not bound the next patient's in %.0f of 100, not even the largest",
		e.Patients, e.Fewest, 100*Certified)
}

// Certify fits the line from predicted to marked ratios, and the reach of the interval around it.
// Each patient counts alike. A patient's errors are those of the line of the other patients. The
// reach is the quantile of the errors with the rank (n + 1)·Certified of n patients, the jackknife
// of conformal prediction; between two errors it is interpolated (Beran and Hall 1993), since with
// twelve patients the next whole rank would hold 12 of 13. The error is TooFew.
func Certify(eyes []Eye) (c weights.Certificate, err error) {
	count, errors := map[int]float64{}, make([]float64, len(eyes))
	for _, e := range eyes {
		count[e.Patient]++
	}
	c = weights.Certificate{Eyes: len(eyes), Patients: len(count), Coverage: Certified, Method: "shift and slope"}
	if c.Patients < Fewest(Certified) {
		return c, TooFew{c.Patients, Fewest(Certified)}
	}
	order := make([]int, len(eyes))
	for i, e := range eyes {
		of := line(slices.DeleteFunc(slices.Clone(eyes), func(other Eye) bool { return other.Patient == e.Patient }))
		order[i], errors[i] = i, math.Abs(of.At(e.Predicted)-e.Marked)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(errors[a], errors[b]) })
	rank, below, before := Certified*float64(c.Patients+1), 0., 0. // below: patients whose errors are at most before
	for _, i := range order {
		at := below + 1/count[eyes[i].Patient]
		if c.Reach = errors[i]; at >= rank {
			c.Reach = before + (errors[i]-before)*max(0, rank-below)/(at-below)
			break
		}
		below, before = at, errors[i]
	}
	whole := line(eyes)
	c.Shift, c.Slope = whole.Shift, whole.Slope
	for _, e := range eyes {
		low, high := Interval(&c, e.Predicted)
		c.Width += (high - low) / float64(len(eyes))
	}
	return c, nil
}

// Interval is that of a ratio of the model's masks.
func Interval(c *weights.Certificate, ratio float64) (low, high float64) {
	return max(0, c.At(ratio)-c.Reach), min(1, c.At(ratio)+c.Reach)
}

// Twelve eyes say little about a slope: it is drawn towards 1 by usual eyes whose ratios deviate by
// usualDeviation, and stays within limits. Six eyes do best on the mean of REFUGE and RIM-ONE
// (model/DECISIONS.md).
const (
	usual, usualDeviation = 6, 0.15
	flattest, steepest    = 0.4, 1.8
)

// line is the least squares line of eyes, with a ridge of the slope towards 1. Each patient counts
// alike.
func line(eyes []Eye) (c weights.Certificate) {
	count := map[int]float64{}
	for _, e := range eyes {
		count[e.Patient]++
	}
	var predicted, marked float64
	for _, e := range eyes {
		share := 1 / count[e.Patient] / float64(len(count))
		predicted, marked = predicted+share*e.Predicted, marked+share*e.Marked
	}
	squares := usual * usualDeviation * usualDeviation
	products := squares
	for _, e := range eyes {
		by := (e.Predicted - predicted) / count[e.Patient]
		squares, products = squares+by*(e.Predicted-predicted), products+by*(e.Marked-marked)
	}
	c.Slope = min(max(products/squares, flattest), steepest)
	c.Shift = marked - c.Slope*predicted
	return c
}

// Window is the number of photographs that Drift looks at.
const Window = 20

// Appearances name the figures of Certificate.Photographs.
var Appearances = []string{"brightness", "redness", "yellowness", "contrast", "sharpness", "detail"}

// A permutation test draws permutations. The share of false alarms is at most alarms.
const permutations, alarms = 399, 0.05

// Drift compares the photographs that were taken last with those of a certificate, by their
// figures. It returns the name of the figure that has changed most, or "" where the difference of
// the means may be chance. The test is Hotelling's with the covariance of all photographs, by
// permutation: false alarms are as rare as alarms for figures of any distribution.
func Drift(certified, last [][]float64) string {
	rows := scaled(slices.Concat(certified, last))
	change := func() []float64 { // of the means of the first rows; those of all rows are 0
		sum := make([]float64, len(rows[0]))
		for _, row := range rows[:len(certified)] {
			for j, v := range row {
				sum[j] += v
			}
		}
		return sum
	}
	distance := func(change []float64) float64 { return dot(change, solve(rows, change)) }
	observed := change()
	least := distance(observed) - 1e-9
	reached, r := 1, rand.New(rand.NewPCG(1, 2))
	for range permutations {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if distance(change()) >= least {
			reached++
		}
	}
	if float64(reached) > alarms*(permutations+1) {
		return ""
	}
	most := 0
	for j, v := range observed {
		if math.Abs(v) > math.Abs(observed[most]) {
			most = j
		}
	}
	return Appearances[most]
}

// scaled are rows less their mean, over their deviation and the root of their number.
func scaled(rows [][]float64) [][]float64 {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i] = slices.Clone(rows[i])
	}
	for j := range rows[0] {
		mean, squares := meanOf(rows, j)
		for _, row := range rows {
			row[j] = (row[j] - mean) / math.Sqrt(squares+1e-12)
		}
	}
	return rows
}

// meanOf is the mean of figure j, and the sum of the squares of what lies beside it.
func meanOf(rows [][]float64, j int) (mean, squares float64) {
	for _, row := range rows {
		mean += row[j] / float64(len(rows))
	}
	for _, row := range rows {
		squares += (row[j] - mean) * (row[j] - mean)
	}
	return mean, squares
}

// strange is the distance in deviations beyond which a figure is not that of the camera.
const strange = 4

// Unlike names the figure by which a photograph is unlike those of a certificate, or is "".
func Unlike(certified [][]float64, photograph []float64) string {
	if len(certified) == 0 || len(photograph) != len(certified[0]) {
		return Appearances[0]
	}
	n := float64(len(certified))
	for j, v := range photograph {
		mean, squares := meanOf(certified, j)
		if !(math.Abs(v-mean) <= strange*math.Sqrt(squares/(n-1)*(1+1/n))) {
			return Appearances[j]
		}
	}
	return ""
}
