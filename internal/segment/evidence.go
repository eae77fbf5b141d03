package segment

import (
	"fmt"
	"math"
	"slices"

	"mrprism/internal/trust"
)

// calibrate turns probabilities into shares of raters, if the weights have maps for that.
func (e *Engine) calibrate(r *Result) {
	if e.about.Trust == nil {
		return
	}
	k := len(r.Classes)
	for c, class := range r.Classes {
		curve, ok := e.about.Trust.Maps[class]
		if !ok {
			continue
		}
		for _, maps := range r.masks {
			for i := c; i < len(maps); i += k {
				maps[i] = trust.At(curve, maps[i])
			}
		}
	}
	for _, maps := range r.masks {
		e.network.Nest(maps, k)
	}
}

// judge sets Found, Doubt and Doubts.
func (e *Engine) judge(r *Result) {
	what := r.Classes[e.anchor()]
	r.Found = slices.ContainsFunc(r.Measurements.Structures, func(s Structure) bool { return s.Area > 0 && (s.Class == what || e.separate()) })
	r.Doubts = []Doubt{}
	if !r.Found {
		r.Doubts = append(r.Doubts, Doubt{trust.NotFound, trust.Sentence(trust.NotFound, what)})
		clear(r.Figures) // they describe nothing
	}
	known := e.about.Trust
	if known == nil || len(known.Evidence) == 0 {
		return
	}
	score, codes := trust.Judge(known, r.Figures, r.Looks)
	if !r.Found {
		score = max(score, 1)
	}
	r.Doubt = &score
	for _, code := range codes {
		r.Doubts = append(r.Doubts, Doubt{code, trust.Sentence(code, what)})
	}
}

// trust says of each structure and ratio how far to trust it. It must run after judge.
func (e *Engine) trust(r *Result) {
	known, m := e.about.Trust, &r.Measurements
	decide := trust.Case{Anchor: r.Classes[e.anchor()], Doubt: r.Doubt, Look: r.Photograph, Sharpness: r.Sharpness}
	if len(r.Doubts) > 0 {
		decide.Reason = r.Doubts[0].Text
	}
	for i := range m.Structures {
		s := &m.Structures[i]
		decide.Class, decide.Found = s.Class, s.Area > 0
		if e.separate() {
			decide.Anchor = s.Class
		}
		s.Trust = new(trust.Of(known, decide))
	}
	outer, inner := DiscAndCup(r.Classes)
	for _, ratio := range []*Ratio{m.VerticalRatio, m.HorizontalRatio} {
		if ratio != nil {
			ratio.Trust = new(trust.OfRatio(known, *m.Structures[outer].Trust, *m.Structures[inner].Trust, r.Figures[trust.Mirror]))
		}
	}
}

// nameRange says of a doubted result that the file shows a part of its values, if it does.
func (r *Result) nameRange() {
	if cut := r.Picture.Cut; len(r.Doubts) > 0 && cut.Low < cut.High {
		text := fmt.Sprintf("The file shows only its values from %.4g to %.4g; with a wider range the picture may look otherwise.", cut.Low, cut.High)
		r.Doubts = append(r.Doubts, Doubt{trust.Range, text})
	}
}

// anchor is the structure that the search looks for, or the first one.
func (e *Engine) anchor() int { return max(0, slices.Index(e.about.Classes, e.about.Anchor)) }

// separate says whether an image may show each structure without the others.
func (e *Engine) separate() bool { return e.about.Anchor == "" && e.network.Independent }

// figures computes the figures of the view and of the maps. trust.Fit learns from them: it must run
// before calibrate.
func (e *Engine) figures(r *Result) {
	v, f := e.view, r.Figures
	k, anchor := len(r.Classes), e.anchor()
	whole := r.masks[len(r.masks)-1]
	if e.settles {
		whole = r.masks[0] // what the image says, and no mark
	}
	last := channel(whole, anchor, k)
	s := shapeOf(last, r.side)
	f[trust.Quality] = v.detail
	if s.area == 0 { // calibrate may still make it larger
		if !e.separate() {
			f[trust.Faint] = 0 // the largest value
		}
		return
	}
	f[trust.Faint], f[trust.Blurred] = -s.mean, s.blur
	f[trust.Shape] = s.stretch + s.gap
	pixel := float64(v.square.Side) / float64(r.side)
	if len(v.places) > 0 || e.about.Anchor == "" {
		f[trust.Size] = math.Log(math.Sqrt(s.area) * pixel / float64(v.field.Side))
	}
	if len(v.places) > 0 {
		first := v.places[0]
		f[trust.Several] = 0
		for _, other := range v.places[1:] {
			f[trust.Several] = max(f[trust.Several], other.Mass/first.Mass)
		}
		x, y := float64(v.square.X)+s.x*pixel, float64(v.square.Y)+s.y*pixel
		area := s.area * pixel * pixel
		moved := math.Hypot(x-first.X, y-first.Y)/math.Sqrt(area/math.Pi) + math.Abs(math.Log(area/first.Area))
		f[trust.Unstable] += moved
		if v.even { // the photograph as it is shows another place, or none
			f[trust.Unstable] += elsewhere
		}
	}
	if anchor+1 < k && !e.network.Independent {
		inner := shapeOf(channel(whole, anchor+1, k), r.side)
		f[trust.Inner] = math.Sqrt(inner.area/s.area) + math.Hypot(inner.x-s.x, inner.y-s.y)/math.Sqrt(s.area)
		if inner.area == 0 {
			f[trust.Inner] = 0
		}
	}
}

// detail compares two sums over pixels (S, S, 3): it is the logarithm of the change of lightness
// between neighbours over the lightness.
func detail(x []float32, s int) float64 {
	light := func(i int) float64 { return float64(x[3*i]+x[3*i+1]+x[3*i+2]) / 3 }
	sum, change := 0., 0.
	for i := range s * s {
		sum += light(i)
		if i%s > 0 && i >= s {
			change += math.Abs(light(i)-light(i-1)) + math.Abs(light(i)-light(i-s))
		}
	}
	return math.Log((change + 1e-3*float64(s)) / (sum + 1e-3*float64(s)))
}

// sharpness compares fine with coarse detail in the red of pixels (S, S, 3), 0 to 1: it is the
// logarithm of the root mean square of the Laplacian, less half of that in pixels twice as large.
// It looks at the middle, in a circle of 0.42 of the side: the border of a photograph's field is no
// detail.
func sharpness(x []float32, s int) float64 {
	red := channel(x, 0, 3)
	half := s / 2
	coarse := make([]float32, half*half)
	for i := range coarse {
		at := 2*(i/half)*s + 2*(i%half)
		coarse[i] = (red[at] + red[at+1] + red[at+s] + red[at+s+1]) / 4
	}
	return math.Log(laplacian(red, s)) - math.Log(laplacian(coarse, half))/2
}

// laplacian is the root mean square, in the circle of sharpness, of pixels (S, S) less the mean of
// their four neighbours, and a ten-thousandth.
func laplacian(p []float32, s int) float64 {
	sum, n := 0., 0.
	for i, v := range p {
		x, y := i%s, i/s
		if math.Hypot(float64(x)+.5-float64(s)/2, float64(y)+.5-float64(s)/2) > .42*float64(s) {
			continue
		}
		d := float64(v) - (float64(p[i-1])+float64(p[i+1])+float64(p[i-s])+float64(p[i+s]))/4
		sum, n = sum+d*d, n+1
	}
	return math.Sqrt(sum/n) + 1e-4
}

// shape describes the pixels of a map (S, S) above one half.
type shape struct {
	area, x, y float64 // pixels
	mean       float64 // probability
	blur       float64 // the sum of 4p(1 − p) over the outline of a circle of the mask's area, pixels
	stretch    float64 // logarithm of the longer over the shorter axis
	gap        float64 // logarithm of the area of an ellipse with the mask's moments over its area
}

func shapeOf(p []float32, side int) (s shape) {
	var xx, yy, xy, unsure float64
	for i, v := range p {
		unsure += 4 * float64(v) * (1 - float64(v))
		if v <= .5 {
			continue
		}
		x, y := float64(i%side)+.5, float64(i/side)+.5
		s.area++
		s.mean += float64(v)
		s.x, s.y = s.x+x, s.y+y
		xx, yy, xy = xx+x*x, yy+y*y, xy+x*y
	}
	if s.area == 0 {
		return shape{}
	}
	n := s.area
	s.mean, s.x, s.y = s.mean/n, s.x/n, s.y/n
	xx, yy, xy = xx/n-s.x*s.x+1./12, yy/n-s.y*s.y+1./12, xy/n-s.x*s.y
	determinant, half := max(1e-6, xx*yy-xy*xy), (xx+yy)/2
	spread := math.Sqrt(max(0, half*half-determinant))
	s.stretch = .5 * math.Log((half+spread)/max(1e-3, half-spread))
	s.gap = math.Log(4 * math.Pi * math.Sqrt(determinant) / n)
	s.blur = unsure / (2 * math.Sqrt(math.Pi*n))
	return s
}

// apart is 1 less the soft overlap of two maps (Dice of sums of minima), and 0 if both are nearly
// empty.
func apart(a, b []float32) float64 {
	both, all := 0., 0.
	for i := range a {
		both += float64(min(a[i], b[i]))
		all += float64(a[i]) + float64(b[i])
	}
	if all < 1 {
		return 0
	}
	return 1 - 2*both/all
}

// elsewhere counts as trust.Unstable where the search found the place in even light alone.
const elsewhere = 2.75

// far is above the logarithm of any ratio of areas, and its exponential is finite.
const far = 100

// intervals adds to the measurements the intervals that the weights know. An interval is a range of
// own, widened. own are the measurements before calibrate, with equal rater weights. The figure
// that is shown comes after calibrate and may lie outside: its interval then reaches to it.
func (e *Engine) intervals(r *Result, own *Measurements) {
	known := e.about.Trust
	whole := float64(r.Width) * float64(r.Height)
	for i := range r.Measurements.Structures {
		s, before := &r.Measurements.Structures[i], &own.Structures[i]
		if spread, ok := known.Areas[s.Class]; ok && s.Area > 0 && before.Area > 0 {
			within := func(area int, by float64) float64 { return min(whole, float64(area)*math.Exp(min(by, far))) }
			low, high := before.Experts()
			s.Interval = around(float64(s.Area), within(low, spread.Low), within(high, spread.High), spread.Coverage)
		}
	}
	ratio, before, spread := r.Measurements.VerticalRatio, own.VerticalRatio, known.Ratio
	if spread != nil && ratio != nil && ratio.Value != nil && before != nil && before.Value != nil {
		low, high := before.Experts()
		ratio.Interval = around(*ratio.Value, max(0, low+spread.Low), min(1, high+spread.High), spread.Coverage)
	}
}

// around is an interval that holds the value too. It holds what it was learned to hold at least as
// often as without.
func around(value, low, high, coverage float64) *Interval {
	return &Interval{Low: min(value, low), High: max(value, high), Coverage: coverage}
}

// knowsErrors says whether the weights have intervals of measurements.
func (e *Engine) knowsErrors() bool {
	return e.about.Trust != nil && (len(e.about.Trust.Areas) > 0 || e.about.Trust.Ratio != nil)
}

// equal says whether all rater weights are equal.
func equal(weights []float32) bool {
	return len(weights) == 0 || slices.Min(weights) == slices.Max(weights)
}
