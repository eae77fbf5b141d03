package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"mrprism/cmd/study/internal/compare"
	"mrprism/cmd/study/internal/display"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
	"mrprism/model"
)

// Report holds all figures, as the JSON has them. Intervals are of the mean over images; shares are
// 0..1. From Data to Cases everything is empty without -data.
type Report struct {
	Made        *report.Origin  `json:"made,omitempty"`
	Weights     source          `json:"weights"`
	Device      string          `json:"device"`
	Precision   model.Precision `json:"precision"`
	Raters      []string        `json:"raters"`
	Labels      string          `json:"labels"`
	Recurrences int             `json:"recurrences"`
	Data        string          `json:"data,omitempty"`
	Split       string          `json:"split,omitempty"` // test, validation, train or all
	Lists       []string        `json:"lists,omitempty"` // the splits of the data, by sizes and a sum; none: every fifth is held out
	Region      string          `json:"roi,omitempty"`
	Images      int             `json:"images"`
	// Of: images of the split, if the program was stopped before it scored all
	Of        int              `json:"of,omitempty"`
	NotFound  int              `json:"notFound"` // scored as empty masks
	Doubts    *doubtsReport    `json:"doubts,omitempty"`
	Classes   []display.Tree   `json:"classes,omitempty"`
	Ratio     *ratioReport     `json:"verticalRatio,omitempty"`
	Intervals *coveragesReport `json:"intervals,omitempty"`
	Risk      *riskReport      `json:"riskCoverage,omitempty"`
	Words     []wordsReport    `json:"trust,omitempty"` // of -data
	Changes   []changeReport   `json:"changes,omitempty"`
	Steady    *steadyReport    `json:"ratioUnderExposure,omitempty"`
	Cases     []*caseScore     `json:"cases,omitempty"`
	Centres   *centresReport   `json:"centres,omitempty"`
	Foreign   *foreignReport   `json:"foreign,omitempty"`
	// Odd: of all pictures, with -centres or -foreign
	Odd *oddReport `json:"doubtScore,omitempty"`

	classes  []structure           // of Classes
	compared []*compare.Comparison // by the mean vote; by the truth, if there is one
	worst    report.Album          // of -centres
}

// source names weights.
type source struct {
	Given  string `json:"given"`
	Name   string `json:"name"`
	Title  string `json:"title"`
	SHA256 string `json:"sha256"`
}

// report gathers the scores. If the program was stopped, they are of a part of the input. The error
// names what could not be scored.
func (s *study) report() (r *Report, err error) {
	m := s.session.Model
	r = &Report{
		Made: s.Made, Weights: source{s.Weights, m.Metadata.Name, m.Label(), m.SHA256}, Device: s.adapter, Precision: s.Precision, Raters: m.Metadata.Raters, Labels: m.Metadata.Labels,
		Recurrences: s.Recurrences, Centres: s.centresReport(), Foreign: s.foreignReport(), Odd: s.odd(), worst: s.farthest.Album,
	}
	if s.data != nil {
		err = s.dataReport(r)
	}
	return r, err
}

// dataReport gathers the scores of -data.
func (s *study) dataReport(r *Report) error {
	r.Data, r.Split, r.Region, r.Lists, r.Images, r.Cases = s.Images.Data, s.On, s.Region, s.data.Splits, len(s.scores), s.scores
	r.NotFound = len(statistics.Filter(s.scores, func(c *caseScore) bool { return !c.Found }))
	if len(s.scores) < len(s.cases) {
		r.Of = len(s.cases)
	}
	for k := range s.data.Classes {
		one := s.structure(k)
		r.Classes, r.classes = append(r.Classes, one.Tree), append(r.classes, one)
	}
	r.Doubts, r.Ratio, r.Intervals, r.Risk, r.Words = doubts(s.scores), ratios(s.scores), s.coverages(), risks(s.scores), s.caseWords()
	if s.Changed {
		r.Changes, r.Steady = s.changeReports(), steadyRatios(s.dataEyes())
	}
	var failed error
	for _, side := range s.compared.Sides {
		compared, err := s.compared.Comparison(side)
		if compared == nil {
			continue // nobody marked anything, or there is no truth
		}
		r.compared, failed = append(r.compared, compared), err
	}
	return failed
}

// marked are the scores of a structure in the images in which somebody has marked it.
func (s *study) marked(k int) []*classScore {
	return statistics.NonNil(s.scores, func(c *caseScore) *classScore { return c.Classes[k] })
}

// Document is the report for people: what evaluate compare says of the maps, and what it does not.
func (r *Report) Document() *report.Document {
	title := r.Weights.Title
	if !strings.HasPrefix(title, r.Weights.Name) { // a title need not contain the name
		title = r.Weights.Name + ", " + title
	}
	d := &report.Document{Title: "Scores of " + r.Weights.Name}
	for i, c := range r.compared {
		of := c.Document()
		if i == 0 {
			of.Title, d = d.Title, of
			continue
		}
		for _, p := range of.Parts {
			if !slices.ContainsFunc(r.classes, func(c structure) bool { return c.name == p.Title }) {
				continue // pictures and the curve are those of the mean vote
			}
			for j := range p.Tables {
				p.Tables[j].Title += ", against the truth"
			}
			p.Title += ", against the truth"
			d.Parts = append(d.Parts, p)
		}
	}
	d.Lead = append([]string{title, fmt.Sprintf("%s, %s", r.Device, r.Precision)}, r.lead()...)
	for _, c := range r.classes {
		at := slices.IndexFunc(d.Parts, func(p report.Part) bool { return p.Title == c.name })
		if len(c.tables) == 0 {
			d.Notes = append(d.Notes, c.name+": nobody has marked it")
			continue
		}
		d.Parts[at].Tables = append(d.Parts[at].Tables, c.tables...)
	}
	d.Made = r.Made
	return r.whole(d)
}

// lead says what was scored.
func (r *Report) lead() (lines []string) {
	if r.Data != "" {
		groups := ""
		if len(r.compared) > 0 {
			groups = report.OfGroups(r.compared[0].Images, r.compared[0].Units)
		}
		lines = append(lines, fmt.Sprintf("%s, %s: %d images%s, region %s, against the raters' mean vote", r.Data, r.Split, r.Images, groups, r.Region))
	}
	if r.Of > 0 {
		lines = append(lines, fmt.Sprintf("only %d of %d images were scored", r.Images, r.Of))
	}
	if r.NotFound > 0 {
		lines = append(lines, fmt.Sprintf("nothing was found in %d of them; they are scored as empty masks", r.NotFound))
	}
	return lines
}

// whole adds what is not about one structure.
func (r *Report) whole(d *report.Document) *report.Document {
	var pictures []report.Part // they stand last
	if at := slices.IndexFunc(d.Parts, func(p report.Part) bool { return len(p.Albums) > 0 }); at >= 0 {
		pictures = append(pictures, d.Parts[at])
		d.Parts = slices.Delete(d.Parts, at, at+1)
	}
	measured := report.Part{Title: "Measurements and trust"}
	if r.Ratio != nil {
		measured.Tables = append(measured.Tables, r.Ratio.table())
	}
	if r.Intervals != nil {
		measured.Tables = append(measured.Tables, r.Intervals.table(r.classes))
	}
	if measured.Tables = append(measured.Tables, wordsTables("", r.Words)...); len(measured.Tables) > 0 {
		d.Parts = append(d.Parts, measured)
	}
	if r.Doubts != nil {
		risk := report.Part{Title: "Doubts"}
		if r.Risk != nil {
			risk = r.Risk.part()
		}
		risk.Tables = append([]report.Table{r.Doubts.table()}, risk.Tables...)
		d.Parts = append(d.Parts, risk)
	}
	if r.Changes != nil {
		d.Parts = append(d.Parts, r.changesPart())
	}
	if r.Centres != nil {
		d.Parts = append(d.Parts, r.Centres.part())
	}
	if r.Foreign != nil {
		d.Parts = append(d.Parts, r.Foreign.part())
	}
	if r.Odd != nil {
		d.Parts = append(d.Parts, report.Part{Title: "The doubt score", Tables: []report.Table{r.Odd.table()}})
	}
	if len(r.worst.Exhibits) > 0 {
		r.worst.Title = "Wrong results first, then the farthest from the centre"
		pictures = append(pictures, report.Part{
			Title: "Photographs", Albums: []report.Album{r.worst}, Note: "Colours are the outlines of each structure, and dashed white is the circle of the CSV.",
		})
	}
	d.Parts = append(d.Parts, pictures...)
	return d
}
