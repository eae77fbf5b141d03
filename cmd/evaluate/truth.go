package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
)

// truthScore compares probabilities with the truth.
type truthScore struct {
	Dice float64 `json:"dice"` // of the pixels above one half
	// Brier: mean squared error in the union of truth and marks: lower is better; 0 if the union is
	// empty
	Brier float64 `json:"brier"`
}

// truth is the true mask of a structure (H, W) of 0 and 1, and its union with all marks.
type truth struct{ mask, region []uint8 }

func newTruth(mask []uint8, votes metric.Votes) truth {
	region := votes.Union()
	for i, v := range mask {
		region[i] |= v
	}
	return truth{mask, region}
}

func (t truth) score(p []float32) truthScore {
	c := metric.NewCalibration(1)
	c.Add(p, metric.Count(t.mask), t.region)
	s := truthScore{Dice: metric.Dice(p, t.mask)}
	if metric.Area(t.region) > 0 {
		s.Brier = c.Brier()
	}
	return s
}

// truthReport compares Rec0 … RecN with the truth over the images that have one.
type truthReport struct {
	Images int             `json:"images"`
	Dice   truthComparison `json:"dice"`  // higher is better
	Brier  truthComparison `json:"brier"` // lower is better
}

type truthComparison struct {
	Passes []*metric.Interval `json:"passes"`         // Rec0 … RecN
	Gain   *metric.Interval   `json:"gain,omitempty"` // RecN less Rec0
	Over   *metric.Interval   `json:"over,omitempty"` // RecN less the other weights' Rec0
}

// truths gathers the scores; nil if no image has a truth.
func truths(scores []*classScore) *truthReport {
	with := filter(scores, func(c *classScore) bool { return c.Truth != nil })
	if len(with) == 0 {
		return nil
	}
	last := len(with[0].Truth) - 1
	compare := func(of func(truthScore) float64) (out truthComparison) {
		out.Passes = each(last+1, func(i int) *metric.Interval {
			return over(with, func(c *classScore) float64 { return of(c.Truth[i]) })
		})
		if last > 0 {
			out.Gain = over(with, func(c *classScore) float64 { return of(c.Truth[last]) - of(c.Truth[0]) })
		}
		compared := filter(with, func(c *classScore) bool { return c.TruthAgainst != nil })
		out.Over = over(compared, func(c *classScore) float64 { return of(c.Truth[last]) - of(*c.TruthAgainst) })
		return out
	}
	return &truthReport{len(with), compare(func(s truthScore) float64 { return s.Dice }), compare(func(s truthScore) float64 { return s.Brier })}
}

func (t *table) truth(r *report, c classReport) {
	t.Title("%s, %d images: beside the truth; Brier inside the union of truth and marks (lower is better)", c.Class, c.Truth.Images)
	t.Line("\tDice ×100\tBrier ×100")
	dice, brier := c.Truth.Dice, c.Truth.Brier
	for i := range dice.Passes {
		t.Line("Rec%d\t%s\t%s", i, plain(dice.Passes[i], 100, 2), plain(brier.Passes[i], 100, 2))
	}
	if dice.Gain != nil {
		t.Line("Rec%d − Rec0\t%s\t%s", r.Recurrences, signed(dice.Gain, 100, 2), signed(brier.Gain, 100, 2))
	}
	if dice.Over != nil {
		t.Line("Rec%d − %s\t%s\t%s", r.Recurrences, r.Against.Name, signed(dice.Over, 100, 2), signed(brier.Over, 100, 2))
	}
}

// readTruth reads truth/CLASS/NAME.png beside the images' folder, (H, W) of 0 and 1; nil if there
// is no such file.
func readTruth(c dataset.Case, class string) ([]uint8, error) {
	path := dataset.MaskFile(filepath.Join(filepath.Dir(filepath.Dir(c.Image)), "truth", class), c.Name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c.Mask(path)
}
