package main

import (
	"math"

	"mrprism/internal/dataset"
	"mrprism/internal/metric"
)

// setScore is how far the heads, as a set of possible marks, are the raters'.
type setScore struct {
	Energy float64  `json:"generalizedEnergyDistance"`
	Max    float64  `json:"diceMax"`
	Match  *float64 `json:"diceMatch"` // null for too many raters to match
}

// agreement is what is to be known of a structure's marks and outline.
type agreement struct {
	Hausdorff  *float64 `json:"hausdorff95"` // pixels, of the last recurrence against the majority; null where one of them is empty
	Kappa      *float64 `json:"fleissKappa"` // of the raters inside the union of their marks; null where it is not defined, as for equal marks
	KappaWhole *float64 `json:"fleissKappaWholeImage"`
}

// defined is nil for NaN.
func defined(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

func agree(last []float32, votes metric.Votes, w, h int) agreement {
	return agreement{
		defined(metric.Hausdorff95(last, votes.Mean(), w, h)), defined(metric.FleissKappa(votes, votes.Union())), defined(metric.FleissKappa(votes, nil)),
	}
}

// set compares the heads of raters who have marked with their marks; nil where fewer than two have.
func set(heads [][]float32, marks [][]uint8) *setScore {
	var predicted [][]float32
	var given [][]uint8
	var dice metric.Matrix
	for m, mark := range marks {
		if mark != nil {
			predicted, given = append(predicted, heads[m]), append(given, mark)
		}
	}
	if len(given) < 2 {
		return nil
	}
	for _, head := range predicted {
		row := make([]float64, len(given))
		for j, mark := range given {
			row[j] = metric.Dice(head, mark)
		}
		dice = append(dice, row)
	}
	return &setScore{metric.Energy(predicted, given), dice.Max(), defined(dice.Match())}
}

// areas are a structure's pixels by rater; nil where one is missing, or there are no raters.
func (s *scorer) areas(l *dataset.Loaded, k int) []float64 {
	given := l.Given(k)
	if s.data.Levels || len(given) < len(s.data.Raters) {
		return nil
	}
	out := make([]float64, len(given))
	for m, mask := range given {
		out[m] = float64(metric.Area(mask))
	}
	return out
}

type setReport struct {
	Energy metric.Interval  `json:"generalizedEnergyDistance"`
	Max    metric.Interval  `json:"diceMax"`
	Match  *metric.Interval `json:"diceMatch,omitempty"`
}

type agreementReport struct {
	Hausdorff      *metric.Interval `json:"hausdorff95,omitempty"`
	Undefined      int              `json:"hausdorff95Undefined"` // images in which one of the two masks is empty
	Kappa          *metric.Interval `json:"fleissKappa,omitempty"`
	KappaUndefined int              `json:"fleissKappaUndefined"` // images in which all marks are the same, or empty, or there is one alone
	KappaWhole     *metric.Interval `json:"fleissKappaWholeImage,omitempty"`
	WholeUndefined int              `json:"fleissKappaWholeImageUndefined"` // in which all marks are empty, or full, or there is one alone
	ICC            *float64         `json:"iccOfAreas,omitempty"`           // ICC(2,1) over the images that all raters have marked
}

// setReports gathers both over the images of a structure.
func setReports(scores []*classScore) (*setReport, *agreementReport) {
	var energy, most, match, hausdorff, kappa, whole []float64
	var areas [][]float64
	keep := func(values *[]float64, v *float64) {
		if v != nil {
			*values = append(*values, *v)
		}
	}
	for _, c := range scores {
		keep(&hausdorff, c.Agreement.Hausdorff)
		keep(&kappa, c.Agreement.Kappa)
		keep(&whole, c.Agreement.KappaWhole)
		if c.Areas != nil {
			areas = append(areas, c.Areas)
		}
		if c.Set != nil {
			energy, most = append(energy, c.Set.Energy), append(most, c.Set.Max)
			keep(&match, c.Set.Match)
		}
	}
	agreed := &agreementReport{
		Hausdorff: interval(hausdorff), Undefined: len(scores) - len(hausdorff),
		Kappa: interval(kappa), KappaUndefined: len(scores) - len(kappa), KappaWhole: interval(whole), WholeUndefined: len(scores) - len(whole),
		ICC: defined(metric.ICC(areas)),
	}
	if energy == nil {
		return nil, agreed
	}
	return &setReport{*interval(energy), *interval(most), interval(match)}, agreed
}

func (t *table) agreement(r *report, class string, a *agreementReport) {
	t.title("%s: outline of Rec%d, and how far the raters agree", class, r.Recurrences)
	if a.Hausdorff != nil {
		t.line("95 %% Hausdorff distance from the majority, pixels\t%s", plain(*a.Hausdorff, 1, 1))
	}
	if a.Undefined > 0 {
		t.line("  not defined, one of them being empty\t%d", a.Undefined)
	}
	if a.Kappa != nil {
		t.line("Fleiss' kappa of the raters inside the union of all marks\t%s", signed(*a.Kappa, 1, 2))
	}
	if a.KappaUndefined > 0 {
		t.line("  kappa not defined, the marks being the same, or one alone\t%d", a.KappaUndefined)
	}
	if a.KappaWhole != nil {
		t.line("  in the whole image\t%s", signed(*a.KappaWhole, 1, 2))
	}
	if a.WholeUndefined > 0 {
		t.line("  kappa there not defined, the marks being empty or full, or one alone\t%d", a.WholeUndefined)
	}
	if a.ICC != nil {
		t.line("intraclass correlation (2,1) of the raters' areas\t%.2f", *a.ICC)
	}
}

func (t *table) set(class string, s *setReport) {
	t.title("%s: the heads as a set of possible marks, beside the raters' marks", class)
	t.line("generalized energy distance, 1 − IoU (0: the same)\t%s", plain(s.Energy, 1, 3))
	t.line("Dice_max ×100, for each mark the best head\t%s", plain(s.Max, 100, 1))
	if s.Match != nil {
		t.line("Dice_match ×100, for each mark another head\t%s", plain(*s.Match, 100, 1))
	}
}
