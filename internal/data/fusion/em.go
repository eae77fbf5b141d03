package fusion

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"mrprism/internal/data/metric"
)

// MaxIterations ends EM if its rates still change.
const MaxIterations = 10_000

const (
	precision = 1e-14 // of squared rates, as in ITK
	certain   = 1e-3  // the lowest prior of a pixel
	piece     = 1 << 14
)

// em is the state of EM. Pixels with the same marks, a pattern, differ only in their priors. EM
// works on patterns, since there are few.
type em struct {
	index    []int32 // (H·W) the pixel's pattern
	patterns []pattern
	priors   [][]float64 // by pattern; nil without a prior map
	pieces   []span      // of priors, for the processors

	prior        []float32 // (H·W) or nil
	prevalence   float64   // f or π, without a prior map
	estimate     bool      // the M step estimates the prevalence
	right, wrong float64   // pseudo-counts

	raters []Rates // raters who have marked
}

// pattern is a set of pixels with the same marks.
type pattern struct {
	marks  []uint8 // by rater
	pixels float64
	inside float64 // Σ W of its pixels
	// in and out are the likelihoods of the marks inside and outside, divided by the larger one
	in, out float64
}

// span is a part of a pattern's priors, with the sum of W that the E step computes for it.
type span struct {
	pattern, from, to int
	inside            float64
}

func newEM(marks [][]uint8, prior []float32) *em {
	given, n := Present(marks)
	e := &em{prior: prior, raters: make([]Rates, len(given))}
	e.index, e.patterns = patterns(given, n)
	e.vote()
	if prior == nil {
		return e
	}
	if len(prior) != n {
		panic(fmt.Sprintf("fusion: a prior of %d pixels beside marks of %d", len(prior), n))
	}
	e.priors = make([][]float64, len(e.patterns))
	for i, p := range e.patterns {
		e.priors[i] = make([]float64, 0, int(p.pixels))
		for from := 0; from < int(p.pixels); from += piece {
			e.pieces = append(e.pieces, span{pattern: i, from: from, to: min(from+piece, int(p.pixels))})
		}
	}
	for i, v := range prior {
		at := e.index[i]
		e.priors[at] = append(e.priors[at], Believed(v))
	}
	return e
}

// vote has W begin as the mean vote. It returns the sum of W.
func (e *em) vote() (sum float64) {
	for i := range e.patterns {
		p := &e.patterns[i]
		for _, v := range p.marks {
			p.inside += p.pixels * float64(v) / float64(len(p.marks))
		}
		sum += p.inside
	}
	return sum
}

// Believed keeps a prior away from 0 and 1.
func Believed(prior float32) float64 { return min(max(float64(prior), certain), 1-certain) }

// patterns groups pixels by their marks, rater after rater.
func patterns(marks [][]uint8, n int) (index []int32, all []pattern) {
	index, all = make([]int32, n), []pattern{{}}
	for _, mark := range marks {
		numbers := make([]int32, 2*len(all)) // by pattern and mark, from 1; 0: not yet met
		var split []pattern
		for i, v := range mark {
			key := 2*index[i] + int32(v)
			if numbers[key] == 0 {
				before := all[key/2].marks
				split = append(split, pattern{marks: append(before[:len(before):len(before)], v)})
				numbers[key] = int32(len(split))
			}
			index[i] = numbers[key] - 1
		}
		all = split
	}
	for _, at := range index {
		all[at].pixels++
	}
	return index, all
}

// Patterns groups the pixels of marks by what the raters who are not nil marked.
func Patterns(marks [][]uint8) (pixels [][]int32, given [][]uint8) {
	present, n := Present(marks)
	index, all := patterns(present, n)
	pixels = make([][]int32, len(all))
	for i, at := range index {
		pixels[at] = append(pixels[at], int32(i))
	}
	for _, p := range all {
		given = append(given, p.marks)
	}
	return pixels, given
}

// iterate alternates M and E steps until the rates stay the same.
func (e *em) iterate() *Fit {
	fit := &Fit{}
	for !fit.Converged && fit.Iterations < MaxIterations {
		changed := e.maximise()
		e.expect()
		fit.Iterations++
		fit.Converged = changed <= precision && fit.Iterations > 1
	}
	return fit
}

// fit iterates, and has the map and the rates of all raters.
func (e *em) fit(marks [][]uint8) *Fit {
	fit := e.iterate()
	fit.Map = e.posterior()
	fit.Raters = make([]Rates, len(marks))
	next := 0
	for m, mark := range marks {
		fit.Raters[m] = Rates{math.NaN(), math.NaN()}
		if mark != nil {
			fit.Raters[m] = e.raters[next]
			next++
		}
	}
	return fit
}

// maximise is the M step. It returns the largest squared change of a rate.
func (e *em) maximise() (changed float64) {
	inside, pixels := 0.0, 0.0
	for i := range e.patterns {
		inside += e.patterns[i].inside
		pixels += e.patterns[i].pixels
	}
	change := func(rate *float64, part, whole float64) {
		before := *rate
		if whole > 0 { // otherwise the rate stays as it is
			*rate = min(max(part/whole, 0), 1)
		}
		changed = max(changed, (*rate-before)*(*rate-before))
	}
	for m := range e.raters {
		marked, unmarked := 0.0, 0.0 // inside and marked, outside and unmarked
		for i := range e.patterns {
			if p := &e.patterns[i]; p.marks[m] != 0 {
				marked += p.inside
			} else {
				unmarked += p.pixels - p.inside
			}
		}
		change(&e.raters[m].Sensitivity, marked+e.right, inside+e.right+e.wrong)
		change(&e.raters[m].Specificity, unmarked+e.right, pixels-inside+e.right+e.wrong)
	}
	if e.estimate {
		change(&e.prevalence, inside+1, pixels+2)
	}
	return changed
}

// expect is the E step.
func (e *em) expect() {
	for i := range e.patterns {
		p := &e.patterns[i]
		in, out := 0.0, 0.0
		for m, v := range p.marks {
			if r := e.raters[m]; v != 0 {
				in, out = in+math.Log(r.Sensitivity), out+math.Log(1-r.Specificity)
			} else {
				in, out = in+math.Log(1-r.Sensitivity), out+math.Log(r.Specificity)
			}
		}
		if scale := max(in, out); math.IsInf(scale, -1) {
			p.in, p.out = 1, 1 // neither is possible: the prior decides
		} else {
			p.in, p.out = math.Exp(in-scale), math.Exp(out-scale)
		}
		p.inside = 0 // with priors the pieces fill it
		if e.priors == nil {
			p.inside = p.pixels * e.prevalence * p.in / (e.prevalence*p.in + (1-e.prevalence)*p.out)
		}
	}
	InParallel(len(e.pieces), func(i int) {
		s := &e.pieces[i]
		s.inside = 0
		for _, prior := range e.priors[s.pattern][s.from:s.to] {
			s.inside += e.patterns[s.pattern].posterior(prior)
		}
	})
	for _, s := range e.pieces { // in their order, so that a result repeats to the bit
		e.patterns[s.pattern].inside += s.inside
	}
}

// InParallel calls do for 0..n-1 on all processors.
func InParallel(n int, do func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}

// posterior is W of every pixel.
func (e *em) posterior() []float64 {
	w := make([]float64, len(e.index))
	prior := e.prevalence
	for i, at := range e.index {
		if e.prior != nil {
			prior = Believed(e.prior[i])
		}
		w[i] = e.patterns[at].posterior(prior)
	}
	return w
}

// posterior is W of a pixel with a prior.
func (p *pattern) posterior(prior float64) float64 {
	part := prior * p.in
	return part / (part + (1-prior)*p.out)
}

// BesideSTAPLE compares each mask, as Count does, with the map that STAPLE makes of all.
func BesideSTAPLE(patterns metric.Patterns) []Counts {
	raters, pixels := len(patterns[0].Marks), float64(patterns.Pixels())
	e := &em{raters: make([]Rates, raters)}
	for _, p := range patterns {
		e.patterns = append(e.patterns, pattern{marks: p.Marks, pixels: float64(p.Pixels)})
	}
	tally := patterns.Tally()
	even := tally[0] == patterns.Pixels() || tally[raters] == patterns.Pixels() // the mean vote is the map
	if e.prevalence = e.vote() / pixels; !even {
		e.iterate()
	}
	all := make([]Counts, raters)
	for i := range e.patterns {
		p := &e.patterns[i]
		inside := float64(p.marks[0])
		if !even {
			inside = p.posterior(e.prevalence)
		}
		for m, v := range p.marks {
			all[m].Add(Counts{Inside: inside * p.pixels, Outside: (1 - inside) * p.pixels, Marked: float64(v) * p.pixels, Both: inside * float64(v) * p.pixels})
		}
	}
	return all
}
