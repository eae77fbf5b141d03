package score

import (
	"math"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/study/statistics"
)

// Bins are those of calibration errors and reliability diagrams.
const Bins = 15

// Target is what the maps of one structure of an image are compared with.
type Target struct {
	Votes    metric.Votes // of the raters, or the reference as the only vote
	Majority []uint8
	Union    []uint8   // of the votes and of all marks
	Marks    [][]uint8 // (H, W) by rater; nil for a missing mark
	W, H     int
	packed   []metric.Bits
}

// NewTarget is the mean vote of the marks (H, W) of the raters, nil for missing ones; or a
// reference (H, W) in its place. It is nil without either.
func NewTarget(marks [][]uint8, reference []uint8, w, h int) *Target {
	var votes metric.Votes
	if given := statistics.Filter(marks, func(m []uint8) bool { return m != nil }); len(given) > 0 {
		votes = metric.Count(given...)
	}
	return newTarget(marks, votes, reference, w, h)
}

// TargetOf is the mean vote of a structure of an image, or a reference in its place. It is nil
// without either: where nobody marked the structure, or an agreement level is missing.
func TargetOf(l *dataset.Loaded, k int, reference []uint8) *Target {
	w, h := l.W, l.H
	if l.Image != nil {
		w, h = l.Image.W, l.Image.H
	}
	votes, _ := l.Votes(k)
	return newTarget(Marks(l, k), votes, reference, w, h)
}

// newTarget takes votes, of no raters if there are none.
func newTarget(marks [][]uint8, votes metric.Votes, reference []uint8, w, h int) *Target {
	t := &Target{Votes: votes, Marks: marks, W: w, H: h}
	switch {
	case reference != nil:
		t.Votes, t.Union = metric.Count(reference), slices.Clone(reference)
		for i, n := range votes.Count {
			t.Union[i] |= uint8(min(n, 1))
		}
	case votes.Raters > 0:
		t.Union = votes.Union()
	default:
		return nil
	}
	t.Majority = t.Votes.Majority()
	for _, mark := range marks {
		t.packed = append(t.packed, metric.Pack(mark))
	}
	return t
}

// Marks are those of a structure of an image by rater; nil for a missing mark.
func Marks(l *dataset.Loaded, k int) [][]uint8 {
	return statistics.Tabulate(len(l.Masks), func(m int) []uint8 { return l.Masks[m][k] })
}

// Single is a map in the precision of maps.
func Single(p []float64) []float32 {
	return statistics.Tabulate(len(p), func(i int) float32 { return float32(p[i]) })
}

// Empty reports whether nobody marked a pixel.
func (t *Target) Empty() bool { return metric.Area(t.Union) == 0 }

// SoftDice is that of a map (H, W) with the votes.
func (t *Target) SoftDice(p []float32) float64 { return metric.SoftDice(p, t.Votes) }

// Dice is that of the pixels of a map above one half with the majority.
func (t *Target) Dice(p []float32) float64 { return metric.Dice(p, t.Majority) }

// Hausdorff95 is between the outlines of a map above one half and of the majority, in pixels; NaN
// if one of them is empty.
func (t *Target) Hausdorff95(p []float32) float64 {
	return metric.Hausdorff95(p, t.Majority, t.W, t.H)
}

// Calibrate adds a map to calibrations inside the union and over the whole image; nil for none.
func (t *Target) Calibrate(p []float32, union, whole *metric.Calibration) {
	if union != nil {
		union.Add(p, t.Votes, t.Union)
	}
	if whole != nil {
		whole.Add(p, t.Votes, nil)
	}
}

// Truth is the Dice and the Brier score inside the union of a map with a reference.
func (t *Target) Truth(p []float32) Truth {
	union := metric.NewCalibration(1)
	t.Calibrate(p, union, nil)
	s := Truth{Dice: t.Dice(p)}
	if !t.Empty() {
		s.Brier = union.Brier()
	}
	return s
}

// Dices are the Dice of a mask with the mark of every rater; NaN for a missing mark.
func (t *Target) Dices(mask metric.Bits) []float64 {
	return statistics.Tabulate(len(t.Marks), func(m int) float64 {
		if t.Marks[m] == nil {
			return math.NaN()
		}
		return mask.Dice(t.packed[m])
	})
}

// Set compares the heads of all raters with their marks, both as sets. Heads without a mark do not
// count. It is nil for fewer than two marks.
func (t *Target) Set(heads []metric.Bits) *Set {
	var predicted, given []metric.Bits
	for m, mark := range t.Marks {
		if mark != nil {
			predicted, given = append(predicted, heads[m]), append(given, t.packed[m])
		}
	}
	if len(given) < 2 {
		return nil
	}
	dice := metric.Dices(predicted, given)
	return &Set{metric.Energy(predicted, given), dice.Max(), statistics.Defined(dice.Match())}
}

// Set compares heads, as a set of possible marks, with the raters' marks.
type Set struct {
	Energy float64  `json:"generalizedEnergyDistance"`
	Max    float64  `json:"diceMax"`
	Match  *float64 `json:"diceMatch"`
}

// Figures are all figures of a map, in their order; NaN where they are not defined.
type Figures [FigureCount]float64

// Of scores a map. It adds the map to calibration inside the union.
func (t *Target) Of(p []float32, union *metric.Calibration) (f Figures) {
	for i := range f {
		f[i] = math.NaN()
	}
	whole := metric.NewCalibration(Bins)
	t.Calibrate(p, union, whole)
	f[SoftDice], f[Dice], f[Hausdorff] = t.SoftDice(p), t.Dice(p), t.Hausdorff95(p)
	f[BrierWhole], f[ECEWhole] = whole.Brier(), whole.ECE()
	f[BrierUnion], f[ECEUnion] = union.Brier(), union.ECE()
	return f
}

// The figures of a map, and of heads as a set, in the order of the tables.
const (
	SoftDice = iota
	Dice
	BrierUnion
	BrierWhole
	ECEUnion
	ECEWhole
	Hausdorff
	Energy
	DiceMax
	DiceMatch
	RatioError
	FigureCount
)

// Figure says how a figure is called and written.
type Figure struct {
	Key, Title string
	Scale      float64
	Digits     int
	Lower      bool // lower is better
	Brief      bool // stands in the short tables
}

// AllFigures are in the order of Figures.
var AllFigures = [FigureCount]Figure{
	SoftDice:   {"soft_dice", "Soft Dice ×100", 100, 2, false, true},
	Dice:       {"dice", "Dice ×100", 100, 2, false, false},
	BrierUnion: {"brier_union", "Brier ×100, union", 100, 2, true, true},
	BrierWhole: {"brier", "Brier ×100, image", 100, 2, true, false},
	ECEUnion:   {"ece_union", "ECE ×100, union", 100, 2, true, true},
	ECEWhole:   {"ece", "ECE ×100, image", 100, 2, true, false},
	Hausdorff:  {"hd95_pixels", "HD95, pixels", 1, 2, true, true},
	Energy:     {"ged", "GED", 1, 3, true, true},
	DiceMax:    {"dice_max", "Dice_max ×100", 100, 2, false, false},
	DiceMatch:  {"dice_match", "Dice_match ×100", 100, 2, false, true},
	RatioError: {"vcdr_error", "vCDR error", 1, 3, true, true},
}

// Truth compares a map with the truth.
type Truth struct {
	Dice float64 `json:"dice"` // of the pixels above one half
	// Brier: mean squared error in the union of truth and marks: lower is better; 0 if the union is
	// empty
	Brier float64 `json:"brier"`
}
