package agree

import (
	"fmt"
	"io"
	"math"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/output/chart"
	"mrprism/internal/output/table"
	"mrprism/internal/study/picture"
	"mrprism/internal/study/report"
)

// Save writes the files into a folder.
func (r *Report) Save(out string) error {
	d := r.Document()
	files := map[string]func(io.Writer) error{
		"cases.csv": r.casesCSV, "pairs.csv": r.pairsCSV, "raters.csv": r.ratersCSV, "limits.csv": r.limitsCSV, "again.csv": r.againCSV, "raters.html": d.HTML,
		"raters.json": func(w io.Writer) error { return table.JSON(w, r) },
	}
	if r.Ratio == nil {
		delete(files, "limits.csv")
	}
	if len(r.Again) == 0 {
		delete(files, "again.csv")
	}
	return report.Save(out, files)
}

// Case is how far the raters of an image agree about a structure.
type Case struct {
	Image     string   `json:"image"`
	Structure string   `json:"structure"`
	Dice      *float64 `json:"dice"` // mean over their pairs; null for agreement levels
}

// Cases has each image and structure that two or more have marked.
func (r *Report) Cases() (all []Case) {
	for _, c := range r.Classes {
		for _, d := range c.cases {
			all = append(all, Case{d.image, c.Class, statistics.Defined(d.dice)})
		}
	}
	return all
}

// casesCSV has a line for each image and structure that two or more have marked.
func (r *Report) casesCSV(w io.Writer) error {
	header := []string{"image", "structure", "raters", "mean_dice", "least_dice", "least_a", "least_b", "kappa_union", "kappa_whole", "consensus"}
	return report.WriteCSV(w, header, func(line func(...any)) {
		for _, c := range r.Classes {
			for _, d := range c.cases {
				least, a, b := math.NaN(), "", ""
				if !r.Levels {
					least, a, b = d.least, r.Raters[d.a], r.Raters[d.b]
				}
				line(d.image, c.Class, d.raters, d.dice, least, a, b, d.union, d.whole, d.consensus)
			}
		}
	})
}

func (r *Report) pairsCSV(w io.Writer) error {
	return report.WriteCSV(w, []string{"structure", "rater_a", "rater_b", "images", "mean_dice", "kappa", "kappa_low", "kappa_high"}, func(line func(...any)) {
		for _, c := range r.Classes {
			for _, p := range c.Pairs {
				line(c.Class, p.A, p.B, p.Images, p.Dice, p.Kappa)
			}
		}
	})
}

func (r *Report) limitsCSV(w io.Writer) error {
	header := []string{"figure", "rater_a", "rater_b", "images", "bias", "bias_low", "bias_high", "limit_low", "limit_high", "limit_within"}
	return report.WriteCSV(w, header, func(line func(...any)) {
		for _, p := range r.Ratio.Pairs {
			limits := append(p.Limits, math.NaN(), math.NaN())
			line(verticalRatio, p.A, p.B, p.Images, p.Bias, limits[0], limits[1], p.Within)
		}
	})
}

func (r *Report) ratersCSV(w io.Writer) error {
	header := []string{"structure", "rater", "masks", "mean_area", "mean_dice", "sensitivity", "specificity", "bias"}
	return report.WriteCSV(w, header, func(line func(...any)) {
		for _, c := range r.Classes {
			for _, m := range c.Raters {
				line(c.Class, m.Rater, m.Masks, m.Area, m.Dice, m.Sensitivity, m.Specificity, m.Bias)
			}
		}
	})
}

// levelsNote says what is missing for agreement levels.
const levelsNote = "The labels are agreement levels. They say how many experts marked a pixel and not who: the raters are not known, and there are no figures of pairs of raters, " +
	"no intraclass correlation and no rates."

// help says what the figures take for granted.
var help = []string{
	"κ and α correct for the agreement of raters who mark at random as often as these do. The more background an image shows, the closer they are to Dice; in the union of the marks they are lower, since the pixels that nobody marked are left out. Fleiss' κ takes the raters for exchangeable, Cohen's does not.",
	"Dice knows no chance. It is lower for small structures at the same error of the outline, and two empty masks have 1.",
	"STAPLE takes raters to err on their own, pixel by pixel, and each as often everywhere in an image. An error that most raters share counts as right.",
	"ICC(2,1) takes cases and raters for samples, and grows with the spread of the cases: compare it on images of one kind only. SEM, of second readings, is the standard deviation of a reading around the rater's own mean.",
}

// summary is what stands above the grids.
func (r *Report) summary() (paragraphs []string) {
	raters := "raters"
	if r.Levels {
		raters = "agreement levels"
	}
	paragraphs = []string{fmt.Sprintf("%s: %d images%s, %d %s", r.Name, r.Images, report.OfGroups(r.Images, r.Units), len(r.Raters), raters)}
	if r.Of > 0 {
		paragraphs = append(paragraphs, fmt.Sprintf("stopped before all %d images were read", r.Of))
	}
	if r.Levels {
		paragraphs = append(paragraphs, levelsNote)
	}
	for _, c := range r.Classes {
		if c.Skipped > 0 {
			paragraphs = append(paragraphs, fmt.Sprintf("%s: left out are %d images that fewer than two have marked, or that lack a level", c.Class, c.Skipped))
		}
	}
	return paragraphs
}

// Document is the report for people.
func (r *Report) Document() *report.Document {
	d := &report.Document{
		Made: r.Made, Title: "Agreement of the raters of " + r.Name, Lead: r.summary(), Basis: "Brackets hold 95 % intervals of 2,000 bootstrap samples of images, or of their groups; of α by jackknife, of ICC by F for as many cases as there are groups.", Help: help,
		Parts: []report.Part{{Title: "Agreement", Tables: []report.Table{r.agreement()}}},
	}
	if perfect := r.perfect(); len(perfect.Rows) > 0 {
		d.Parts[0].Tables = append(d.Parts[0].Tables, perfect)
	}
	if r.Ratio != nil {
		d.Basis += " Limits of agreement: the bias less and plus 1.96 standard deviations, ± half of either's interval; the bias has Student's t interval (Bland and Altman 1986)."
		d.Parts[0].Tables = append(d.Parts[0].Tables, r.Ratio.table())
	}
	if len(r.Again) > 0 {
		d.Parts[0].Tables = append(d.Parts[0].Tables, r.again())
	}
	for m, rater := range r.Raters {
		d.Key = append(d.Key, report.Entry{Name: rater, Ink: chart.CSS(picture.RaterColour(m))})
	}
	for _, c := range r.Classes {
		for _, m := range c.Raters {
			if m.Displaced != nil && !r.Levels {
				if text := dataset.Direction(m.Rater, c.Class, *m.Displaced); text != "" {
					d.Notes = append(d.Notes, text)
				}
			}
		}
		p := report.Part{Title: c.Class, Tables: []report.Table{c.people(r.Levels), c.disagreements(r.Levels)}}
		if !r.Levels {
			p.Tables = slices.Insert(p.Tables, 0, c.dice(r.Raters))
		}
		if len(c.worst.Exhibits) > 0 {
			c.worst.Key = d.Key
			p.Albums = []report.Album{c.worst}
		}
		d.Parts = append(d.Parts, p)
	}
	return d
}

// agreement has a row for each structure.
func (r *Report) agreement() report.Table {
	t := report.Table{Title: "Agreement. Dice and consensus ×100, with 95 % intervals", Columns: report.Columns("", "images", "Dice of pairs", "κ in the union", "κ in the image", "Krippendorff's α", "consensus", "ICC of areas")}
	for _, c := range r.Classes {
		t.Add(c.Class, c.Images, report.Plain(c.Dice, 100, 1), c.KappaUnion.text(c.Images), c.KappaWhole.text(c.Images), report.Plain(c.AlphaIn, 1, 3), report.Plain(c.Consensus, 100, 1), c.Area)
	}
	if r.Ratio != nil {
		t.Add("vertical cup/disc ratio", r.Ratio.Images, "", "", "", "", "", &r.Ratio.correlationReport)
	}
	return t
}

// perfect has a row for each structure of enough raters.
func (r *Report) perfect() report.Table {
	t := report.Table{Title: "What a perfect model would reach beside as many raters", Columns: report.Columns("", "soft Dice ×100", "ECE ×100", "Brier ×100", "GED")}
	for _, c := range r.Classes {
		if p := c.Perfect; p != nil {
			t.Add(c.Class, report.Plain(p.SoftDice, 100, 2), report.Plain(p.ECE, 100, 2), report.Plain(p.Brier, 100, 2), report.Plain(p.Energy, 1, 3))
		}
	}
	return t
}

// table has a row for each pair.
func (r *ratioReport) table() report.Table {
	t := report.Table{Title: "Vertical cup/disc ratio of pairs of raters, the second's less the first's", Columns: report.Columns("", "images", "bias", "limits of agreement, 95 %")}
	for _, p := range r.Pairs {
		t.Add(p.A+", "+p.B, p.Images, report.Signed(p.Bias, 1, 3), limitsText(p.Limits, p.Within))
	}
	return t
}

func limitsText(limits []float64, within *float64) string {
	if limits == nil {
		return "–"
	}
	return fmt.Sprintf("%+.3f to %+.3f (±%.3f)", limits[0], limits[1], *within)
}

// text is the figure, with the number of images if it is not defined in all.
func (k kappaReport) text(images int) string {
	if k.Images < images && k.Images > 0 {
		return fmt.Sprintf("%s, %d images", report.Plain(k.Interval, 1, 3), k.Images)
	}
	return report.Plain(k.Interval, 1, 3)
}

func (c *correlationReport) String() string {
	if c == nil || c.ICC == nil {
		return "–"
	}
	return fmt.Sprintf("%s, %d images", report.Plain(&metric.Interval{Mean: *c.ICC, Low: c.Low, High: c.High, N: c.Units}, 1, 3), c.Images)
}

// dice has a row and a column for each rater.
func (c *classAgreement) dice(raters []string) report.Table {
	return report.Matrix(c.Class+": pairs of raters, mean Dice ×100, and above the diagonal Cohen's κ", raters, func(m, o int) string {
		switch low, high := min(m, o), max(m, o); {
		case o == m:
			return ""
		case o < m:
			return report.Scaled("%.1f", c.Pairs[high*(high-1)/2+low].Dice, 100)
		default:
			return report.Plain(c.Pairs[high*(high-1)/2+low].Kappa, 1, 3)
		}
	})
}

// people has a row for each rater or level.
func (c *classAgreement) people(levels bool) report.Table {
	if levels {
		t := report.Table{Title: c.Class + ": the levels", Columns: report.Columns("", "masks", "mean area, % of the image")}
		for _, m := range c.Raters {
			t.Add(m.Rater, m.Masks, report.Scaled("%.2f", m.Area, 100))
		}
		return t
	}
	t := report.Table{Title: c.Class + ": the raters beside STAPLE; percent, bias as change of area", Columns: report.Columns("", "masks", "mean area", "Dice with the others", "sensitivity", "specificity", "bias", "dx, % of the diameter", "dy", "pixels")}
	for _, m := range c.Raters {
		bias, dx, dy, pixels := "–", "–", "–", "–"
		if m.Bias != nil {
			bias = fmt.Sprintf("%+.1f", 100*math.Expm1(*m.Bias))
		}
		if m.Displaced != nil && m.Displaced.X != nil {
			dx, dy = report.Signed(m.Displaced.X, 100, 1), report.Signed(m.Displaced.Y, 100, 1)
			pixels = m.Displaced.Moved()
		}
		t.Add(m.Rater, m.Masks, report.Scaled("%.2f", m.Area, 100), report.Scaled("%.1f", m.Dice, 100), report.Scaled("%.1f", m.Sensitivity, 100), report.Scaled("%.2f", m.Specificity, 100), bias, dx, dy, pixels)
	}
	return t
}

// disagreements has a row for each of the worst images.
func (c *classAgreement) disagreements(levels bool) report.Table {
	t := report.Table{Title: c.Class + ": least agreement. Dice ×100", Columns: report.Columns("image", "mean Dice", "farthest pair", "their Dice")}
	if levels {
		t = report.Table{Title: c.Class + ": least agreement", Columns: report.Columns("image", "consensus, %")}
	}
	for _, w := range c.Worst {
		if levels {
			t.Add(w.Image, report.Scaled("%.1f", w.Consensus, 100))
			continue
		}
		t.Add(w.Image, report.Scaled("%.1f", w.Dice, 100), w.A+", "+w.B, report.Scaled("%.1f", w.Least, 100))
	}
	return t
}
