package fuse

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"mrprism/cmd/study/internal/score"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/fuse"
	"mrprism/internal/study/report"
)

// scoreRow compares a map with the truth.
type scoreRow struct {
	method, image, class string
	statistics.Unit
	figures, gains [len(scoreNames)]float64 // gains: the figures less those of the mean vote
}

// scoreNames are the figures of a scoreRow, 0..1. Lower is better for the Brier score alone.
var scoreNames = [...]string{"soft_dice", "dice", "brier"}

// scoreMap compares a map with the truth.
func scoreMap(right *score.Target, method, image, class string, p []float64) scoreRow {
	c, figures := right.Of(score.Single(p), nil, nil, right.Union), score.Figures
	return scoreRow{method: method, image: image, class: class, figures: [...]float64{figures[score.SoftDice].Of(c), figures[score.Dice].Of(c), figures[score.BrierBand].Of(c)}}
}

// means are those of figure j of rows, and of the differences to the mean vote, which has none.
func means(rows []scoreRow, j int) (mean, gain *metric.Interval) {
	mean = statistics.MeanWithin(0, 1, rows, func(s scoreRow) float64 { return s.figures[j] })
	if rows[0].method != fuse.MeanVote.Name {
		gain = statistics.MeanOver(rows, func(s scoreRow) float64 { return s.gains[j] })
	}
	return mean, gain
}

// scored are the scores of a method for a structure, in the order of the images.
func (s *Study) scored(method, class string) []scoreRow {
	return statistics.Filter(s.scores, func(s scoreRow) bool { return s.method == method && s.class == class })
}

// Save writes the CSVs into the folder.
func (s *Study) Save() error {
	if len(s.scores) == 0 {
		return s.Study.Save(nil)
	}
	return s.Study.Save(map[string]func(io.Writer) error{"scores.csv": s.scoresCSV})
}

// scoresCSV writes the scores of each map, and then their means with the paired differences.
func (s *Study) scoresCSV(w io.Writer) error {
	header := []string{"method", "image", "structure"}
	for _, name := range scoreNames {
		header = append(header, name, name+"_less_mean_vote", name+"_less_mean_vote_low", name+"_less_mean_vote_high")
	}
	return report.WriteCSV(w, header, func(line func(cells ...any)) {
		for _, class := range s.data.Classes {
			for _, method := range s.Methods {
				rows := s.scored(method.Name, class)
				for i, row := range rows {
					line(scoreCells(row.image, rows[i:i+1])...)
				}
				if len(rows) > 0 {
					line(scoreCells(fuse.Together, rows)...)
				}
			}
		}
	})
}

// scoreCells are the means of rows, and their differences to the mean vote's. One row has no
// interval.
func scoreCells(image string, rows []scoreRow) []any {
	cells := []any{rows[0].method, image, rows[0].class}
	for j := range scoreNames {
		mean, gain := means(rows, j)
		cells = append(cells, cmp.Or(mean, &metric.Interval{Mean: math.NaN()}).Mean, gain)
	}
	return cells
}

// Document has the scores, and the raters over all images.
func (s *Study) Document() *report.Document {
	d := &report.Document{Title: "Fused marks of " + s.data.Name, Lead: []string{fmt.Sprintf("%s: %d images%s, maps in %s", s.from, s.Done(), report.OfGroups(s.Done(), statistics.Distinct(s.units[:s.Done()])), s.Out)}}
	if s.Done() < len(s.cases) {
		d.Lead = append(d.Lead, fmt.Sprintf("stopped before all %d images were fused", len(s.cases)))
	}
	if s.Network != nil {
		d.Lead = append(d.Lead, "prior of dawid-skene-prior, and network of max-mig: "+s.Network.Name)
	}
	for k, class := range s.data.Classes {
		e, is := s.Edges(k), "edges is the majority, over which no gain is shown"
		if e.Helps() {
			is = "edges gains over the majority"
		}
		d.Lead = append(d.Lead, fmt.Sprintf("%s: %s (Dice ×100 with raters left out: %s)", class, is, report.Signed(e.Gain, 100, 2)))
	}
	scores, raters := report.Part{Title: "Beside the truth"}, report.Part{Title: "The raters"}
	for _, class := range s.data.Classes {
		votes := s.scored(fuse.MeanVote.Name, class)
		if len(votes) == 0 {
			continue
		}
		t := report.Table{
			Title:   fmt.Sprintf("%s, %d images: beside the truth; Brier inside the union of truth and marks (lower is better)", class, len(votes)),
			Columns: report.Columns("", "soft Dice ×100", "less the mean vote's", "Dice ×100", "less the mean vote's", "Brier ×100", "less the mean vote's"),
		}
		for _, method := range s.Methods {
			rows, cells := s.scored(method.Name, class), []any{method.Name}
			for j := range scoreNames {
				mean, gain := means(rows, j)
				cells = append(cells, report.Plain(mean, 100, 2), report.Signed(gain, 100, 2))
			}
			t.Add(cells...)
		}
		scores.Tables = append(scores.Tables, t)
	}
	class := ""
	s.EachPooled(func(r *fuse.RaterRow) {
		if r.Class != class {
			class = r.Class
			raters.Tables = append(raters.Tables, report.Table{
				Title:   class + ": the raters over all images. Sensitivity and specificity in percent, bias as change of area in percent. Weight: the mean share of a mark, in percent; thrown out: marks of weight 0",
				Columns: report.Columns("", "rater", "sensitivity", "specificity", "bias", "weight", "thrown out"),
			})
		}
		t := &raters.Tables[len(raters.Tables)-1]
		percent := func(form string, v float64) string { return report.Scaled(form, statistics.Defined(v), 100) }
		thrown := "–"
		if !math.IsNaN(r.Weight) {
			thrown = fmt.Sprint(r.Thrown)
		}
		t.Add(r.Method, r.Rater, percent("%.1f", r.Sensitivity), percent("%.2f", r.Specificity), percent("%+.1f", math.Exp(r.Bias)-1), percent("%.1f", r.Weight), thrown)
	})
	d.Parts = []report.Part{scores, raters}
	return d
}
