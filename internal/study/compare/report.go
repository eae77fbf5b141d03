package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
)

// Comparison is all that evaluate compare found, as the JSON has it. Shares are 0..1.
type Comparison struct {
	Data      string    `json:"data"`
	Split     string    `json:"split"`           // test, validation, train or all
	Lists     []string  `json:"lists,omitempty"` // the splits of the data, by sizes and a sum; none: every fifth is held out
	Region    string    `json:"roi"`
	Reference string    `json:"reference"` // mean, truth or rater:NAME
	Raters    []string  `json:"raters"`
	Levels    bool      `json:"agreementLevels"`
	Images    int       `json:"images"` // scored
	Of        int       `json:"of"`     // of the split
	Methods   []*method `json:"methods"`
	// Classes have the figures of a class over its images
	Classes  []classComparison `json:"classes"`
	Risk     []riskCurve       `json:"riskCoverage,omitempty"` // by method
	Notes    []string          `json:"notes,omitempty"`
	Troubles []trouble         `json:"troubles,omitempty"` // in no figure

	images    []*Image
	galleries *galleries
	bootstrap batch
}

// classComparison has the figures of one class.
type classComparison struct {
	Class    string `json:"class"`
	Images   int    `json:"images"`   // with a reference
	Unmarked int    `json:"unmarked"` // without one
	// Paired: images that all methods of the class have
	Paired  int             `json:"paired"`
	Methods []methodSummary `json:"methods"` // those that segment the class
	Tests   []pairedTest    `json:"tests,omitempty"`
}

// methodSummary is one method over the images of a class.
type methodSummary struct {
	Method string        `json:"method"`
	Images int           `json:"images"`
	Passes []passSummary `json:"passes"`
	Raters []raterDice   `json:"raters"`
	// Reliability: of the last pass inside the union, over the pixels of all images
	Reliability []metric.Bin `json:"reliability"`
	PooledECE   *float64     `json:"eceUnionPooled,omitempty"`

	index int // among all methods
}

// passSummary has the figures of a pass by their keys.
type passSummary map[string]*estimate

// estimate is a mean over images. Undefined images are not in it.
type estimate struct {
	*metric.Interval
	Images    int `json:"images"`
	Undefined int `json:"undefined,omitempty"`
}

// raterDice compares a method with the marks of a rater.
type raterDice struct {
	Rater string           `json:"rater"`
	Mask  *metric.Interval `json:"mask"`           // Dice of the last pass
	Head  *metric.Interval `json:"head,omitempty"` // Dice of the rater's own head
}

// pairedTest compares a method with the first one over the images that all methods have.
type pairedTest struct {
	Method     string           `json:"method"`
	Against    string           `json:"against"`
	Figure     string           `json:"figure"`
	Images     int              `json:"images"`
	Difference *metric.Interval `json:"difference"` // the method's figure less the first's
	P          float64          `json:"p"`          // of Wilcoxon's signed-rank test
	// Holm: adjusted for all tests of the figure, over methods and classes
	Holm float64 `json:"pHolm"`
}

// riskCurve is the mean soft Dice of the images of which a method is most certain.
type riskCurve struct {
	Method string            `json:"method"`
	Area   float64           `json:"area"` // the mean of the curve
	Curve  []score.RiskPoint `json:"curve"`
}

// batch computes many intervals at once.
type batch struct {
	columns [][]float64
	to      []*metric.Interval
}

// add returns the interval that run will fill; nil without values.
func (b *batch) add(values []float64) *metric.Interval {
	if len(values) == 0 {
		return nil
	}
	b.columns, b.to = append(b.columns, values), append(b.to, new(metric.Interval))
	return b.to[len(b.to)-1]
}

func (b *batch) run() {
	for i, interval := range metric.BootstrapAll(b.columns, statistics.Resamples, statistics.Seed) {
		*b.to[i] = interval
	}
}

// report gathers the scores.
func (c *Comparer) report(s *Side) *Comparison {
	r := &Comparison{
		Data: c.data.Name, Split: c.Request.On, Lists: c.data.Splits, Region: c.Request.Region, Reference: s.reference, Raters: c.data.Raters, Levels: c.data.Levels, Images: len(s.Images), Of: len(c.cases),
		Methods: c.methods, Troubles: c.troubles, images: s.Images, galleries: s.galleries,
	}
	for k, class := range c.data.Classes {
		r.Classes = append(r.Classes, c.compareClass(r, s, class, k))
	}
	r.adjust()
	for i, m := range c.methods {
		r.Notes = append(r.Notes, m.notes(m.Name)...)
		if curve := c.riskOf(s, i); curve != nil {
			r.Risk = append(r.Risk, *curve)
		}
	}
	r.bootstrap.run()
	return r
}

// compareClass gathers a class.
func (c *Comparer) compareClass(r *Comparison, side *Side, class string, k int) classComparison {
	out := classComparison{Class: class, Images: len(side.Images) - side.Unmarked[k], Unmarked: side.Unmarked[k]}
	for i, m := range c.methods {
		if !slices.Contains(m.Classes, class) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s does not segment the %s", m.Name, class))
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
		return !slices.ContainsFunc(out.Methods, func(s methodSummary) bool { return one.Rows[s.index][k] == nil })
	})
	if out.Paired = len(paired); out.Paired < out.Images {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %d of %d images lack a prediction of some method; paired comparisons leave them out",
			class, out.Images-out.Paired, out.Images))
	}
	r.Notes = append(r.Notes, c.emptyNotes(side, class, k)...)
	out.Tests = testAll(&r.bootstrap, out.Methods, paired, k)
	return out
}

// emptyNotes say how often a class is in no reference and in no mark, and how often each method
// then predicts no pixel above one half: its Dice is 1 there.
func (c *Comparer) emptyNotes(s *Side, class string, k int) (notes []string) {
	for i, m := range c.methods {
		records := statistics.NonNil(s.Images, func(one *Image) *Row { return one.Rows[i][k] })
		empty := statistics.Filter(records, func(r *Row) bool { return r.Empty })
		both := statistics.Filter(empty, func(r *Row) bool { return r.Last()[score.Dice] == 1 })
		if len(empty) > 0 {
			notes = append(notes, fmt.Sprintf("%s: every mark is empty in %d of %d images; %s predicts none in %d of these: their Dice is 100",
				class, len(empty), len(records), m.Name, len(both)))
		}
	}
	return notes
}

// summarise gathers a method's figures of a class.
func (c *Comparer) summarise(b *batch, s *Side, i, k int) methodSummary {
	records := statistics.NonNil(s.Images, func(one *Image) *Row { return one.Rows[i][k] })
	out := methodSummary{Method: c.methods[i].Name, Images: len(records), index: i}
	if len(records) == 0 {
		return out
	}
	for pass := range c.methods[i].Passes {
		all := passSummary{}
		for f, about := range score.Figures {
			values := statistics.Values(records, func(one *Row) float64 { return one.Passes[pass][f] })
			if len(values) > 0 {
				all[about.Key] = &estimate{b.add(values), len(values), len(records) - len(values)}
			}
		}
		out.Passes = append(out.Passes, all)
	}
	for m, rater := range c.data.Raters {
		mask := b.add(statistics.Values(records, func(one *Row) float64 { return one.Mask[m] }))
		head := b.add(statistics.Values(records, func(one *Row) float64 { return one.head(m) }))
		if mask != nil {
			out.Raters = append(out.Raters, raterDice{rater, mask, head})
		}
	}
	out.Reliability, out.PooledECE = s.Pooled[i][k].Union.Bins(), statistics.Defined(s.Pooled[i][k].Union.ECE())
	return out
}

// testAll tests every method and figure against the first method. Images in which one of the two
// has no figure are not in the test.
func testAll(b *batch, methods []methodSummary, paired []*Image, k int) (tests []pairedTest) {
	for _, m := range methods[1:] {
		for f, about := range score.Figures {
			differences := statistics.Values(paired, func(one *Image) float64 {
				return one.Rows[m.index][k].Last()[f] - one.Rows[methods[0].index][k].Last()[f]
			})
			if len(differences) > 0 {
				tests = append(tests, pairedTest{
					Method: m.Method, Against: methods[0].Method, Figure: about.Key, Images: len(differences),
					Difference: b.add(differences), P: metric.Wilcoxon(differences),
				})
			}
		}
	}
	return tests
}

// adjust corrects the p-values by Holm. A family is all tests of a figure.
func (r *Comparison) adjust() {
	for _, about := range score.Figures {
		var family []*pairedTest
		for i := range r.Classes {
			for j := range r.Classes[i].Tests {
				if t := &r.Classes[i].Tests[j]; t.Figure == about.Key {
					family = append(family, t)
				}
			}
		}
		p := statistics.Tabulate(len(family), func(i int) float64 { return family[i].P })
		for i, adjusted := range metric.Holm(p) {
			family[i].Holm = adjusted
		}
	}
}

// curvePoints is the largest number of points of a risk–coverage curve that is kept.
const curvePoints = 200

// riskOf ranks the images by the Dice that a method's maps state of themselves; nil without images.
func (c *Comparer) riskOf(s *Side, i int) *riskCurve {
	var images []score.Ranked
	for _, one := range s.Images {
		dice, stated := meanOver(one.Rows[i])
		if !math.IsNaN(dice) {
			images = append(images, score.Ranked{Score: -stated, Dice: dice})
		}
	}
	if len(images) == 0 {
		return nil
	}
	points, area := score.Curve(images)
	out := &riskCurve{Method: c.methods[i].Name, Area: area}
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
		return slices.ContainsFunc(c.Methods, func(m methodSummary) bool { return m.last()[f.Key] != nil })
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

// best reports whether another method of the class has the figure, and none has a better mean.
func (c *classComparison) best(m methodSummary, f score.Figure) bool {
	own := m.last()[f.Key]
	others := statistics.NonNil(c.Methods, func(other methodSummary) *estimate { return other.last()[f.Key] })
	return own != nil && len(others) > 1 && !slices.ContainsFunc(others, func(e *estimate) bool {
		return f.Lower && e.Mean < own.Mean || !f.Lower && e.Mean > own.Mean
	})
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
