package fusion

import (
	"math"
	"slices"

	"mrprism/internal/data/metric"
)

// Edges is the mean of the marks' signed distances (shape-based averaging, Rohlfing and Maurer,
// IEEE TITB 2007), where the image says how much a mark counts, and how far people draw outside.
// Raters may change from image to image. With d_m the signed distance to mark m, positive inside:
//
//	d(x) = Σ λ_m e_m(x) d_m(x) / Σ λ_m e_m(x),   inside where d > b
//
// The three factors are these:
//
//   - The trust λ_m holds for the whole image. It is (1 + z²/4)^−2.5, where z is how many
//     deviations the mark's Dice with the fused marks lies below the median mark's. From z = 3 on
//     it is 0: the mark is thrown out.
//   - The edge e_m(x) is the mean steepness of the image around x on the mark's own line, which is
//     expertOffset pixels within the mark. A line beside every edge counts less, and far from its line a
//     mark counts as if along a faint edge.
//   - The bias b is one number for all images that were added. From d = 0 inward their mean log
//     steepness climbs to a peak; b is the peak's d less expertOffset, and not below 0. Experts draw a
//     line 1.5 to 2 pixels outside the steepest place (bubil-cells, bubil-cells-2b), untrained
//     people farther out. b never takes more than half of a structure's thickness.
//
// Steepness is the length of the gradient of the grey image after a Gaussian blur of 1 pixel, in
// deviations of the grey a pixel. Pixels are those of images scaled to 256 a side at most.
type Edges struct {
	steep [searchReach + 1]struct{ log, images float64 } // by d from 0 to searchReach/2, in halves
	seen  float64                                        // images with an outline
	bias  float64                                        // b
}

const (
	expertOffset      = 1.75 // pixels from the steepest place to an expert's line
	searchReach       = 12   // half pixels from d = 0 inward that are searched for edges
	outlierDeviations = 3.   // deviations at which a mark is thrown out
	windowDeviation   = 4.   // pixels: deviation of the Gaussian window of e_m
	leastDeviation    = .03  // Dice: the deviation of marks that all agree
	learning          = 256  // longest side of an image where raters are learned, in pixels
)

// outlined is an image as Edges sees it, scaled down by step.
type outlined struct {
	width, step int
	steepness   []float64   // (h·w)
	trust       []float64   // λ by rater; 0 without a mark
	distances   [][]float32 // (h·w) by rater; nil without a mark
	weights     [][]float64 // (h·w) λ e by rater; nil without a mark
	most        float64     // distances are clamped to ±most
}

// Add looks where the image (H, W, 3) is steep beside the marks.
func (e *Edges) Add(marks [][]uint8, rgb []uint8, width int) {
	o := outline(marks, rgb, width)
	if o == nil {
		return
	}
	fused := o.mean(o.distances, o.width, 1)
	e.seen++
	for k := range e.steep {
		sum, n := 0., 0.
		for i, d := range fused {
			if math.Abs(d-float64(k)/2) < .75 {
				sum, n = sum+o.steepness[i], n+1
			}
		}
		if n > 8 {
			at := &e.steep[k]
			at.log, at.images = at.log+math.Log(sum/n+1e-3), at.images+1
		}
	}
}

// Learn estimates b from the images that were added. The peak lies on the parabola through the last
// step of the climb and the steps beside it.
func (e *Edges) Learn() {
	const rise = .01 // a step of half a pixel that brings less is no climb
	k := 0
	for k < searchReach && e.logSteepness(k+1) > e.logSteepness(k)+rise {
		k++
	}
	e.bias = 0
	if k == 0 || k == searchReach || math.IsInf(e.logSteepness(k+1), -1) {
		return // on the line, or without a peak
	}
	before, at, after := e.logSteepness(k-1), e.logSteepness(k), e.logSteepness(k+1)
	peak := float64(k) + (before-after)/(before-2*at+after)/2
	e.bias = max(0, peak/2-expertOffset)
}

// logSteepness is the mean at step k of d, and -Inf if fewer than half of the images reach it.
func (e *Edges) logSteepness(k int) float64 {
	if at := e.steep[k]; at.images > 0 && 2*at.images >= e.seen {
		return at.log / at.images
	}
	return math.Inf(-1)
}

// Bias is b, in pixels of an image scaled to 256 a side at most.
func (e *Edges) Bias() float64 { return e.bias }

// Fuse fuses the marks of an image (H, W, 3), width pixels wide. Weights in the Fit are shares of
// the raters' weight on the fused outline. If the majority marks no pixel, or every pixel, the
// result is the majority.
func (e *Edges) Fuse(marks [][]uint8, rgb []uint8, width int) *Fit {
	o := outline(marks, rgb, width)
	if o == nil {
		fit := Majority(marks)
		fit.Weights = shares(marks, func(int) float64 { return 1 })
		return fit
	}
	distances := o.distances
	if o.step > 1 {
		distances = o.measure(marks, width, o.step)
	}
	fused := o.mean(distances, width, o.step)
	bias := min(e.bias*float64(o.step), slices.Max(fused)/2)
	fit := &Fit{Map: make([]float64, len(fused)), Converged: true}
	weights := make([]float64, len(marks))
	for i, d := range fused {
		if d > bias {
			fit.Map[i] = 1
		}
		if math.Abs(d-bias) < float64(o.step) {
			for m, w := range o.weights {
				if w != nil {
					weights[m] += w[o.under(i, width, o.step)]
				}
			}
		}
	}
	fit.Weights = shares(marks, func(m int) float64 { return weights[m] })
	fit.Raters = RatesOf(marks, fit.Map)
	return fit
}

// shares are the weights of the marks as shares of their sum; NaN without a mark.
func shares(marks [][]uint8, weight func(m int) float64) []float64 {
	all, sum := make([]float64, len(marks)), 0.
	for m, mark := range marks {
		if all[m] = math.NaN(); mark != nil {
			all[m] = weight(m)
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
	area := 0.
	for _, v := range Majority(given).Map {
		area += v
	}
	if area == 0 || area == float64(n) {
		return nil
	}
	o := &outlined{step: StepOf(width, n/width), weights: make([][]float64, len(marks))}
	small := make([][]uint8, len(marks))
	for m, mark := range marks {
		small[m] = Thinned(mark, width, o.step)
	}
	o.width = (width + o.step - 1) / o.step
	o.most = math.Sqrt(area/math.Pi) / float64(o.step)
	o.trust = trustOf(marks)
	o.distances = o.measure(small, o.width, 1)
	o.steepness = steepness(rgb, width, o.step)
	best := make([]float64, len(o.steepness))
	for m, d := range o.distances {
		if d != nil {
			o.weights[m] = o.edge(d)
			for i, v := range o.weights[m] {
				best[i] = max(best[i], v)
			}
		}
	}
	for m, w := range o.weights {
		for i := range w {
			w[i] *= o.trust[m] / best[i]
		}
	}
	return o
}

// measure returns the distances of marks whose pixels are step times as small as o's.
func (o *outlined) measure(marks [][]uint8, width, step int) [][]float32 {
	all := make([][]float32, len(marks))
	InParallel(len(marks), func(m int) {
		if marks[m] != nil {
			all[m] = Signed(marks[m], width, o.most*float64(step))
		}
	})
	return all
}

// edge is e (h·w) of a mark with these distances.
func (o *outlined) edge(distances []float32) []float64 {
	steep, line := make([]float64, len(distances)), make([]float64, len(distances))
	for i, d := range distances {
		if math.Abs(float64(d)-expertOffset) < 1 {
			steep[i], line[i] = o.steepness[i], 1
		}
	}
	steep, line = blurred(steep, o.width, windowDeviation), blurred(line, o.width, windowDeviation)
	for i := range steep {
		steep[i] = (steep[i] + 1e-4) / (line[i] + 1e-3)
	}
	return steep
}

// mean is d of a picture whose pixels are step times as small as o's, and whose sides are width and
// as many as the distances say.
func (o *outlined) mean(distances [][]float32, width, step int) []float64 {
	var sum, all []float64
	for m, d := range distances {
		if d != nil && sum == nil {
			sum, all = make([]float64, len(d)), make([]float64, len(d))
		}
		for i, v := range d {
			w := o.weights[m][o.under(i, width, step)]
			sum[i], all[i] = sum[i]+w*float64(v), all[i]+w
		}
	}
	for i := range sum {
		sum[i] /= all[i]
	}
	return sum
}

// under is o's pixel at pixel i of a picture, width pixels wide, whose pixels are step times as
// small.
func (o *outlined) under(i, width, step int) int { return i/width/step*o.width + i%width/step }

// trustOf returns λ by rater, 0 without a mark. It begins with the mean vote.
func trustOf(marks [][]uint8) []float64 {
	_, n := Present(marks)
	trust, dice := make([]float64, len(marks)), make([]float64, len(marks))
	for m, mark := range marks {
		if mark != nil {
			trust[m] = 1
		}
	}
	fused := make([]float64, n)
	for range 5 {
		clear(fused)
		all := 0.
		for m, mark := range marks {
			all += trust[m]
			for i, v := range mark {
				fused[i] += trust[m] * float64(v)
			}
		}
		var present, off []float64
		for m, mark := range marks {
			if mark != nil {
				c := Count(mark, fused)
				dice[m] = 2 * c.Both / (c.Inside + c.Marked*all)
				present = append(present, dice[m])
			}
		}
		middle := metric.Median(present)
		for _, d := range present {
			off = append(off, math.Abs(d-middle))
		}
		for m, mark := range marks {
			if mark == nil {
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
	across, down := make([]float64, len(values)), make([]float64, len(values))
	for i := range across {
		x := i % width
		for k, w := range window {
			across[i] += w / sum * values[i-x+min(max(x+k-radius, 0), width-1)]
		}
	}
	for i := range down {
		x, y := i%width, i/width
		for k, w := range window {
			down[i] += w / sum * across[min(max(y+k-radius, 0), height-1)*width+x]
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
