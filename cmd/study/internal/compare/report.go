package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/cmd/study/internal/score"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
)

// Comparison is all that evaluate compare found, as the JSON has it. Shares are 0..1.
type Comparison struct {
	Made      *report.Origin `json:"made,omitempty"`
	Data      string         `json:"data"`
	Split     string         `json:"split"`           // test, validation, train or all
	Lists     []string       `json:"lists,omitempty"` // the splits of the data, by sizes and a sum; none: every fifth is held out
	Region    string         `json:"roi"`
	Reference string         `json:"reference"` // mean, truth or rater:NAME
	Raters    []string       `json:"raters"`
	Levels    bool           `json:"agreementLevels"`
	Images    int            `json:"images"`  // scored
	Of        int            `json:"of"`      // of the split
	Units     int            `json:"units"`   // groups of images by groups.csv, such as patients; images without one count alone
	Methods   []*method      `json:"methods"` // every run
	// Classes have the figures of a class over its images
	Classes  []classComparison `json:"classes"`
	Risk     []riskCurve       `json:"riskCoverage,omitempty"` // by method
	Notes    []string          `json:"notes,omitempty"`
	Troubles []trouble         `json:"troubles,omitempty"` // in no figure

	images    []*Image
	galleries *galleries
	bootstrap batch
}

// groups are the methods.
func (r *Comparison) groups() []group { return grouped(r.Methods) }

// classComparison has the figures of one class.
type classComparison struct {
	Class    string `json:"class"`
	Images   int    `json:"images"`   // with a reference
	Unmarked int    `json:"unmarked"` // without one
	// Paired: images that all runs of all methods of the class have
	Paired  int             `json:"paired"`
	Methods []methodSummary `json:"methods"` // those that segment the class
	Tests   []pairedTest    `json:"tests,omitempty"`
	// Best: by figure, the method whose mean is best, by differences from every other, over three
	// runs or more, that are clear of 0
	Best map[string]string `json:"best,omitempty"`

	leads []lead
}

// methodSummary is one method over the images of a class.
type methodSummary struct {
	Method string        `json:"method"`
	Runs   int           `json:"runs"`
	Images int           `json:"images"` // that some run has
	Passes []passSummary `json:"passes"`
	Raters []raterDice   `json:"raters"`
	// Reliability: of the last pass in the band, over the pixels of all images and runs
	Reliability []metrics.Bin `json:"reliability"`

	group group
	index int // among all methods
}

// passSummary has the figures of a pass by their keys.
type passSummary map[string]*estimate

// estimate is a mean over runs and units. Undefined images are not in it.
type estimate struct {
	*metrics.Estimate
	Images    int `json:"images"` // of all runs
	Undefined int `json:"undefined,omitempty"`
	// OneEmpty: of a distance, the images in which map or majority alone is empty: it is the
	// diagonal
	OneEmpty int `json:"oneEmpty,omitempty"`
}

// raterDice compares a method with the marks of a rater.
type raterDice struct {
	Rater string            `json:"rater"`
	Mask  *metrics.Estimate `json:"mask"`           // Dice of the last pass
	Head  *metrics.Estimate `json:"head,omitempty"` // Dice of the rater's own head
}

// pairedTest compares a method with the first one over the images that all methods have: its first
// run with the first's first run, and so on.
type pairedTest struct {
	Method     string            `json:"method"`
	Against    string            `json:"against"`
	Figure     string            `json:"figure"`
	Difference *metrics.Estimate `json:"difference"`       // the method's figure less the first's
	Effect     *float64          `json:"effect,omitempty"` // of metrics.Effect
	// P: of metrics.OverRuns; nil if one of the two has fewer than three runs
	P *float64 `json:"p,omitempty"`
	// Holm: adjusted for all tests of the figure, over methods and classes
	Holm *float64 `json:"pHolm,omitempty"`
}

// riskCurve is the mean soft Dice of the images of which a method is most certain.
type riskCurve struct {
	Method string              `json:"method"`
	Area   float64             `json:"area"` // the mean of the curve
	Curve  []metrics.RiskPoint `json:"curve"`

	index int // among all methods
}

// report gathers the scores.
func (c *Comparer) report(s *Side) *Comparison {
	r := &Comparison{
		Made: c.Made, Data: c.data.Name, Split: c.Request.On, Lists: c.data.Splits, Region: c.Request.Region, Reference: s.reference, Raters: c.data.Raters, Levels: c.data.Levels,
		Images: len(s.Images), Of: len(c.cases), Units: statistics.Distinct(statistics.Tabulate(len(s.Images), func(i int) statistics.Unit { return s.Images[i].Unit })), Methods: c.methods, Troubles: c.troubles, images: s.Images, galleries: s.galleries,
	}
	for k, class := range c.data.Classes {
		r.Classes = append(r.Classes, c.compareClass(r, s, class, k))
	}
	r.adjust()
	for _, m := range c.methods {
		r.Notes = append(r.Notes, m.notes(m.label())...)
	}
	first := c.groups[0]
	for _, g := range c.groups[1:] { // one run beside several is marked so in the tables
		if fewer := min(len(g.runs), len(first.runs)); fewer > 1 && len(g.runs) != len(first.runs) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s has %d runs and %s %d: their difference is over the first %d of each", first.name, len(first.runs), g.name, len(g.runs), fewer))
		}
	}
	for i, g := range c.groups {
		if curve := riskOf(s, g, i); curve != nil {
			r.Risk = append(r.Risk, *curve)
		}
	}
	r.bootstrap.run()
	for i := range r.Classes {
		r.Classes[i].lead()
	}
	return r
}

// compareClass gathers a class.
func (c *Comparer) compareClass(r *Comparison, side *Side, class string, k int) classComparison {
	out := classComparison{Class: class, Images: len(side.Images) - side.Unmarked[k], Unmarked: side.Unmarked[k]}
	for i, g := range c.groups {
		if !slices.Contains(c.methods[g.runs[0]].Classes, class) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s does not segment the %s", g.name, class))
			continue
		}
		if s := c.summarise(&r.bootstrap, side, i, k); s.Images > 0 {
			out.Methods = append(out.Methods, s)
		}
	}
	if len(out.Methods) == 0 {
		return out
	}
	paired := statistics.Filter(side.Images, func(one *Image) bool {
		return !slices.ContainsFunc(out.Methods, func(s methodSummary) bool {
			return slices.ContainsFunc(s.group.runs, func(run int) bool { return one.Rows[run][k] == nil })
		})
	})
	if out.Paired = len(paired); out.Paired < out.Images {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %d of %d images lack a prediction of some method; paired comparisons leave them out",
			class, out.Images-out.Paired, out.Images))
	}
	r.Notes = append(r.Notes, c.emptyNotes(side, class, k)...)
	for f, about := range score.Figures {
		if about.Title != "" {
			c.compareFigure(&r.bootstrap, &out, paired, k, f, about)
		}
	}
	return out
}

// emptyNotes say how often a class is in no reference and in no mark, and how often each run then
// predicts no pixel above one half: its Dice is 1 there.
func (c *Comparer) emptyNotes(s *Side, class string, k int) (notes []string) {
	for i, m := range c.methods {
		records := statistics.NonNil(s.Images, func(one *Image) *Row { return one.Rows[i][k] })
		empty := statistics.Filter(records, func(r *Row) bool { return r.Empty })
		both := statistics.Filter(empty, func(r *Row) bool { return r.Last()[score.Dice] == 1 })
		if len(empty) > 0 {
			notes = append(notes, fmt.Sprintf("%s: every mark is empty in %d of %d images; %s predicts none in %d of these: their Dice is 100",
				class, len(empty), len(records), m.label(), len(both)))
		}
	}
	return notes
}

// summarise gathers a method's figures of a class.
func (c *Comparer) summarise(b *batch, s *Side, at, k int) methodSummary {
	g := c.groups[at]
	images := statistics.Filter(s.Images, func(one *Image) bool {
		return slices.ContainsFunc(g.runs, func(run int) bool { return one.Rows[run][k] != nil })
	})
	out := methodSummary{Method: g.name, Runs: len(g.runs), Images: len(images), group: g, index: at}
	if len(images) == 0 {
		return out
	}
	mean := func(of func(*Row) float64, least, most float64) *estimate {
		all, has := 0, 0
		values := c.byUnit(images, len(g.runs), func(one *Image, run int) float64 {
			row := one.Rows[g.runs[run]][k]
			if row == nil {
				return math.NaN()
			}
			v := of(row)
			if all++; !math.IsNaN(v) {
				has++
			}
			return v
		})
		return &estimate{b.add(values, least, most), has, all - has, 0}
	}
	for pass := range c.methods[g.runs[0]].Passes {
		all := passSummary{}
		for f, about := range score.Figures {
			least, most := about.Range()
			if e := mean(func(one *Row) float64 { return one.Passes[pass][f] }, least, most); e.Estimate != nil {
				all[about.Key] = e
			}
		}
		for _, key := range score.Distances {
			for _, run := range g.runs {
				for _, row := range statistics.NonNil(images, func(one *Image) *Row { return one.Rows[run][k] }) {
					all[key].OneEmpty += int(row.Passes[pass][score.OneEmpty])
				}
			}
		}
		out.Passes = append(out.Passes, all)
	}
	for m, rater := range c.data.Raters {
		mask, head := mean(func(one *Row) float64 { return one.Mask[m] }, 0, 1), mean(func(one *Row) float64 { return one.head(m) }, 0, 1)
		if mask.Estimate != nil {
			out.Raters = append(out.Raters, raterDice{rater, mask.Estimate, head.Estimate})
		}
	}
	out.Reliability = s.Pooled[at][k].Bins()
	return out
}

// curvePoints is the largest number of points of a risk–coverage curve that is kept.
const curvePoints = 200

// riskOf ranks the images by the Dice that a method's maps state of themselves, those of all runs
// together; nil without images.
func riskOf(s *Side, g group, at int) *riskCurve {
	var images []metrics.Ranked
	for _, run := range g.runs {
		for _, one := range s.Images {
			dice, stated := meanOver(one.Rows[run])
			if !math.IsNaN(dice) {
				images = append(images, metrics.Ranked{Score: -stated, Dice: dice})
			}
		}
	}
	if len(images) == 0 {
		return nil
	}
	points, area := metrics.Curve(images)
	out := &riskCurve{Method: g.name, Area: area, index: at}
	step := (len(points) + curvePoints - 1) / curvePoints
	for at := (len(points) - 1) % step; at < len(points); at += step { // all images are the last point
		out.Curve = append(out.Curve, points[at])
	}
	return out
}

// meanOver are the mean soft Dice and stated Dice over the classes that a method has; NaN without
// any.
func meanOver(classes []*Row) (dice, stated float64) {
	has := statistics.Filter(classes, func(r *Row) bool { return r != nil })
	dice = metric.Mean(statistics.Values(has, func(r *Row) float64 { return r.Last()[score.SoftDice] }))
	return dice, metric.Mean(statistics.Values(has, func(r *Row) float64 { return r.stated }))
}

// shown are the figures that some method of the class has.
func (c *classComparison) shown() []score.Figure {
	return statistics.Filter(score.Figures, func(f score.Figure) bool {
		return f.Title != "" && slices.ContainsFunc(c.Methods, func(m methodSummary) bool { return m.last()[f.Key] != nil })
	})
}

// Test is the test of a method and figure; nil for the first method.
func (c *classComparison) Test(method, figure string) *pairedTest {
	at := slices.IndexFunc(c.Tests, func(t pairedTest) bool { return t.Method == method && t.Figure == figure })
	if at < 0 {
		return nil
	}
	return &c.Tests[at]
}

func (m methodSummary) last() passSummary { return m.Passes[len(m.Passes)-1] }

// referenceName says in words what the maps are compared with.
func (r *Comparison) referenceName() string {
	switch rater, isRater := strings.CutPrefix(r.Reference, "rater:"); {
	case isRater:
		return "the marks of " + rater
	case r.Reference == "truth":
		return "the truth"
	}
	return "the raters' mean vote"
}

// kindCount is the number of troubles of a kind for a method.
type kindCount struct {
	Method, Kind string
	Count        int
}

// Counted counts the troubles by method and kind, in the order in which they came.
func (r *Comparison) Counted() (counts []kindCount) {
	for _, t := range r.Troubles {
		at := slices.IndexFunc(counts, func(n kindCount) bool { return n.Method == t.Method && n.Kind == t.Kind })
		if at < 0 {
			at, counts = len(counts), append(counts, kindCount{t.Method, t.Kind, 0})
		}
		counts[at].Count++
	}
	return counts
}
