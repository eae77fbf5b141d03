package score

import (
	"math"
	"slices"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
)

// Bins are those of calibration errors and reliability diagrams.
const Bins = metric.CalibrationBins

// Target is what the maps of one structure of an image are compared with.
type Target struct {
	Votes    metric.Votes // of the raters, or the reference as the only vote
	Majority []uint8
	Union    []uint8   // of the votes and of all marks
	Marks    [][]uint8 // (H, W) by rater; nil for a missing mark
	W, H     int
	packed   []metrics.Bits
	people   [][]uint8 // whose votes they are; nil for levels, and for a reference
	ceiling  *metric.Ceiling
}

// Ceiling is what a perfect model would reach. It is not defined for levels, nor for a reference.
func (t *Target) Ceiling() metric.Ceiling {
	if t.ceiling == nil {
		t.ceiling = new(metric.PatternsOf(t.people...).Ceiling())
	}
	return *t.ceiling
}

// TargetOf is the mean vote of a structure of an image, or a reference (H, W) in its place. It is
// nil without either: where nobody marked the structure, or an agreement level is missing.
func TargetOf(l *dataset.Loaded, k int, reference []uint8) *Target {
	votes, _ := l.Votes(k)
	t := &Target{Votes: votes, Marks: l.ByRater(k), W: l.W, H: l.H}
	if l.Image != nil {
		t.W, t.H = l.Image.W, l.Image.H
	}
	switch {
	case reference != nil:
		t.Votes, t.Union = metric.Count(reference), slices.Clone(reference)
		for i, n := range votes.Count {
			t.Union[i] |= uint8(min(n, 1))
		}
	case votes.Raters > 0:
		if t.Union = votes.Union(); !l.Levels {
			t.people = l.Experts(k)
		}
	default:
		return nil
	}
	t.Majority = t.Votes.Majority()
	for _, mark := range t.Marks {
		t.packed = append(t.packed, metrics.Pack(mark))
	}
	return t
}

// Single is a map in the precision of maps.
func Single(p []float64) []float32 {
	return statistics.Tabulate(len(p), func(i int) float32 { return float32(p[i]) })
}

// Empty reports whether nobody marked a pixel.
func (t *Target) Empty() bool { return metric.Area(t.Union) == 0 }

// SoftDice is that of a map (H, W) with the votes.
func (t *Target) SoftDice(p []float32) float64 { return metric.SoftDice(p, t.Votes) }

// Dices are the Dice of a mask with the mark of every rater; NaN for a missing mark.
func (t *Target) Dices(mask metrics.Bits) []float64 {
	return statistics.Tabulate(len(t.Marks), func(m int) float64 {
		if t.Marks[m] == nil {
			return math.NaN()
		}
		return mask.Dice(t.packed[m])
	})
}

// Set compares heads, as a set of possible marks, with the raters' marks. Figures are NaN where
// they are not defined.
type Set struct{ Energy, Max, Match, Drawn float64 } // Drawn is the energy of drawn masks

// Set compares the heads of all raters, and drawn masks, with the raters' marks. Heads without a
// mark do not count. Nothing is defined for fewer than two marks, and without heads or draws.
func (t *Target) Set(heads, drawn []metrics.Bits) Set {
	s := Set{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	var predicted, given []metrics.Bits
	for m, mark := range t.Marks {
		if mark != nil {
			given = append(given, t.packed[m])
			if heads != nil {
				predicted = append(predicted, heads[m])
			}
		}
	}
	if len(given) < 2 {
		return s
	}
	if heads != nil {
		dice := metrics.Dices(predicted, given)
		s.Energy, s.Max, s.Match = metrics.Energy(predicted, given), dice.Max(), dice.Match()
	}
	if drawn != nil {
		s.Drawn = metrics.Energy(drawn, given)
	}
	return s
}
