package agree

import (
	"cmp"
	"math"
	"slices"

	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
)

// Report holds all figures of "evaluate raters", as the JSON has them. Shares, Dice and kappa
// are not scaled. Intervals are of the mean over images.
type Report struct {
	Made    *report.Origin    `json:"made"`
	Name    string            `json:"name"`
	Images  int               `json:"images"`
	Units   int               `json:"units"`        // groups of these images by groups.csv, such as patients
	Of      int               `json:"of,omitempty"` // images, if the program was stopped before it read all
	Raters  []string          `json:"raters"`
	Levels  bool              `json:"agreementLevels"` // the raters are levels, and no rater is known
	Classes []*classAgreement `json:"classes"`
	Ratio   *ratioReport      `json:"verticalRatio,omitempty"` // of raters' vertical cup/disc ratios
	Again   []againReport     `json:"again,omitempty"`         // second readings, which enter nothing else
}

// classAgreement is the agreement about a structure. Of agreement levels there are the kappas, the
// consensus and the areas alone.
type classAgreement struct {
	Class      string             `json:"class"`
	Images     int                `json:"images"`  // that two or more have marked; of levels: with all levels
	Skipped    int                `json:"skipped"` // the other images
	Dice       *metric.Interval   `json:"dice,omitempty"`
	KappaUnion kappaReport        `json:"kappaUnion"`        // inside the union of the marks
	KappaWhole kappaReport        `json:"kappaWhole"`        // over the whole image
	Alpha      *float64           `json:"krippendorffAlpha"` // over the pixels of all images
	AlphaIn    *metric.Interval   `json:"krippendorffAlphaInterval"`
	Consensus  *metric.Interval   `json:"consensus"` // pixels that all marked over pixels that anybody marked
	Area       *correlationReport `json:"area,omitempty"`
	Perfect    *perfectReport     `json:"perfectModel,omitempty"` // from metric.FewestRaters on
	Pairs      []PairReport       `json:"pairs,omitempty"`
	Raters     []raterReport      `json:"raters"`
	Worst      []worstReport      `json:"worst"`

	cases []*comparison
	worst report.Album
}

// perfectReport is what a perfect model would reach beside as many raters: metric.Ceiling.
type perfectReport struct {
	SoftDice *metric.Interval `json:"softDice"`
	ECE      *metric.Interval `json:"ece"`
	Brier    *metric.Interval `json:"brier"`
	Energy   *metric.Interval `json:"generalizedEnergyDistance"`
}

// kappaReport is Fleiss' kappa of the images in which it is defined.
type kappaReport struct {
	*metric.Interval
	Images int `json:"images"`
}

// correlationReport is ICC(2,1) over the images that all raters have marked.
type correlationReport struct {
	ICC    *float64 `json:"icc"` // null if it is not defined
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Images int      `json:"images"`
	Units  int      `json:"units"` // groups of these images
}

// ratioReport is the agreement about the vertical cup/disc ratio.
type ratioReport struct {
	correlationReport
	Pairs []limitsReport `json:"pairs"`
}

// limitsReport is the difference of a pair's ratios: b's less a's.
type limitsReport struct {
	A      string           `json:"a"`
	B      string           `json:"b"`
	Images int              `json:"images"` // that both have marked
	Bias   *metric.Interval `json:"bias"`   // its interval is Student's t; null without images
	// Limits of agreement (Bland and Altman 1986, 2007): the bias less and plus 1.96 standard
	// deviations of an image's difference; absent for fewer than two groups of images
	Limits []float64 `json:"limitsOfAgreement,omitempty"`
	Within *float64  `json:"limitsWithin,omitempty"` // half the 95 % interval of either limit
}

type PairReport struct {
	A      string           `json:"a"`
	B      string           `json:"b"`
	Images int              `json:"images"` // that both have marked
	Dice   *float64         `json:"dice"`   // mean; null without images
	Kappa  *metric.Interval `json:"kappa"`  // Cohen's over the whole image, mean of those that are defined
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

	Displaced *statistics.Displaced `json:"displacement,omitempty"` // from the others' majority
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

// Report makes the report of the images until now.
func (s *Study) Report() *Report {
	r := &Report{Made: s.made, Name: s.data.Name, Images: s.images, Units: statistics.Distinct(s.seen), Raters: s.data.Raters, Levels: s.data.Levels}
	if all := len(s.data.Cases) - s.left; s.images < all {
		r.Of = all
	}
	for k, class := range s.data.Classes {
		r.Classes = append(r.Classes, s.classReport(class, k))
	}
	r.Again = s.againReports()
	if len(s.ratios) > 0 {
		r.Ratio = s.ratioReport()
	}
	return r
}

func (s *Study) ratioReport() *ratioReport {
	whole := statistics.Filter(s.ratios, func(r *ratios) bool { return !slices.ContainsFunc(r.of, math.IsNaN) })
	out := &ratioReport{correlationReport: *correlation(whole, func(r *ratios) ([]float64, statistics.Unit) { return r.of, r.Unit })}
	for b, name := range s.data.Raters {
		for a := range b {
			pair := limitsReport{A: s.data.Raters[a], B: name, Images: len(statistics.Values(s.ratios, less(a, b)))}
			if pair.Images > 0 {
				bias, limits := statistics.BlandAltman(s.ratios, less(a, b))
				pair.Bias, pair.Limits, pair.Within = &bias, limits, within(bias, limits)
			}
			out.Pairs = append(out.Pairs, pair)
		}
	}
	return out
}

// within is half the 95 % interval of a limit of agreement (Bland and Altman 1986), with as many
// degrees of freedom as there are units, less one; nil without limits.
func within(bias metric.Interval, limits []float64) *float64 {
	if limits == nil {
		return nil
	}
	n := float64(bias.N)
	return new(metric.StudentQuantile(.975, n-1) * (limits[1] - bias.Mean) / 1.96 * math.Sqrt(1/n+1.96*1.96/2/(n-1)))
}

// correlation is that of the rows of items, which are of units.
func correlation[T any](items []T, of func(T) ([]float64, statistics.Unit)) *correlationReport {
	var values [][]float64
	var units []statistics.Unit
	for _, item := range items {
		row, unit := of(item)
		values, units = append(values, row), append(units, unit)
	}
	icc := metric.ICC(values, statistics.Distinct(units))
	return &correlationReport{statistics.Defined(icc.Mean), icc.Low, icc.High, len(values), icc.N}
}

func (s *Study) classReport(class string, k int) *classAgreement {
	cases := s.classes[k]
	kappa := func(of func(*comparison) float64) kappaReport {
		return kappaReport{statistics.MeanWithin(-1, 1, cases, of), len(statistics.Values(cases, of))}
	}
	c := &classAgreement{
		Class: class, Images: len(cases), Skipped: s.images - len(cases), cases: cases,
		Dice:       statistics.MeanWithin(0, 1, cases, func(d *comparison) float64 { return d.dice }),
		KappaUnion: kappa(func(d *comparison) float64 { return d.union }),
		KappaWhole: kappa(func(d *comparison) float64 { return d.whole }),
		Consensus:  statistics.MeanWithin(0, 1, cases, func(d *comparison) float64 { return d.consensus }),
		Worst:      s.worstReports(cases),
	}
	units := slices.Compact(slices.Sorted(slices.Values(statistics.Tabulate(len(cases), func(i int) statistics.Unit { return cases[i].Unit }))))
	c.AlphaIn = statistics.Jackknife(len(units), func(without int) float64 {
		var all metric.Coincidences
		for _, d := range cases {
			if without < 0 || d.Unit != units[without] {
				all.Merge(d.coincidences)
			}
		}
		return all.Alpha()
	})
	if c.AlphaIn != nil {
		*c.AlphaIn = c.AlphaIn.Within(-1, 1)
		c.Alpha = &c.AlphaIn.Mean
	}
	for m, name := range s.data.Raters {
		c.Raters = append(c.Raters, raterOf(name, m, cases))
	}
	if s.data.Levels {
		return c
	}
	perfect := func(of func(metric.Ceiling) float64) *metric.Interval {
		return statistics.MeanWithin(0, math.Inf(1), cases, func(d *comparison) float64 { return of(d.ceiling) })
	}
	if soft := perfect(func(p metric.Ceiling) float64 { return p.SoftDice }); soft != nil {
		*soft = soft.Within(0, 1)
		c.Perfect = &perfectReport{soft, perfect(func(p metric.Ceiling) float64 { return p.ECE }), perfect(func(p metric.Ceiling) float64 { return p.Brier }), perfect(func(p metric.Ceiling) float64 { return p.Energy })}
	}
	whole := statistics.Filter(cases, func(d *comparison) bool { return d.raters == len(d.areas) })
	c.Area = correlation(whole, func(d *comparison) ([]float64, statistics.Unit) { return d.areas, d.Unit })
	for b, name := range s.data.Raters {
		for a := range b {
			dice := statistics.Values(cases, func(d *comparison) float64 { return d.pairs[b][a] })
			kappa := statistics.MeanWithin(-1, 1, cases, func(d *comparison) float64 { return d.kappas[b][a] })
			c.Pairs = append(c.Pairs, PairReport{s.data.Raters[a], name, len(dice), statistics.Defined(metric.Mean(dice)), kappa})
		}
	}
	return c
}

// raterOf is a rater, or a level, over the images.
func raterOf(name string, m int, cases []*comparison) raterReport {
	areas := statistics.Values(cases, func(c *comparison) float64 { return c.areas[m] })
	r := raterReport{Rater: name, Masks: len(areas), Area: statistics.Defined(metric.Mean(areas))}
	var sum fusion.Counts
	var dice []float64
	for _, c := range cases {
		if c.counts == nil {
			return r
		}
		sum.Add(c.counts[m])
		for b, row := range c.pairs {
			for a, d := range row {
				if (a == m || b == m) && !math.IsNaN(d) {
					dice = append(dice, d)
				}
			}
		}
	}
	if rates := sum.Rates(); len(areas) > 0 {
		r.Sensitivity, r.Specificity, r.Bias = statistics.Defined(rates.Sensitivity), statistics.Defined(rates.Specificity), statistics.Defined(sum.Bias())
		r.Dice = statistics.Defined(metric.Mean(dice))
		r.Displaced = new(statistics.DisplacedOver(statistics.Tabulate(len(cases), func(i int) statistics.Placed {
			return statistics.Placed{Unit: cases[i].Unit, Displacement: cases[i].displaced[m]}
		})))
	}
	return r
}

// ranked are the images in which the raters agree least, the worst first. Images in which nothing is
// marked are not among them.
func ranked(cases []*comparison) []*comparison {
	all := statistics.Filter(cases, func(c *comparison) bool { return !math.IsNaN(c.rank()) })
	slices.SortStableFunc(all, func(a, b *comparison) int { return cmp.Compare(a.rank(), b.rank()) })
	return all[:min(most, len(all))]
}

func (s *Study) worstReports(cases []*comparison) (reports []worstReport) {
	for _, c := range ranked(cases) {
		w := worstReport{Image: c.image, Consensus: statistics.Defined(c.consensus)}
		if !s.data.Levels {
			w.Dice, w.Least, w.A, w.B = statistics.Defined(c.dice), statistics.Defined(c.least), s.data.Raters[c.a], s.data.Raters[c.b]
		}
		reports = append(reports, w)
	}
	return reports
}
