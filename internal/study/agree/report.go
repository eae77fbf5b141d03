package agree

import (
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/internal/study/chart"
	"mrprism/internal/study/report"
	"mrprism/internal/study/statistics"
)

// Report holds all figures of "evaluate raters", as the JSON has them. Shares, Dice and kappa
// are not scaled. Intervals are of the mean over images.
type Report struct {
	Name    string             `json:"name"`
	Images  int                `json:"images"`
	Of      int                `json:"of,omitempty"` // images, if the program was stopped before it read all
	Raters  []string           `json:"raters"`
	Levels  bool               `json:"agreementLevels"` // the raters are levels, and no rater is known
	Classes []*classAgreement  `json:"classes"`
	Ratio   *correlationReport `json:"verticalRatio,omitempty"` // of raters' vertical cup/disc ratios
}

// classAgreement is the agreement about a structure. Of agreement levels there are the kappas, the
// consensus and the areas alone.
type classAgreement struct {
	Class      string             `json:"class"`
	Images     int                `json:"images"`  // that two or more have marked; of levels: with all levels
	Skipped    int                `json:"skipped"` // the other images
	Dice       *metric.Interval   `json:"dice,omitempty"`
	KappaUnion kappaReport        `json:"kappaUnion"` // inside the union of the marks
	KappaWhole kappaReport        `json:"kappaWhole"` // over the whole image
	Consensus  *metric.Interval   `json:"consensus"`  // pixels that all marked over pixels that anybody marked
	Area       *correlationReport `json:"area,omitempty"`
	Pairs      []PairReport       `json:"pairs,omitempty"`
	Raters     []raterReport      `json:"raters"`
	Tree       []treeReport       `json:"tree,omitempty"` // average linkage on 1 − Dice
	Worst      []worstReport      `json:"worst"`

	cases   []*disagreement
	merges  []metric.Merge
	gallery report.Gallery
	mean    [][]float64 // Dice by rater and earlier rater; NaN without a common image
}

// kappaReport is Fleiss' kappa of the images in which it is defined.
type kappaReport struct {
	*metric.Interval
	Images int `json:"images"`
}

// correlationReport is ICC(2,1) over the images that all raters have marked.
type correlationReport struct {
	ICC    *float64 `json:"icc"` // null if it is not defined
	Images int      `json:"images"`
}

type PairReport struct {
	A      string   `json:"a"`
	B      string   `json:"b"`
	Images int      `json:"images"` // that both have marked
	Dice   *float64 `json:"dice"`   // mean; null without images
}

// raterReport is a rater beside the STAPLE maps. The pixels of all images count together.
type raterReport struct {
	Rater       string   `json:"rater"`
	Masks       int      `json:"masks"` // in images that another has marked too
	Area        *float64 `json:"area"`  // mean share of the image
	Dice        *float64 `json:"dice,omitempty"`
	Sensitivity *float64 `json:"sensitivity,omitempty"`
	Specificity *float64 `json:"specificity,omitempty"`
	Bias        *float64 `json:"bias,omitempty"` // ln of the marked area over the fused area
}

// treeReport is a merge of the tree.
type treeReport struct {
	A      []string `json:"a"`
	B      []string `json:"b"`
	Height float64  `json:"height"`
}

// worstReport is an image whose raters agree least.
type worstReport struct {
	Image     string   `json:"image"`
	Dice      *float64 `json:"dice,omitempty"` // mean over pairs
	Least     *float64 `json:"least,omitempty"`
	A         string   `json:"a,omitempty"` // Least is of these two
	B         string   `json:"b,omitempty"`
	Consensus *float64 `json:"consensus"`
}

// report makes the report of the images until now.
func (g *agreementStudy) report() *Report {
	r := &Report{Name: g.data.Name, Images: g.images, Raters: g.data.Raters, Levels: g.data.Levels}
	if g.images < len(g.data.Cases) {
		r.Of = len(g.data.Cases)
	}
	for k, class := range g.data.Classes {
		r.Classes = append(r.Classes, g.classReport(class, g.classes[k]))
	}
	if len(g.ratios) > 0 {
		r.Ratio = correlation(g.ratios)
	}
	return r
}

func correlation(values [][]float64) *correlationReport {
	return &correlationReport{statistics.Defined(metric.ICC(values)), len(values)}
}

func kappa(cases []*disagreement, of func(*disagreement) float64) kappaReport {
	return kappaReport{statistics.MeanOver(cases, of), len(statistics.Values(cases, of))}
}

func (g *agreementStudy) classReport(class string, of *structureSums) *classAgreement {
	c := &classAgreement{
		Class: class, Images: len(of.cases), Skipped: of.single, cases: of.cases, gallery: of.worst,
		Dice:       statistics.MeanOver(of.cases, func(d *disagreement) float64 { return d.dice }),
		KappaUnion: kappa(of.cases, func(d *disagreement) float64 { return d.union }),
		KappaWhole: kappa(of.cases, func(d *disagreement) float64 { return d.whole }),
		Consensus:  statistics.MeanOver(of.cases, func(d *disagreement) float64 { return d.consensus }),
		Worst:      g.worstReports(of.cases),
	}
	if !g.data.Levels {
		c.Area = correlation(of.areas)
		g.pairReports(c, of)
		g.treeReports(c)
	}
	g.raterReports(c, of)
	return c
}

// pairReports are the pairs of raters, in their order.
func (g *agreementStudy) pairReports(c *classAgreement, of *structureSums) {
	c.mean = make([][]float64, len(of.pairs))
	for b, row := range of.pairs {
		for a, sum := range row {
			mean := sum.dice / float64(sum.images) // NaN without images
			c.mean[b] = append(c.mean[b], mean)
			c.Pairs = append(c.Pairs, PairReport{g.data.Raters[a], g.data.Raters[b], sum.images, statistics.Defined(mean)})
		}
	}
}

// treeReports clusters the raters.
func (g *agreementStudy) treeReports(c *classAgreement) {
	far := make([][]float64, len(c.mean))
	var members [][]string
	for b, row := range c.mean {
		for _, dice := range row {
			far[b] = append(far[b], 1-dice)
		}
		members = append(members, []string{g.data.Raters[b]})
	}
	c.merges = metric.AverageLinkage(far)
	for _, m := range c.merges {
		c.Tree = append(c.Tree, treeReport{members[m.A], members[m.B], m.Height})
		members = append(members, slices.Concat(members[m.A], members[m.B]))
	}
}

// raterReports are the raters, or the levels.
func (g *agreementStudy) raterReports(c *classAgreement, of *structureSums) {
	for m, sum := range of.raters {
		r := raterReport{Rater: g.data.Raters[m], Masks: sum.masks, Area: statistics.Defined(sum.area / float64(sum.masks))}
		if rates := sum.Rates(); sum.compared > 0 {
			r.Sensitivity, r.Specificity, r.Bias = statistics.Defined(rates.Sensitivity), statistics.Defined(rates.Specificity), statistics.Defined(sum.Bias())
			r.Dice = statistics.Defined(of.withOthers(m))
		}
		c.Raters = append(c.Raters, r)
	}
}

// withOthers is the mean Dice of a rater with the others, over all pairs and images.
func (of *structureSums) withOthers(m int) float64 {
	var sum pairSum
	for b, row := range of.pairs {
		for a, pair := range row {
			if a == m || b == m {
				sum.dice, sum.images = sum.dice+pair.dice, sum.images+pair.images
			}
		}
	}
	return sum.dice / float64(sum.images)
}

// worstReports are the images in which the raters agree least, the worst first. Images in which
// nothing is marked are not among them.
func (g *agreementStudy) worstReports(cases []*disagreement) (reports []worstReport) {
	ranked := statistics.Filter(cases, func(d *disagreement) bool { return !math.IsNaN(d.rank().Figure) })
	slices.SortStableFunc(ranked, func(a, b *disagreement) int { return a.rank().Compare(b.rank()) })
	for _, d := range ranked[:min(most, len(ranked))] {
		w := worstReport{Image: d.image, Consensus: statistics.Defined(d.consensus)}
		if !g.data.Levels {
			w.Dice, w.Least, w.A, w.B = statistics.Defined(d.dice), statistics.Defined(d.least), g.data.Raters[d.a], g.data.Raters[d.b]
		}
		reports = append(reports, w)
	}
	return reports
}

// dendrogram is the tree as a picture; nil for agreement levels.
func (r *Report) dendrogram(c *classAgreement) *chart.Dendrogram {
	if r.Levels {
		return nil
	}
	return &chart.Dendrogram{Title: "Who marks the " + c.Class + " alike", Subtitle: "average linkage; pairs over the images that both have marked",
		Axis: "1 − Dice", Leaves: r.Raters, Merges: c.merges}
}
