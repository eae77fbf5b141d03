package fusion

import (
	"image"
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
)

// Edges is the mean of the marks' signed distances (shape-based averaging, Rohlfing and Maurer,
// IEEE TITB 2007), where the image says how much a mark counts. Raters may change from image to
// image. With d_m the signed distance to mark m, positive inside:
//
//	d(x) = Σ λ_m e_m(x) d_m(x) / Σ λ_m e_m(x),   inside where d > b
//
// The trust λ_m is 0 for a mark whose Dice with the trusted marks lies more than three deviations
// below the median mark's: it is thrown out. All others have 1.
//
// The edge e_m(x) is the mean steepness of the image around x on the mark's own line, which is
// lineOffset pixels within the mark. A line beside every edge counts less, and far from its line a
// mark counts as if along a faint edge. Steepness is the length of the gradient of the grey image
// after a Gaussian blur of 1 pixel, in deviations of the grey a pixel. Pixels are those of images
// scaled to 256 a side at most.
//
// b leaves as many pixels inside as the majority has. Neither marks nor edges say whether all people
// draw too wide: experts draw 1.4 to 2 pixels outside the steepest place, by the kind of image.
//
// Learn leaves out one rater after another, and compares the left-out mark with what Edges and the
// majority make of the others. Where Edges is not shown to be nearer, Fuse is the majority.
type Edges struct {
	gains []gain
	// Gain is the mean Dice with left-out marks less the majority's, over groups of images.
	// nil before Learn, and without an image that three raters marked.
	Gain *metric.Interval
}

// gain is that of an image.
type gain struct {
	statistics.Unit
	dice float64
}

const (
	lineOffset        = 1.75 // pixels from a mark's outline inward to where the image is looked at
	outlierDeviations = 3.   // deviations at which a mark is thrown out
	windowDeviation   = 4.   // pixels: deviation of the Gaussian window of e_m
	leastDeviation    = .03  // Dice: the deviation of marks that all agree
	learning          = 256  // longest side of an image where raters are learned, in pixels
)

// outlined is an image as Edges sees it: the box around all marks, by the raters who marked.
type outlined struct {
	box          image.Rectangle
	width, small int       // of the box, in pixels of the image and scaled down
	step         int       // by which the image is scaled down
	area         int       // of the majority
	most         float64   // distance, scaled down
	marks        [][]uint8 // (H·W)
	patterns     []pattern
	distances    [][]float32 // (h·w) scaled down
	edges        [][]float64 // (h·w) e
}

// Add compares Edges with the majority on an image (H, W, 3) of a unit. It needs three marks.
func (e *Edges) Add(marks [][]uint8, rgb []uint8, width int, unit statistics.Unit) {
	o := outline(marks, rgb, width)
	if o == nil || len(o.marks) < 3 {
		return
	}
	n, gained := len(o.distances[0]), 0.
	small, votes, middle := make([][]uint8, len(o.marks)), make([]int, n), make([]float64, n)
	for m, d := range o.distances {
		small[m] = Thinned(o.marks[m], o.width, o.step)
		for i, v := range small[m] {
			votes[i], middle[i] = votes[i]+int(v), middle[i]+float64(d[i])
		}
	}
	for m, mark := range small {
		area, marked, both := 0, 0, 0
		for i, v := range mark {
			marked += int(v)
			// the majority of the others; the mean outline decides a tie, which all do not have
			lead := 2*(votes[i]-int(v)) - (len(small) - 1)
			if lead > 0 || lead == 0 && middle[i] > float64(o.distances[m][i]) {
				area, both = area+1, both-int(v)
			}
		}
		if area == 0 {
			continue
		}
		d, _ := o.mean(o.distances, o.trust(m), 1)
		b := level(d, area)
		for i, v := range mark {
			if d[i] > b {
				both += int(v)
			}
		}
		gained += 2 * float64(both) / float64(area+marked)
	}
	e.gains = append(e.gains, gain{unit, gained / float64(len(small))})
}

// Learn decides from the images that were added.
func (e *Edges) Learn() {
	e.Gain = statistics.MeanOver(e.gains, func(g gain) float64 { return g.dice })
}

// Helps says whether Edges is shown to be nearer to left-out marks than the majority is: the
// interval, of metric.Fewest groups or more, lies above 0.
func (e *Edges) Helps() bool {
	return e.Gain != nil && e.Gain.N >= metric.Fewest && *e.Gain.Low > 0
}

// Fuse fuses the marks of an image (H, W, 3), width pixels wide. Weights in the Fit are shares of
// the raters' weight on the fused outline. The result is the majority if it marks no pixel, or every
// pixel, and without Helps.
func (e *Edges) Fuse(marks [][]uint8, rgb []uint8, width int) *Fit {
	var o *outlined
	if e.Helps() {
		o = outline(marks, rgb, width)
	}
	if o == nil {
		fit := Majority(marks)
		fit.Weights = shares(marks, slices.Repeat([]float64{1}, len(marks)))
		return fit
	}
	distances, trust := o.distances, o.trust(-1)
	if o.step > 1 {
		distances = measure(o.marks, o.width, o.most*float64(o.step))
	}
	d, all := o.mean(distances, trust, o.step)
	b := level(d, o.area)
	_, n := Present(marks)
	fit := &Fit{Map: make([]float64, n), Converged: true}
	weights := make([]float64, len(o.marks))
	for i, v := range d {
		if v > b {
			fit.Map[(o.box.Min.Y+i/o.width)*width+o.box.Min.X+i%o.width] = 1
		}
		if math.Abs(v-b) < float64(o.step) {
			for m, e := range o.edges {
				weights[m] += trust[m] * e[o.under(i, o.step)] / all[i]
			}
		}
	}
	fit.Weights = shares(marks, weights)
	fit.Raters = RatesOf(marks, fit.Map)
	return fit
}

// level is a value that so many values lie above.
func level(d []float64, above int) float64 {
	sorted := append([]float64{math.Inf(-1)}, d...)
	slices.Sort(sorted)
	return sorted[len(d)-above]
}

// shares are the weights of those who marked as shares of their sum; NaN without a mark.
func shares(marks [][]uint8, weights []float64) []float64 {
	all, sum, next := make([]float64, len(marks)), 0., 0
	for m, mark := range marks {
		if all[m] = math.NaN(); mark != nil {
			all[m] = weights[next]
			sum, next = sum+all[m], next+1
		}
	}
	for m := range all {
		all[m] /= sum
	}
	return all
}

// outline is nil if the majority has no outline.
func outline(marks [][]uint8, rgb []uint8, width int) *outlined {
	given, n := Present(marks)
	o := &outlined{step: StepOf(width, n/width)}
	for i := range n {
		votes := 0
		for _, mark := range given {
			votes += int(mark[i])
		}
		if 2*votes > len(given) {
			o.area++
		}
		if x, y := i%width, i/width; votes > 0 { // with a pixel around: the whole outline of each mark
			o.box = o.box.Union(image.Rect(x-1, y-1, x+2, y+2))
		}
	}
	if o.area == 0 || o.area == n {
		return nil
	}
	o.box = o.box.Intersect(image.Rect(0, 0, width, n/width))
	o.box.Min = o.box.Min.Div(o.step).Mul(o.step)
	end := image.Pt(o.step-1, o.step-1)
	few := image.Rectangle{Min: o.box.Min.Div(o.step), Max: o.box.Max.Add(end).Div(o.step)}
	o.width, o.small, o.most = o.box.Dx(), few.Dx(), math.Sqrt(float64(o.area)/math.Pi)/float64(o.step)
	small := make([][]uint8, len(given))
	for m, mark := range given {
		o.marks = append(o.marks, crop(mark, width, o.box))
		small[m] = Thinned(o.marks[m], o.width, o.step)
	}
	_, o.patterns = patterns(o.marks, len(o.marks[0]))
	o.distances, o.edges = measure(small, o.small, o.most), make([][]float64, len(given))
	steep := crop(steepness(rgb, width, o.step), (width+o.step-1)/o.step, few)
	InParallel(len(given), func(m int) { o.edges[m] = edge(o.distances[m], steep, o.small) })
	return o
}

func crop[T any](values []T, width int, box image.Rectangle) (inside []T) {
	for y := box.Min.Y; y < box.Max.Y; y++ {
		inside = append(inside, values[y*width+box.Min.X:y*width+box.Max.X]...)
	}
	return inside
}

func measure(marks [][]uint8, width int, most float64) [][]float32 {
	all := make([][]float32, len(marks))
	InParallel(len(marks), func(m int) { all[m] = metric.Signed(marks[m], width, most) })
	return all
}

// edge is e (h·w) of a mark with these distances, where the image is so steep.
func edge(distances []float32, steepness []float64, width int) []float64 {
	steep, line := make([]float64, len(distances)), make([]float64, len(distances))
	for i, d := range distances {
		if math.Abs(float64(d)-lineOffset) < 1 {
			steep[i], line[i] = steepness[i], 1
		}
	}
	steep, line = blurred(steep, width, windowDeviation), blurred(line, width, windowDeviation)
	for i := range steep {
		steep[i] = (steep[i] + 1e-4) / (line[i] + 1e-3)
	}
	return steep
}

// mean is d in a picture whose pixels are step times as small as those of e, and the weights' sum.
func (o *outlined) mean(distances [][]float32, trust []float64, step int) (mean, all []float64) {
	mean, all = make([]float64, len(distances[0])), make([]float64, len(distances[0]))
	for m, d := range distances {
		for i, v := range d {
			w := trust[m] * o.edges[m][o.under(i, step)]
			mean[i], all[i] = mean[i]+w*float64(v), all[i]+w
		}
	}
	for i := range mean {
		mean[i] /= all[i]
	}
	return mean, all
}

// under is the pixel of e at pixel i of a picture whose pixels are step times as small.
func (o *outlined) under(i, step int) int {
	if step == 1 {
		return i
	}
	return i/o.width/step*o.small + i%o.width/step
}

// trust returns λ by rater, 0 for the one who is left out. It begins with the mean vote.
func (o *outlined) trust(without int) []float64 {
	trust, dice := make([]float64, len(o.marks)), make([]float64, len(o.marks))
	for m := range trust {
		if trust[m] = 1; m == without {
			trust[m] = 0
		}
	}
	for range 5 {
		all, counts := 0., make([]Counts, len(trust))
		for _, t := range trust {
			all += t
		}
		for _, p := range o.patterns {
			fused := 0.
			for m, v := range p.marks {
				fused += trust[m] * float64(v)
			}
			for m, v := range p.marks {
				marked := p.pixels * float64(v)
				counts[m].Add(Counts{Inside: fused * p.pixels, Marked: marked, Both: fused * marked})
			}
		}
		var present, off []float64
		for m, c := range counts {
			if dice[m] = 2 * c.Both / (c.Inside + c.Marked*all); m != without {
				present = append(present, dice[m])
			}
		}
		middle := metric.Median(present)
		for _, d := range present {
			off = append(off, math.Abs(d-middle))
		}
		for m := range trust {
			z := max(0, middle-dice[m]) / (1.4826*metric.Median(off) + leastDeviation)
			if trust[m] = 1; z > outlierDeviations || m == without {
				trust[m] = 0
			}
		}
	}
	return trust
}

// steepness is that of an image scaled down by step (h·w).
func steepness(rgb []uint8, width, step int) []float64 {
	values, mean, square := make([]float64, len(rgb)/3), 0., 0.
	for i := range values {
		v := float64(int(rgb[3*i]) + int(rgb[3*i+1]) + int(rgb[3*i+2]))
		values[i], mean, square = v, mean+v/float64(len(values)), square+v*v/float64(len(values))
	}
	deviation := math.Sqrt(max(0, square-mean*mean)) + 1e-3
	values = Thinned(blurred(values, width, float64(step)), width, step)
	width = (width + step - 1) / step
	steep, height := make([]float64, len(values)), len(values)/width
	for i := range steep {
		x, y := i%width, i/width
		dx := values[i-x+min(x+1, width-1)] - values[i-x+max(x-1, 0)]
		dy := values[min(y+1, height-1)*width+x] - values[max(y-1, 0)*width+x]
		steep[i] = math.Hypot(dx, dy) / 2 / deviation
	}
	return steep
}

// blurred is an image (H·W) under a Gaussian window. Beyond its borders it goes on as it ends.
func blurred(values []float64, width int, deviation float64) []float64 {
	radius, height := int(math.Ceil(3*deviation)), len(values)/width
	window, sum := make([]float64, 2*radius+1), 0.
	for k := range window {
		window[k] = math.Exp(-math.Pow(float64(k-radius)/deviation, 2) / 2)
		sum += window[k]
	}
	for k := range window {
		window[k] /= sum
	}
	for range 2 { // across and down: each time, rows become columns
		row, blurred := make([]float64, width+2*radius), make([]float64, len(values))
		for y := range height {
			for x := range row {
				row[x] = values[y*width+min(max(x-radius, 0), width-1)]
			}
			for x := range width {
				sum := 0.
				for k, w := range window {
					sum += w * row[x+k]
				}
				blurred[x*height+y] = sum
			}
		}
		values, width, height = blurred, height, width
	}
	return values
}

// StepOf is how many pixels of an image stand for one where raters are learned: its longer side is
// then at most learning.
func StepOf(width, height int) int { return (max(width, height) + learning - 1) / learning }

// Thinned takes every step-th pixel of every step-th row; nil of nil.
func Thinned[T any](values []T, width, step int) (few []T) {
	for y := 0; y < len(values); y += width * step {
		for x := 0; x < width; x += step {
			few = append(few, values[y+x])
		}
	}
	return few
}
