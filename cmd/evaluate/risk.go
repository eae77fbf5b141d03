package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/internal/format/chart"
)

// riskReport says how soft Dice rises when doubted images of -data are left out. An image's soft
// Dice is the mean over its marked structures.
type riskReport struct {
	All        *metric.Interval `json:"softDice"`           // of all images
	NotDoubted *metric.Interval `json:"softDiceNotDoubted"` // null if all are doubted
	Kept       part             `json:"notDoubted"`
	// Unknown: images without a score; with any there is no curve
	Unknown int         `json:"unknown"`
	Area    *float64    `json:"area"`            // under the curve: the mean of its points
	Curve   []riskPoint `json:"curve,omitempty"` // from the least odd image to all images
}

// riskPoint is the mean soft Dice of the images that are kept, the least odd first.
type riskPoint struct {
	Share float64 `json:"share"` // of the images, above 0 to 1
	Dice  float64 `json:"softDice"`
}

// ranked is an image with its oddness.
type ranked struct{ score, dice float64 }

// softDice is the mean of the last recurrence over the marked structures; NaN without any.
func (c *caseScore) softDice() float64 {
	marked := filter(c.Classes, func(class *classScore) bool { return class != nil })
	return metric.Mean(figures(marked, func(class *classScore) float64 { return class.SoftDice[len(class.SoftDice)-1] }))
}

// risks gathers the images with a marked structure; nil without any.
func risks(cases []*caseScore) *riskReport {
	cases = filter(cases, func(c *caseScore) bool { return !math.IsNaN(c.softDice()) })
	if len(cases) == 0 {
		return nil
	}
	sound := func(c *caseScore) bool { return !c.Doubted }
	out := &riskReport{
		All: over(cases, (*caseScore).softDice), NotDoubted: over(filter(cases, sound), (*caseScore).softDice), Kept: count(cases, sound),
	}
	var images []ranked
	for _, c := range cases {
		score, known := c.oddness()
		if !known {
			out.Unknown++
		}
		images = append(images, ranked{score, c.softDice()})
	}
	if out.Unknown == 0 {
		out.Curve = curve(images)
		out.Area = new(metric.Mean(figures(out.Curve, func(p riskPoint) float64 { return p.Dice })))
	}
	return out
}

// curve is the mean soft Dice of the first image, the first two and so on, in the order of their
// scores. Images of equal scores have no order: each counts as their mean.
func curve(images []ranked) (points []riskPoint) {
	slices.SortStableFunc(images, func(a, b ranked) int { return cmp.Compare(a.score, b.score) })
	sum := 0.
	for first := 0; first < len(images); {
		last, mean := first, 0.
		for ; last < len(images) && images[last].score == images[first].score; last++ {
			mean += images[last].dice
		}
		mean /= float64(last - first)
		for ; first < last; first++ {
			sum += mean
			n := float64(first + 1)
			points = append(points, riskPoint{n / float64(len(images)), sum / n})
		}
	}
	return points
}

func (t *table) risk(r *riskReport) {
	t.Title("Soft Dice ×100 without the doubted images; mean over the marked structures")
	t.Line("all images\t%s", plain(r.All, 100, 2))
	if r.NotDoubted != nil {
		t.Line("those not doubted, %v\t%s", r.Kept, plain(r.NotDoubted, 100, 2))
	} else {
		t.Line("those not doubted\t–")
	}
	if r.Area != nil {
		t.Line("area under the risk–coverage curve\t%.2f", 100**r.Area)
	} else {
		t.Line("area under the risk–coverage curve\t–\tthe weights cannot tell how odd a result is (%d have no score)", r.Unknown)
	}
}

// fewDots is the largest number of points that the curve marks one by one.
const fewDots = 60

// riskSVG draws the curve.
func (r *report) riskSVG(w io.Writer) error {
	if r.Risk == nil || r.Risk.Curve == nil {
		return errors.New("there is no risk–coverage curve: the weights cannot tell how odd a result is, or no image was scored")
	}
	line := chart.Line{Name: "least odd", Dots: len(r.Risk.Curve) <= fewDots}
	for _, p := range r.Risk.Curve {
		line.X, line.Y = append(line.X, p.Share), append(line.Y, 100*p.Dice)
	}
	lines := []chart.Line{line}
	if kept := r.Risk.NotDoubted; kept != nil {
		lines = append(lines, chart.Line{Name: "not doubted", X: []float64{r.Risk.Kept.Share}, Y: []float64{100 * kept.Mean}, Dots: true})
	}
	_, err := chart.Chart{
		Title: r.Weights.Title, X: "share of images kept",
		Subtitle: fmt.Sprintf("%s, %s: %d images, the least odd kept first; area under the curve %.2f", r.Data, r.Split, len(r.Risk.Curve), 100**r.Risk.Area),
		Panels:   []chart.Panel{{Title: "Mean soft Dice ×100 of the images kept", Lines: lines}},
	}.WriteTo(w)
	return err
}
