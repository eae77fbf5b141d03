package fuse

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/score"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
)

// together stands in the CSVs for all images.
const together = "all"

// rowKey says what a row of the CSVs is about.
type rowKey struct{ method, image, class string }

// raterRow is a rater beside a fused map. Figures are NaN where they are not defined.
type raterRow struct {
	rowKey
	rater string
	fusion.Rates
	bias   float64
	weight float64 // his share in the fusion; NaN if the method weighs no whole marks
	thrown int     // marks of weight 0
	counts fusion.Counts
}

// scoreRow compares a map with the truth.
type scoreRow struct {
	rowKey
	statistics.Unit
	figures, gains [len(scoreNames)]float64 // gains: the figures less those of the mean vote
}

// scoreNames are the figures of a scoreRow, 0..1. Lower is better for the Brier score alone.
var scoreNames = [...]string{"soft_dice", "dice", "brier"}

// rate has a row for each rater who marked the structure.
func (f *Study) rate(method, image, class string, marks [][]uint8, fit *fusion.Fit) (rows []raterRow) {
	for m, mark := range marks {
		if mark == nil {
			continue
		}
		counts := fusion.Count(mark, fit.Map)
		row := raterRow{rowKey: rowKey{method, image, class}, rater: f.data.Raters[m], Rates: fit.Raters[m], bias: counts.Bias(), weight: math.NaN(), counts: counts}
		if fit.Weights != nil {
			if row.weight = fit.Weights[m]; row.weight == 0 {
				row.thrown = 1
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// pooled is a rater over all images: the pixels of all are counted together.
func pooled(method, class, rater string, rows []raterRow) *raterRow {
	all := raterRow{rowKey: rowKey{method, together, class}, rater: rater}
	n := 0
	for _, r := range rows {
		if r.method != method || r.class != class || r.rater != rater {
			continue
		}
		n++
		all.counts.Add(r.counts)
		all.weight, all.thrown = all.weight+r.weight, all.thrown+r.thrown
	}
	if n == 0 {
		return nil
	}
	all.weight /= float64(n)
	all.Rates, all.bias = all.counts.Rates(), all.counts.Bias()
	return &all
}

// scoreMap compares a map with the truth.
func scoreMap(right *score.Target, method, image, class string, p []float64) scoreRow {
	c, figures := right.Of(score.Single(p), nil, nil, right.Union), score.Figures
	return scoreRow{rowKey: rowKey{method, image, class}, figures: [...]float64{figures[score.SoftDice].Of(c), figures[score.Dice].Of(c), figures[score.BrierBand].Of(c)}}
}

// means are those of figure j of rows, and of the differences to the mean vote, which has none.
func means(rows []scoreRow, j int) (mean, gain *metric.Interval) {
	mean = statistics.MeanWithin(0, 1, rows, func(s scoreRow) float64 { return s.figures[j] })
	if rows[0].method != meanVote {
		gain = statistics.MeanOver(rows, func(s scoreRow) float64 { return s.gains[j] })
	}
	return mean, gain
}

// scored are the scores of a method for a structure, in the order of the images.
func (f *Study) scored(method, class string) []scoreRow {
	return statistics.Filter(f.scores, func(s scoreRow) bool { return s.method == method && s.class == class })
}

// Save writes the CSVs into the folder.
func (f *Study) Save() error {
	files := map[string]func(io.Writer) error{"raters.csv": f.ratersCSV}
	if len(f.scores) > 0 {
		files["scores.csv"] = f.scoresCSV
	}
	return report.Save(f.Out, files)
}

// ratersCSV writes each rater beside each map, and then over all images.
func (f *Study) ratersCSV(w io.Writer) error {
	header := []string{"method", "image", "structure", "rater", "sensitivity", "specificity", "bias", "weight"}
	return report.WriteCSV(w, header, func(line func(...any)) {
		write := func(r *raterRow) {
			line(r.method, r.image, r.class, r.rater, r.Sensitivity, r.Specificity, r.bias, r.weight)
		}
		for i := range f.raters {
			write(&f.raters[i])
		}
		f.eachPooled(write)
	})
}

// eachPooled calls do for each structure, method and rater with a mark.
func (f *Study) eachPooled(do func(r *raterRow)) {
	for _, class := range f.data.Classes {
		for _, method := range f.methods() {
			for _, rater := range f.data.Raters {
				if r := pooled(method.Name, class, rater, f.raters); r != nil {
					do(r)
				}
			}
		}
	}
}

// scoresCSV writes the scores of each map, and then their means with the paired differences.
func (f *Study) scoresCSV(w io.Writer) error {
	header := []string{"method", "image", "structure"}
	for _, name := range scoreNames {
		header = append(header, name, name+"_less_mean_vote", name+"_less_mean_vote_low", name+"_less_mean_vote_high")
	}
	return report.WriteCSV(w, header, func(line func(cells ...any)) {
		for _, class := range f.data.Classes {
			for _, method := range f.methods() {
				rows := f.scored(method.Name, class)
				for i, row := range rows {
					line(scoreCells(row.image, rows[i:i+1])...)
				}
				if len(rows) > 0 {
					line(scoreCells(together, rows)...)
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
func (f *Study) Document() *report.Document {
	d := &report.Document{Title: "Fused marks of " + f.data.Name, Lead: []string{fmt.Sprintf("%s: %d images%s, maps in %s", f.Data, f.images, report.OfGroups(f.images, statistics.Distinct(f.units[:f.images])), f.Out)}}
	if f.images < len(f.cases) {
		d.Lead = append(d.Lead, fmt.Sprintf("stopped before all %d images were fused", len(f.cases)))
	}
	if f.Network != nil {
		d.Lead = append(d.Lead, "prior of dawid-skene-prior, and network of max-mig: "+f.Network.Name)
	}
	for k, class := range f.data.Classes {
		d.Lead = append(d.Lead, fmt.Sprintf("%s, edges: the line lies %.1f pixels inside the marks' mean (of an image of at most 256 a side)", class, f.edges[k].Bias()))
	}
	scores, raters := report.Part{Title: "Beside the truth"}, report.Part{Title: "The raters"}
	for _, class := range f.data.Classes {
		votes := f.scored(meanVote, class)
		if len(votes) == 0 {
			continue
		}
		t := report.Table{
			Title:   fmt.Sprintf("%s, %d images: beside the truth; Brier inside the union of truth and marks (lower is better)", class, len(votes)),
			Columns: report.Columns("", "soft Dice ×100", "less the mean vote's", "Dice ×100", "less the mean vote's", "Brier ×100", "less the mean vote's"),
		}
		for _, method := range f.methods() {
			rows, cells := f.scored(method.Name, class), []any{method.Name}
			for j := range scoreNames {
				mean, gain := means(rows, j)
				cells = append(cells, report.Plain(mean, 100, 2), report.Signed(gain, 100, 2))
			}
			t.Add(cells...)
		}
		scores.Tables = append(scores.Tables, t)
	}
	class := ""
	f.eachPooled(func(r *raterRow) {
		if r.class != class {
			class = r.class
			raters.Tables = append(raters.Tables, report.Table{
				Title:   class + ": the raters over all images. Sensitivity and specificity in percent, bias as change of area in percent. Weight: the mean share of a mark, in percent; thrown out: marks of weight 0",
				Columns: report.Columns("", "rater", "sensitivity", "specificity", "bias", "weight", "thrown out"),
			})
		}
		t := &raters.Tables[len(raters.Tables)-1]
		percent := func(form string, v float64) string { return report.Scaled(form, statistics.Defined(v), 100) }
		thrown := "–"
		if !math.IsNaN(r.weight) {
			thrown = fmt.Sprint(r.thrown)
		}
		t.Add(r.method, r.rater, percent("%.1f", r.Sensitivity), percent("%.2f", r.Specificity), percent("%+.1f", math.Exp(r.bias)-1), percent("%.1f", r.weight), thrown)
	})
	d.Parts = []report.Part{scores, raters}
	return d
}
