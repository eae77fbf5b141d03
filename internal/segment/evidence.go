package segment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/internal/files/raster"
	"mrprism/internal/trust"
	"mrprism/weights"
)

// calibrate turns the probabilities of masks into shares of raters, in place, if the weights have
// maps for that.
func (e *Engine) calibrate(masks [][]float32) {
	if e.about.Trust == nil {
		return
	}
	k := len(e.about.Classes)
	for c, class := range e.about.Classes {
		curve, ok := e.about.Trust.Maps[class]
		if !ok {
			continue
		}
		for _, maps := range masks {
			for i := c; i < len(maps); i += k {
				maps[i] = trust.At(curve, maps[i])
			}
		}
	}
	for _, maps := range masks {
		e.network.Nest(maps, k)
	}
}

// found says whether the masks have the anchor, or any structure where each may stand alone.
func (e *Engine) found(structures []Structure) bool {
	return slices.ContainsFunc(structures, func(s Structure) bool {
		return s.Area > 0 && (s.Class == e.about.Classes[e.anchor()] || e.separate())
	})
}

// doubts are Result.Doubt and Result.Doubts. Of a doubted result they say that the file shows a
// part of its values, if it does.
func (e *Engine) doubts(found bool, figures trust.Figures, looks map[string][]float32, cut raster.Span) (score *float64, doubts []Doubt) {
	what := e.about.Classes[e.anchor()]
	doubts = []Doubt{}
	if !found {
		doubts = append(doubts, Doubt{trust.NotFound, trust.Sentence(trust.NotFound, what)})
	}
	if known := e.about.Trust; known != nil && len(known.Evidence) > 0 {
		doubt, codes := trust.Judge(known, figures, looks)
		if !found {
			doubt = max(doubt, 1)
		}
		score = &doubt
		for _, code := range codes {
			doubts = append(doubts, Doubt{code, trust.Sentence(code, what)})
		}
	}
	if len(doubts) > 0 && cut.Low < cut.High {
		text := fmt.Sprintf("The file shows only its values from %.4g to %.4g; with a wider range the picture may look otherwise.", cut.Low, cut.High)
		doubts = append(doubts, Doubt{trust.Range, text})
	}
	return score, doubts
}

// trusted are measurements that say of each structure and ratio how far to trust it.
func (e *Engine) trusted(m Measurements, r *Result) Measurements {
	known := e.about.Trust
	decide := trust.Case{Anchor: r.Classes[e.anchor()], Doubt: r.Doubt, Look: r.Photograph, Fault: r.Quality.first()}
	if len(r.Doubts) > 0 {
		decide.Reason = r.Doubts[0].Text
	}
	m.Structures = slices.Clone(m.Structures)
	for i := range m.Structures {
		s := &m.Structures[i]
		decide.Class, decide.Found = s.Class, s.Area > 0
		if e.separate() {
			decide.Anchor = s.Class
		}
		s.Trust = new(trust.Of(known, decide))
	}
	outer, inner := metric.DiscAndCup(r.Classes)
	for _, ratio := range []**Ratio{&m.VerticalRatio, &m.HorizontalRatio} {
		if *ratio != nil {
			*ratio = new(**ratio)
			(*ratio).Trust = new(trust.OfRatio(known, *m.Structures[outer].Trust, *m.Structures[inner].Trust, r.Figures[trust.Mirror]))
		}
	}
	return m
}

// anchor is the structure that the search looks for, or the first one.
func (e *Engine) anchor() int { return max(0, slices.Index(e.about.Classes, e.about.Anchor)) }

// separate says whether an image may show each structure without the others.
func (e *Engine) separate() bool { return e.about.Anchor == "" && e.network.Independent }

// figures are those of a place and of its mask (S, S, K), beside the ones that are known.
// trust.Fit learns from them: the mask is not calibrated.
func (e *Engine) figures(p *place, mask []float32, known trust.Figures) trust.Figures {
	f := trust.Figures{}
	maps.Copy(f, known)
	k, side, anchor := len(e.about.Classes), e.about.Side, e.anchor()
	s := shapeOf(channel(mask, anchor, k), side)
	f[trust.Quality] = p.detail
	if s.area == 0 { // calibrate may still make it larger
		if !e.separate() {
			f[trust.Faint] = 0 // the largest value
		}
		return f
	}
	f[trust.Faint], f[trust.Blurred] = -s.mean, s.blur
	f[trust.Shape] = s.stretch + s.gap
	if e.about.Anchor != "" {
		f[trust.Spot] = spot(p.image, p.square, side, s)
	}
	pixel := float64(p.square.Side) / float64(side)
	if len(p.candidates) > 0 || e.about.Anchor == "" {
		f[trust.Size] = ln(math.Sqrt(s.area) * pixel / float64(p.field.Side))
	}
	if len(p.candidates) > 0 {
		first := p.candidates[0]
		f[trust.Several] = 0
		for _, other := range p.candidates[1:] {
			f[trust.Several] = max(f[trust.Several], other.Mass/first.Mass)
		}
		x, y := float64(p.square.X)+s.x*pixel, float64(p.square.Y)+s.y*pixel
		area := s.area * pixel * pixel
		moved := hypot(x-first.X, y-first.Y)/math.Sqrt(area/math.Pi) + math.Abs(ln(area/first.Area))
		f[trust.Unstable] += moved
		if p.even { // the photograph as it is shows another place, or none
			f[trust.Unstable] += elsewhere
		}
	}
	if anchor+1 < k && !e.network.Independent {
		inner := shapeOf(channel(mask, anchor+1, k), side)
		f[trust.Inner] = math.Sqrt(inner.area/s.area) + hypot(inner.x-s.x, inner.y-s.y)/math.Sqrt(s.area)
		if inner.area == 0 {
			f[trust.Inner] = 0
		}
	}
	return f
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
	return ln((change + 1e-3*float64(s)) / (sum + 1e-3*float64(s)))
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
	return ln(laplacian(red, s)) - ln(laplacian(coarse, half))/2
}

// laplacian is the root mean square, in the circle of sharpness, of pixels (S, S) less the mean of
// their four neighbours, and a ten-thousandth.
func laplacian(p []float32, s int) float64 {
	sum, n := 0., 0.
	for i, v := range p {
		x, y := i%s, i/s
		if hypot(float64(x)+.5-float64(s)/2, float64(y)+.5-float64(s)/2) > .42*float64(s) {
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
	s.stretch = .5 * ln((half+spread)/max(1e-3, half-spread))
	s.gap = ln(4 * math.Pi * math.Sqrt(determinant) / n)
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

// intervals adds to trusted measurements the intervals and outlines that the weights know, and
// returns Maps.margins. uncalibrated holds the measurements before calibration. The interval is
// their range, widened. It is nil when rater weights differ; then there is no interval. The figure
// that is shown comes after calibration and may lie outside: its interval then reaches to it. A
// figure that is not trusted has no interval, or a wider one (trust.Widened). A figure without an
// interval says why.
func (e *Engine) intervals(m Measurements, uncalibrated *Measurements, r *Result) (Measurements, map[int]float64) {
	known, margins := cmp.Or(e.about.Trust, &weights.Trust{}), map[int]float64{}
	widened := make([]float64, len(m.Structures)) // 0: withheld
	m.Structures = slices.Clone(m.Structures)
	withheld := func(learned, before bool, of ...int) string {
		switch withheld := slices.IndexFunc(of, func(i int) bool { return widened[i] == 0 }); {
		case !learned:
			return "These weights have learned no interval."
		case uncalibrated == nil:
			return "An interval is known only without marks and with equal weights."
		case withheld >= 0:
			return m.Structures[of[withheld]].Trust.Reason
		case !before:
			return "The masks that an interval is learned from are empty here."
		}
		return ""
	}
	for i := range m.Structures {
		s := &m.Structures[i]
		widened[i] = trust.Widened(known, s.Class, r.Photograph, *s.Trust)
		if spread, ok := known.Outlines[s.Class]; ok && s.Area > 0 && r.radius(i) > 0 {
			s.Outlines = &Outlines{Withheld: s.Trust.Reason}
			switch {
			case uncalibrated == nil:
				s.Outlines.Withheld = "An inner and an outer outline are known only without marks and with equal weights."
			case widened[i] > 0:
				margins[i] = min(spread.High*widened[i], weights.MostReach)
				s.Outlines = &Outlines{Margin: r.pixels(i, margins[i]), Coverage: spread.Coverage}
			}
		}
		if s.Area == 0 {
			continue
		}
		spread, ok := known.Areas[s.Class]
		if s.Withheld = withheld(ok, uncalibrated != nil && uncalibrated.Structures[i].Area > 0, i); s.Withheld == "" {
			low, high := uncalibrated.Structures[i].Experts()
			times := widened[i] * trust.Difficulty(spread, r.Figures)
			within := func(area int, by float64) float64 {
				return min(float64(r.Width)*float64(r.Height), float64(area)*math.Exp2(math.Log2E*min(times*by, far)))
			}
			s.Interval = around(float64(s.Area), within(low, spread.Low), within(high, spread.High), spread.Coverage)
		}
	}
	if ratio := m.VerticalRatio; ratio != nil && ratio.Value != nil {
		disc, cup := metric.DiscAndCup(r.Classes)
		ratio, before := new(*ratio), uncalibrated != nil && uncalibrated.VerticalRatio != nil && uncalibrated.VerticalRatio.Value != nil
		m.VerticalRatio = ratio
		if ratio.Withheld = withheld(known.Ratio != nil, before, disc, cup); ratio.Withheld == "" {
			low, high := uncalibrated.VerticalRatio.Experts()
			times := max(widened[disc], widened[cup]) * trust.Difficulty(*known.Ratio, r.Figures)
			ratio.Interval = around(*ratio.Value, max(0, low+times*known.Ratio.Low), min(1, high+times*known.Ratio.High), known.Ratio.Coverage)
		}
	}
	return m, margins
}

// around is an interval that holds the value too. It holds what it was learned to hold at least as
// often as without.
func around(value, low, high, coverage float64) *Interval {
	return &Interval{Low: min(value, low), High: max(value, high), Coverage: coverage}
}

// knowsErrors says whether the weights have intervals of measurements, or outlines.
func (e *Engine) knowsErrors() bool {
	t := e.about.Trust
	return e.about.Certificate != nil || t != nil && (len(t.Areas) > 0 || len(t.Outlines) > 0 || t.Ratio != nil)
}

// equal says whether all rater weights are equal.
func equal(weights []float32) bool {
	return len(weights) == 0 || slices.Min(weights) == slices.Max(weights)
}

// math.Log and Hypot are assembly on amd64. These have the same bits there as in WebAssembly.
func ln(x float64) float64       { return math.Log1p(x - 1) }
func hypot(x, y float64) float64 { return math.Sqrt(float64(x*x) + float64(y*y)) }
