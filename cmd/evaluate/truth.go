package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mrprism/internal/dataset"
	"mrprism/internal/metric"
)

// truthScore sets a map of probabilities beside what is true.
type truthScore struct {
	Dice  float64 `json:"dice"`  // of the pixels above one half
	Brier float64 `json:"brier"` // mean squared distance in the union of truth and marks: the smaller the better; 0 where that is empty
}

// truth is what is true of a structure in an image (H, W) of 0 and 1, and where a rater, or nobody, would mark it.
type truth struct {
	mask   []uint8
	region []uint8
}

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

// truthReport has the scores of Rec0 … RecN over the images that have a truth, and differences of the last: Dice the higher the better, Brier the lower.
type truthReport struct {
	Images int             `json:"images"`
	Dice   truthComparison `json:"dice"`
	Brier  truthComparison `json:"brier"`
}

type truthComparison struct {
	Passes []metric.Interval `json:"passes"`         // Rec0 … RecN
	Gain   *metric.Interval  `json:"gain,omitempty"` // last less Rec0
	Over   *metric.Interval  `json:"over,omitempty"` // last less the other weights' Rec0
}

// truths gathers the scores; nil where no image has a truth.
func truths(scores []*classScore) *truthReport {
	var with []*classScore
	for _, c := range scores {
		if c.Truth != nil {
			with = append(with, c)
		}
	}
	if len(with) == 0 {
		return nil
	}
	compare := func(of func(truthScore) float64) (out truthComparison) {
		difference := func(from func(*classScore) *truthScore) *metric.Interval {
			var values []float64
			for _, c := range with {
				if other := from(c); other != nil {
					values = append(values, of(c.Truth[len(c.Truth)-1])-of(*other))
				}
			}
			return interval(values)
		}
		passes := len(with[0].Truth)
		for i := range passes {
			var values []float64
			for _, c := range with {
				values = append(values, of(c.Truth[i]))
			}
			out.Passes = append(out.Passes, *interval(values))
		}
		if passes > 1 {
			out.Gain = difference(func(c *classScore) *truthScore { return &c.Truth[0] })
		}
		out.Over = difference(func(c *classScore) *truthScore { return c.TruthAgainst })
		return out
	}
	return &truthReport{
		Images: len(with),
		Dice:   compare(func(s truthScore) float64 { return s.Dice }),
		Brier:  compare(func(s truthScore) float64 { return s.Brier }),
	}
}

// truth prints a structure's table of passes beside the truth.
func (t *table) truth(r *report, c classReport) {
	t.title("%s, %d images: beside the truth; Brier inside the union of truth and marks (the lower the better)", c.Class, c.Truth.Images)
	t.line("\tDice ×100\tBrier ×100")
	dice, brier := c.Truth.Dice, c.Truth.Brier
	for i := range dice.Passes {
		t.line("Rec%d\t%s\t%s", i, plain(dice.Passes[i], 100, 2), plain(brier.Passes[i], 100, 2))
	}
	if dice.Gain != nil {
		t.line("Rec%d − Rec0\t%s\t%s", r.Recurrences, signed(*dice.Gain, 100, 2), signed(*brier.Gain, 100, 2))
	}
	if dice.Over != nil {
		t.line("Rec%d − %s\t%s\t%s", r.Recurrences, r.Against.Name, signed(*dice.Over, 100, 2), signed(*brier.Over, 100, 2))
	}
}

// readTruth is the arbitrated or generated mask (H, W) of 0 and 1, truth/CLASS/NAME.png beside the images' folder; nil where there is none.
func readTruth(c dataset.Case, class string) ([]uint8, error) {
	path := filepath.Join(filepath.Dir(filepath.Dir(c.Image)), "truth", class, c.Name+".png")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c.Mask(path)
}
