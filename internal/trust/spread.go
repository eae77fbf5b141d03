package trust

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/weights"
)

// Residual is how far what people marked on an image lies from what a run predicted that had set
// the image aside.
type Residual struct {
	Unit   int     // of dataset.Units, the patient
	Part   int     // the fold
	Camera string  // the data set
	Beyond float64 // how far the figure lies outside of its range; negative: inside
	Error  float64 // how far it lies from the predicted figure, at least 0
	Width  float64 // of the range
	// Signs are the figures of the result, by which difficult images are told.
	Signs Figures
}

// Of completes a residual by a predicted range around a value, and by the figure that was marked.
func (r Residual) Of(low, value, high, marked float64) Residual {
	r.Beyond, r.Error, r.Width = max(low-marked, marked-high), math.Abs(value-marked), high-low
	return r
}

// signs are the codes that difficulty is learned from: how far views disagree, and how sharp and
// how large the structures are. None of them needs anybody's marks.
var signs = []string{Mirror, Unstable, Blurred, Inner}

// easiest and hardest limit difficulty. It is fitted in rounds, with a ridge of cautious times each
// sign's sum of squares.
const (
	easiest, hardest = 0.5, 3
	rounds, cautious = 20, 0.5
)

// NewSpread returns by how much to widen ranges so that they hold a share, coverage, of new
// figures: that of a new patient's figures, on the mean over patients. It never narrows a range. ok
// is false with too few patients for that share.
//
// The scores are residuals over the difficulty of their images, which is learned from the other
// parts (normalised scores, Lei et al. 2018). The reach is the least for which the mean loss of the
// units and one more unit that is wholly lost stays within 1 − coverage (conformal risk control,
// Angelopoulos et al. 2024, theorem 1). If each unit has one figure and all images are of equal
// difficulty, that is conformalized quantile regression (Romano, Patterson and Candès 2019). The
// theorem wants scores of one fixed rule. These come from one run and one difficulty a part, and a
// new image meets those that all parts taught: see model/DECISIONS.md.
func NewSpread(all []Residual, coverage float64) (s weights.Spread, ok bool) {
	scores := make([]float64, len(all))
	for _, part := range parts(all) {
		learned := difficulty(without(all, part))
		for i, r := range all {
			if r.Part == part {
				scores[i] = r.Beyond / Difficulty(learned, r.Signs)
			}
		}
	}
	reach, ok := controlled(all, scores, 1-coverage)
	s = difficulty(all)
	s.Low, s.High, s.Coverage = 0-reach, reach, coverage
	return s, ok
}

// Fewest is the least number of patients that can teach a spread of a coverage. The errors of fewer
// do not bound the next one's so often, not even the largest.
func Fewest(coverage float64) int { return int(math.Ceil(1/(1-coverage)-1e-9)) - 1 }

// controlled is the least score, at least 0, beyond which the mean over units of the share of their
// scores is at most the risk, even with one more unit all of whose scores are beyond.
func controlled(all []Residual, scores []float64, risk float64) (reach float64, ok bool) {
	of, order := map[int]float64{}, make([]int, len(all)) // the residuals of a unit
	for i, r := range all {
		of[r.Unit]++
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	left := risk*float64(len(of)+1) - 1 + 1e-9
	if left < 0 {
		return 0, false
	}
	for _, i := range order {
		if left -= 1 / of[all[i].Unit]; left < 0 || scores[i] <= 0 {
			return max(0, scores[i]), !math.IsInf(scores[i], 0)
		}
	}
	return 0, len(all) > 0
}

// Difficulty is how many times as far a spread reaches as usual, for an image with these figures.
func Difficulty(s weights.Spread, f Figures) float64 {
	if len(s.Signs) == 0 {
		return 1
	}
	sum := s.Base
	for _, code := range signs { // a fixed order gives the sum the same bits
		sum += s.Signs[code] * f[code]
	}
	if !(sum < hardest) { // also NaN
		return hardest
	}
	return max(easiest, sum)
}

// difficulty fits the errors, over their mean, by a base and a factor of at least 0 for each sign
// (least squares with a ridge, by coordinate descent). Where no sign tells, there are no Signs.
func difficulty(all []Residual) (s weights.Spread) {
	errors := columnOf(all, func(r Residual) float64 { return r.Error })
	if len(all) < Enough || !(errors.mean > 0) {
		return s
	}
	factors, columns := make([]float64, len(signs)), make([]column, len(signs))
	for j, code := range signs {
		columns[j] = columnOf(all, func(r Residual) float64 { return r.Signs[code] })
	}
	left := errors.centred
	for range rounds {
		for j, x := range columns {
			along := factors[j] * x.squares
			for i, v := range x.centred {
				along += v * left[i]
			}
			step := max(0, along/(x.squares*(1+cautious)+1e-12)) - factors[j]
			factors[j] += step
			for i, v := range x.centred {
				left[i] -= step * v
			}
		}
	}
	s.Base, s.Signs = 1, map[string]float64{}
	for j, factor := range factors {
		if factor > 0 {
			s.Signs[signs[j]] = factor / errors.mean
			s.Base -= factor / errors.mean * columns[j].mean
		}
	}
	return s
}

// column is values less their mean, and the sum of the squares of these.
type column struct {
	centred       []float64
	mean, squares float64
}

func columnOf(all []Residual, of func(Residual) float64) (c column) {
	for _, r := range all {
		c.mean += of(r) / float64(len(all))
	}
	for _, r := range all {
		c.centred = append(c.centred, of(r)-c.mean)
		c.squares += (of(r) - c.mean) * (of(r) - c.mean)
	}
	return c
}

// without are the residuals of all parts but one.
func without(all []Residual, part int) []Residual {
	return slices.DeleteFunc(slices.Clone(all), func(r Residual) bool { return r.Part == part })
}

// parts are the parts of residuals, in order.
func parts(all []Residual) (parts []int) {
	for _, r := range all {
		parts = append(parts, r.Part)
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// Held is how spreads did on the images of a camera, each by what the other parts taught.
type Held struct {
	Camera string  `json:"data"`
	Units  int     `json:"groups"` // patients
	Share  float64 `json:"share"`  // of their figures that were held, on the mean over patients
	Width  float64 `json:"width"`  // median of the widened ranges
}

// Coverage is Held for each camera, in order of names. It is nil if a part is too large: then the
// others teach too little.
func Coverage(all []Residual, coverage float64) (held []Held) {
	shares, widths := map[string]map[int][]float64{}, map[string][]float64{}
	for _, part := range parts(all) {
		s, ok := NewSpread(without(all, part), coverage)
		if !ok {
			return nil
		}
		for _, r := range all {
			if r.Part != part {
				continue
			}
			if shares[r.Camera] == nil {
				shares[r.Camera] = map[int][]float64{}
			}
			inside, reach := 0., s.High*Difficulty(s, r.Signs)
			if r.Beyond <= reach {
				inside = 1
			}
			shares[r.Camera][r.Unit] = append(shares[r.Camera][r.Unit], inside)
			widths[r.Camera] = append(widths[r.Camera], r.Width+2*reach)
		}
	}
	for _, camera := range slices.Sorted(maps.Keys(shares)) {
		h := Held{Camera: camera, Units: len(shares[camera]), Width: metric.Median(widths[camera])}
		for _, inside := range shares[camera] {
			h.Share += metric.Mean(inside) / float64(h.Units)
		}
		held = append(held, h)
	}
	return held
}
