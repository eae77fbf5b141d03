package segment

import (
	"cmp"
	"fmt"
	"math"

	"mrprism/internal/trust"
	"mrprism/weights"
)

// Certified is what a ratio has of the certificate of its model.
type Certified struct {
	Camera string  `json:"camera"`
	Date   string  `json:"date"`
	Eyes   int     `json:"eyes"`
	Masks  float64 `json:"masks"` // the ratio of the model's masks, before shift and slope
	// Drift is a sentence where the photographs that the engine saw last differ from those of the
	// certificate.
	Drift string `json:"drift,omitempty"`
}

// camera is what the photographs tell of the camera.
type camera struct {
	appearance []float64
	drifted    string // as trust.Drift has it
}

// watch keeps the figures of a photograph. Once there are enough of them, they are compared with
// those of the certificate, and the next window begins.
func (e *Engine) watch(appearance []float64) camera {
	if c := e.about.Certificate; c != nil && len(c.Photographs) > 0 && len(c.Photographs[0]) == len(appearance) {
		if e.watched = append(e.watched, appearance); len(e.watched) == trust.Window {
			e.drifted, e.watched = trust.Drift(c.Photographs, e.watched), nil
		}
	}
	return camera{appearance, e.drifted}
}

// appearance is what trust.Appearances names, of pixels (S, S, 3) from 0 to 1. All but the last two
// are logarithms: of the red, of red over green and of green over blue, and of the deviation of the
// green over its mean.
func appearance(x []float32, detail, sharpness float64) []float64 {
	var mean [3]float64
	square, n := 0., float64(len(x)/3)
	for i, v := range x {
		mean[i%3] += float64(v) / n
		if i%3 == 1 {
			square += float64(v) * float64(v) / n
		}
	}
	log := func(v float64) float64 { return math.Log(max(v, 1e-3)) }
	red, green := log(mean[0]), log(mean[1])
	return []float64{red, red - green, green - log(mean[2]), log(math.Sqrt(max(0, square-mean[1]*mean[1]))) - green, sharpness, detail}
}

// certify gives the ratio of a result what the certificate of the weights knows. Without
// uncalibrated marks or unequal weights of raters made other masks than the certificate speaks of.
func (e *Engine) certify(r *Result, uncalibrated *Measurements, by camera) {
	c, ratio := e.about.Certificate, r.Measurements.VerticalRatio
	if c == nil || uncalibrated == nil || ratio == nil || ratio.Value == nil || uncalibrated.VerticalRatio == nil || uncalibrated.VerticalRatio.Value == nil {
		return
	}
	out := *uncalibrated.VerticalRatio
	low, high := trust.Interval(c, *out.Value)
	out.Interval = &Interval{Low: low, High: high, Coverage: c.Coverage, By: ByCertificate}
	out.Certified = &Certified{Camera: c.Camera, Date: c.Date, Eyes: c.Eyes, Masks: *ratio.Value}
	for _, v := range []**float64{&out.Value, &out.Low, &out.High} {
		if *v != nil {
			*v = new(c.At(**v))
		}
	}
	if by.drifted != "" {
		out.Certified.Drift = fmt.Sprintf("The last %d photographs are unlike those of the certificate, most in %s: mark twelve eyes of this camera anew.", trust.Window, by.drifted)
	}
	r.Measurements.VerticalRatio = &out
	if out.Trust = new(e.certifiedTrust(c, by, r)); out.Trust.Word == trust.DoNotUse {
		out.Interval, out.Withheld = nil, out.Trust.Reason
	}
}

// certifiedTrust is how far to trust a certified ratio. The certificate stands for what the weights
// know of cameras, and, where no fold taught them to doubt, for what folds teach: the model has not
// seen its eyes.
func (e *Engine) certifiedTrust(c *weights.Certificate, by camera, r *Result) trust.Verdict {
	inner := trust.Case{Class: r.Measurements.VerticalRatio.Inner, Anchor: r.Classes[e.anchor()], Found: true, Doubt: cmp.Or(r.Doubt, new(0.)), Look: r.Photograph, Fault: r.Quality.first()}
	if len(r.Doubts) > 0 {
		inner.Reason = r.Doubts[0].Text
	}
	v := trust.Of(&weights.Trust{FoldsOf: trust.FoldsToDoubtBy}, inner)
	v = trust.OfRatio(e.about.Trust, v, v, r.Figures[trust.Mirror])
	check := func(when bool, format string, args ...any) {
		if when {
			v = v.Worse(trust.Verdict{Word: trust.Check, Reason: fmt.Sprintf(format, args...)})
		}
	}
	unlike := trust.Unlike(c.Photographs, by.appearance)
	check(unlike != "", "This photograph is unlike those of the certificate, most in %s.", unlike)
	check(by.drifted != "", "%s", r.Measurements.VerticalRatio.Certified.Drift)
	check(c.Reach > trust.Narrow, "The ratio of this camera is certified to ±%.2f alone.", c.Reach)
	return v
}
