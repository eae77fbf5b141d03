package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"mrprism/internal/chart"
	"mrprism/internal/metric"
)

// riskReport is what it is worth to leave out the images of -data that the program doubts. Soft
// Dice is the mean over an image's marked structures.
type riskReport struct {
	All        *metric.Interval `json:"softDice"`           // of all images
	NotDoubted *metric.Interval `json:"softDiceNotDoubted"` // of those without a doubt; null where there is none
	Kept       part             `json:"notDoubted"`
	Unknown    int              `json:"unknown"`         // images without a score; where there are any, there is no curve
	Area       *float64         `json:"area"`            // under the curve: the mean of its points
	Curve      []riskPoint      `json:"curve,omitempty"` // from the image that is least odd to all of them
}

// riskPoint is the soft Dice of the images that are kept, the least odd first.
type riskPoint struct {
	Share float64 `json:"share"` // of the images, above 0 to 1
	Dice  float64 `json:"softDice"`
}

// ranked is an image with what it is ranked by.
type ranked struct{ score, dice float64 }

// risks gathers the images of which a structure is marked; nil where there is none.
func risks(cases []*caseScore) *riskReport {
	var out riskReport
	var all, kept []float64
	var images []ranked
	for _, c := range cases {
		dice := c.softDice()
		if math.IsNaN(dice) {
			continue
		}
		score, known := c.oddness()
		if !known {
			out.Unknown++
		}
		if all = append(all, dice); !c.Doubted {
			kept = append(kept, dice)
		}
		images = append(images, ranked{score, dice})
	}
	if len(all) == 0 {
		return nil
	}
	out.All, out.NotDoubted, out.Kept = interval(all), interval(kept), part{len(kept), float64(len(kept)) / float64(len(all))}
	if out.Unknown == 0 {
		out.Curve = curve(images)
		sum := 0.
		for _, p := range out.Curve {
			sum += p.Dice
		}
		out.Area = new(sum / float64(len(out.Curve)))
	}
	return &out
}

// curve is the mean soft Dice of the first, the first two … images in the order of their scores.
// Images of equal scores may come in any order: each counts as their mean.
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
	t.title("Soft Dice ×100 where doubted images are left out; mean over the marked structures")
	t.line("all images\t%s", plain(*r.All, 100, 2))
	if r.NotDoubted != nil {
		t.line("those not doubted, %v\t%s", r.Kept, plain(*r.NotDoubted, 100, 2))
	} else {
		t.line("those not doubted\t–")
	}
	if r.Area != nil {
		t.line("area under the risk–coverage curve\t%.2f", 100**r.Area)
	} else {
		t.line("area under the risk–coverage curve\t–\tthe weights cannot tell how odd a result is (%d have no score)", r.Unknown)
	}
}

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

// fewDots is up to how many points the curve marks each.
const fewDots = 60
