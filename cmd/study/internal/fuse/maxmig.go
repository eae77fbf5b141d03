package fuse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/internal/data/fusion"
)

// MaxMIG is the fusion of Max-MIG (Cao et al., ICLR 2019) with a fixed network h. The crowd's
// aggregator
//
//	g(z) = σ(logit π + Σ_m s_m(z_m)),   s_m(1) and s_m(0) learned, 0 for a missing mark
//
// learns to predict h at the same pixel: with K_ij = Σ_c h_i,c g_j,c / π_c over the classes inside
// and outside it maximises mean_i log K_ii − mean_ij K_ij + 1, a bound of their mutual information.
// The fusion of a pixel is ∝ h g / π.
//
// We assume that π is the mean of h over all pixels. The mean of K_ij is then 1 whatever the marks
// weigh, and the bound is the mean of log K_ii alone: EM with a logistic regression as its M step.
// The original also trains h, on batches, and has its own π. A weak prior, half of the squared
// evidence, keeps the evidence of perfect raters finite. Pixels of equal marks and nearly equal h
// are counted together.
type MaxMIG struct {
	raters   int
	cells    map[string]*[levels]cell // by marks: '0', '1', or '-' for a missing mark
	inside   float64                  // Σ h
	pixels   float64
	evidence []float64 // s_m(0), s_m(1) by rater
	prior    float64   // logit π
}

// levels are the ranges of h that a pattern of marks distinguishes.
const levels = 64

// cell is pixels of equal marks and nearly equal h.
type cell struct{ pixels, inside float64 }

// NewMaxMIG makes an aggregator that has seen nothing.
func NewMaxMIG(raters int) *MaxMIG {
	return &MaxMIG{raters: raters, cells: map[string]*[levels]cell{}, evidence: make([]float64, 2*raters)}
}

// Add counts an image's marks, and the network's map (H·W) at them, for Learn.
func (g *MaxMIG) Add(marks [][]uint8, network []float32) {
	g.eachPattern(marks, func(key string, pixels []int32) {
		of := g.cells[key]
		if of == nil {
			of = new([levels]cell)
			g.cells[key] = of
		}
		for _, i := range pixels {
			h := fusion.Believed(network[i])
			at := &of[min(int(h*levels), levels-1)]
			at.pixels, at.inside = at.pixels+1, at.inside+h
			g.inside, g.pixels = g.inside+h, g.pixels+1
		}
	})
}

// eachPattern calls visit with every pattern of marks and its pixels.
func (g *MaxMIG) eachPattern(marks [][]uint8, visit func(key string, pixels []int32)) {
	if len(marks) != g.raters {
		panic(fmt.Sprintf("fuse: MaxMIG: marks of %d raters, made for %d", len(marks), g.raters))
	}
	pixels, given := fusion.Patterns(marks)
	for at, p := range given {
		var key strings.Builder
		next := 0
		for _, mark := range marks {
			if mark == nil {
				key.WriteByte('-')
				continue
			}
			key.WriteByte('0' + p[next])
			next++
		}
		visit(key.String(), pixels[at])
	}
}

// parameters returns the indices in evidence of a pattern's marks.
func (g *MaxMIG) parameters(key string) (at []int) {
	for m, mark := range key {
		if mark != '-' {
			at = append(at, 2*m+int(mark-'0'))
		}
	}
	return at
}

// crowd is the log-odds of g for a pattern of marks.
func (g *MaxMIG) crowd(key string) float64 {
	sum := g.prior
	for _, at := range g.parameters(key) {
		sum += g.evidence[at]
	}
	return sum
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Learn estimates the evidence of the marks from the images that were added. It returns the bound
// after each step of EM, in nats a pixel; up to rounding, it never falls.
func (g *MaxMIG) Learn() (bounds []float64) {
	const most, rest = 1000, 1e-9
	if g.pixels == 0 {
		return nil
	}
	share := g.inside / g.pixels
	g.prior = math.Log(share / (1 - share))
	for m := range g.raters {
		g.evidence[2*m], g.evidence[2*m+1] = -1, 1 // equal raters, more often right than wrong
	}
	keys := make([]string, 0, len(g.cells))
	for key := range g.cells {
		keys = append(keys, key)
	}
	slices.Sort(keys) // so that sums repeat to the bit
	for range most {
		bound, moved := g.step(keys, share)
		bounds = append(bounds, bound)
		if moved < rest {
			break
		}
	}
	return bounds
}

// step is an E step and one Newton step of the M step. It returns the bound before the step,
// including the prior of the evidence, and the largest change of an evidence.
func (g *MaxMIG) step(keys []string, share float64) (bound, moved float64) {
	n := len(g.evidence)
	slope, curve := make([]float64, n), make([][]float64, n)
	for i, s := range g.evidence {
		slope[i], curve[i] = -s, make([]float64, n)
		curve[i][i] = 1
		bound -= s * s / 2
	}
	for _, key := range keys {
		p := sigmoid(g.crowd(key))
		believed, pixels := 0., 0. // Σ of the posterior that a pixel is inside
		for _, c := range g.cells[key] {
			if c.pixels == 0 {
				continue
			}
			h := c.inside / c.pixels
			in, out := h*p/share, (1-h)*(1-p)/(1-share)
			believed, pixels = believed+c.pixels*in/(in+out), pixels+c.pixels
			bound += c.pixels * math.Log(in+out)
		}
		at := g.parameters(key)
		for _, i := range at {
			slope[i] += believed - pixels*p
			for _, j := range at {
				curve[i][j] += pixels * p * (1 - p)
			}
		}
	}
	for i, by := range solved(curve, slope) {
		by = min(max(by, -1), 1) // Newton's steps overshoot where g is nearly certain
		g.evidence[i] += by
		moved = max(moved, math.Abs(by))
	}
	return bound / g.pixels, moved
}

// solved returns x with a x = b for a positive definite a, by Gaussian elimination. It overwrites
// both.
func solved(a [][]float64, b []float64) []float64 {
	for i := range b {
		for j := i + 1; j < len(b); j++ {
			by := a[j][i] / a[i][i]
			for k := i; k < len(b); k++ {
				a[j][k] -= by * a[i][k]
			}
			b[j] -= by * b[i]
		}
	}
	for i := len(b) - 1; i >= 0; i-- {
		for k := i + 1; k < len(b); k++ {
			b[i] -= a[i][k] * b[k]
		}
		b[i] /= a[i][i]
	}
	return b
}

// Fuse fuses the marks of an image with the network's map (H·W) of it. Without a map it is g.
func (g *MaxMIG) Fuse(marks [][]uint8, network []float32) *fusion.Fit {
	_, n := fusion.Present(marks)
	fused := make([]float64, n)
	g.eachPattern(marks, func(key string, pixels []int32) {
		crowd := g.crowd(key)
		for _, i := range pixels {
			odds := crowd
			if network != nil {
				h := fusion.Believed(network[i])
				odds += math.Log(h/(1-h)) - g.prior
			}
			fused[i] = sigmoid(odds)
		}
	})
	return &fusion.Fit{Map: fused, Raters: fusion.RatesOf(marks, fused), Converged: true}
}
