package fusion

import (
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
// The three factors are these:
//
//   - The trust λ_m holds for the whole image. It is (1 + z²/4)^−2.5, where z is how many
//     deviations the mark's Dice with the fused marks lies below the median mark's. From z = 3 on
//     it is 0: the mark is thrown out.
//   - The edge e_m(x) is the mean steepness of the image around x on the mark's own line, which is
//     lineOffset pixels within the mark. A line beside every edge counts less, and far from its
//     line a mark counts as if along a faint edge.
//   - b leaves as many pixels inside as the majority has. Neither marks nor edges say whether all
//     people draw too wide: experts draw 1.4 to 2 pixels outside the steepest place, by image kind.
//
// Learn leaves out one rater after another, and compares the left-out mark with what Edges and the
// majority make of the others. Where Edges is not shown to be nearer, Fuse is the majority.
//
// Steepness is the length of the gradient of the grey image after a Gaussian blur of 1 pixel, in
// deviations of the grey a pixel. Pixels are those of images scaled to 256 a side at most.
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
	left, top, width int // the box, in pixels of the image
	step             int // by which the image is scaled down
	area             int // of the majority
	most             float64
	marks, small     [][]uint8 // (H·W), (h·w) scaled down
	patterns         []pattern
	edges            [][]float64 // e (h·w)
}

// Add compares Edges with the majority on an image (H, W, 3) of a unit. It needs three marks.
func (e *Edges) Add(marks [][]uint8, rgb []uint8, width int, unit statistics.Unit) {
	o := outline(marks, rgb, width)
	if o == nil || len(o.marks) < 3 {
		return
	}
	distances, gained := o.measure(o.small, 1), 0.
	votes, middle := make([]int, len(o.small[0])), make([]float64, len(o.small[0]))
	for m, mark := range o.small {
		for i, v := range mark {
			votes[i], middle[i] = votes[i]+int(v), middle[i]+float64(distances[m][i])
		}
	}
	for m, mark := range o.small {
		area, marked, both := 0, 0, 0
		for i, v := range mark {
			marked += int(v)
			// the majority of the others; the mean outline decides a tie, which all do not have
			lead := 2*(votes[i]-int(v)) - (len(o.small) - 1)
			if lead > 0 || lead == 0 && middle[i] > float64(distances[m][i]) {
				area, both = area+1, both-int(v)
			}
		}
		if area == 0 {
			continue
		}
		d, _ := o.mean(distances, o.trust(m), 1)
		b := level(d, area)
		for i, v := range mark {
			if d[i] > b {
				both += int(v)
			}
		}
		gained += 2 * float64(both) / float64(area+marked)
	}
	e.gains = append(e.gains, gain{unit, gained / float64(len(o.small))})
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
		fit.Weights = shares(marks, func() float64 { return 1 })
		return fit
	}
	distances, trust := o.measure(o.marks, o.step), o.trust(-1)
	d, all := o.mean(distances, trust, o.step)
	b := level(d, o.area)
	_, n := Present(marks)
	fit := &Fit{Map: make([]float64, n), Converged: true}
	weights := make([]float64, len(o.marks))
	for i, v := range d {
		if v > b {
			fit.Map[(o.top+i/o.width)*width+o.left+i%o.width] = 1
		}
		if math.Abs(v-b) < float64(o.step) {
			for m, e := range o.edges {
				weights[m] += trust[m] * e[under(i, o.width, o.step)] / all[i]
			}
		}
	}
	fit.Weights = shares(marks, func() (w float64) {
		w, weights = weights[0], weights[1:]
		return w
	})
	fit.Raters = RatesOf(marks, fit.Map)
	return fit
}

// level is a value that so many values lie above.
func level(d []float64, above int) float64 {
	sorted := append([]float64{math.Inf(-1)}, d...)
	slices.Sort(sorted)
	return sorted[len(d)-above]
}

// shares are the weights of the marks, in turn, as shares of their sum; NaN without a mark.
func shares(marks [][]uint8, next func() float64) []float64 {
	all, sum := make([]float64, len(marks)), 0.
	for m, mark := range marks {
		if all[m] = math.NaN(); mark != nil {
			all[m] = next()
			sum += all[m]
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
	height := n / width
	o := &outlined{step: StepOf(width, height), left: width, top: height}
	right, bottom := 0, 0 // of the box; one pixel around all marks has each mark's whole outline
	for i := range n {
		votes := 0
		for _, mark := range given {
			votes += int(mark[i])
		}
		if 2*votes > len(given) {
			o.area++
		}
		if x, y := i%width, i/width; votes > 0 {
			o.left, o.top, right, bottom = min(o.left, x-1), min(o.top, y-1), max(right, x+2), y+2
		}
	}
	if o.area == 0 || o.area == n {
		return nil
	}
	small := func(pixels int) int { return (pixels + o.step - 1) / o.step }
	o.left, o.top, right, bottom = max(0, o.left)/o.step*o.step, max(0, o.top)/o.step*o.step, min(right, width), min(bottom, height)
	o.width, o.most = right-o.left, math.Sqrt(float64(o.area)/math.Pi)/float64(o.step)
	for _, mark := range given {
		o.marks = append(o.marks, crop(mark, width, o.left, o.top, right, bottom))
		o.small = append(o.small, Thinned(o.marks[len(o.marks)-1], o.width, o.step))
	}
	_, o.patterns = patterns(o.marks, len(o.marks[0]))
	steep := crop(steepness(rgb, width, o.step), small(width), o.left/o.step, o.top/o.step, small(right), small(bottom))
	o.edges = make([][]float64, len(given))
	InParallel(len(given), func(m int) {
		o.edges[m] = edge(Signed(o.small[m], small(o.width), o.most), steep, small(o.width))
	})
	return o
}

// crop cuts a box out of values.
func crop[T any](values []T, width, left, top, right, bottom int) (few []T) {
	for y := top; y < bottom; y++ {
		few = append(few, values[y*width+left:y*width+right]...)
	}
	return few
}

// measure returns the distances of marks whose pixels are step times as small as those of e.
func (o *outlined) measure(marks [][]uint8, step int) [][]float32 {
	all := make([][]float32, len(marks))
	InParallel(len(marks), func(m int) {
		all[m] = Signed(marks[m], (o.width*step+o.step-1)/o.step, o.most*float64(step))
	})
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
	width := (o.width*step + o.step - 1) / o.step
	for m, d := range distances {
		if trust[m] == 0 {
			continue
		}
		for i, v := range d {
			w := trust[m] * o.edges[m][under(i, width, step)]
			mean[i], all[i] = mean[i]+w*float64(v), all[i]+w
		}
	}
	for i := range mean {
		mean[i] /= all[i]
	}
	return mean, all
}

// under is the pixel of e at pixel i of a picture, width pixels wide, whose pixels are step times
// as small.
func under(i, width, step int) int {
	return i/width/step*((width+step-1)/step) + i%width/step
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
		all, inside := 0., 0.
		both, marked := make([]float64, len(trust)), make([]float64, len(trust))
		for _, t := range trust {
			all += t
		}
		for _, p := range o.patterns {
			fused := 0.
			for m, v := range p.marks {
				fused += trust[m] * float64(v)
			}
			inside += fused * p.pixels
			for m, v := range p.marks {
				both[m] += fused * p.pixels * float64(v)
				marked[m] += p.pixels * float64(v)
			}
		}
		var present, off []float64
		for m := range dice {
			if dice[m] = 2 * both[m] / (inside + marked[m]*all); m != without {
				present = append(present, dice[m])
			}
		}
		middle := metric.Median(present)
		for _, d := range present {
			off = append(off, math.Abs(d-middle))
		}
		for m := range trust {
			if m == without {
				continue
			}
			z := max(0, middle-dice[m]) / (1.4826*metric.Median(off) + leastDeviation)
			if trust[m] = math.Pow(1+z*z/4, -2.5); z > outlierDeviations {
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
	across, down, row := make([]float64, len(values)), make([]float64, len(values)), make([]float64, width+2*radius)
	for y := range height {
		for x := range row {
			row[x] = values[y*width+min(max(x-radius, 0), width-1)]
		}
		for x := range width {
			for k, w := range window {
				across[y*width+x] += w * row[x+k]
			}
		}
	}
	for y := range height {
		to := down[y*width : (y+1)*width]
		for k, w := range window {
			from := across[min(max(y+k-radius, 0), height-1)*width:][:width]
			for x, v := range from {
				to[x] += w * v
			}
		}
	}
	return down
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
