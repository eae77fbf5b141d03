package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
)

//go:embed fuse.wgsl
var fuseSource string

// ratersParams are the extents of maps (B, P, M, K): P pixels, M raters, K classes.
type ratersParams struct{ Batch, Pixels, Raters, Classes uint32 }

func ratersAll(p *ratersParams) uint32   { return p.Batch * p.Pixels * p.Raters * p.Classes }
func ratersFused(p *ratersParams) uint32 { return p.Batch * p.Pixels * p.Classes }

// label and first give, for element i of (B, P, K), the index of its rater 0 in (B, M, K) and in (B, P, M, K).
func (p *ratersParams) label(i int) int {
	k := int(p.Classes)
	return i/(k*int(p.Pixels))*int(p.Raters)*k + i%k
}

func (p *ratersParams) first(i int) int {
	k := int(p.Classes)
	return i/k*int(p.Raters)*k + i%k
}

// shares are the softmax weights over the raters who labelled, and the fused value, of element i of (B, P, K).
func (p *ratersParams) shares(i int, confidence, z, valid []float64) (shares []float64, value float64) {
	shares = make([]float64, p.Raters)
	sum, largest := 0.0, math.Inf(-1)
	for pass := range 2 {
		for m := range shares {
			if valid[p.label(i)+m*int(p.Classes)] <= 0 {
				continue
			}
			c := confidence[p.first(i)+m*int(p.Classes)]
			if pass == 0 {
				largest = max(largest, c)
			} else {
				shares[m] = math.Exp(c - largest)
				sum += shares[m]
			}
		}
	}
	for m := range shares {
		if sum > 0 {
			shares[m] /= sum
			value += shares[m] * z[p.first(i)+m*int(p.Classes)]
		}
	}
	return shares, value
}

var (
	fuseForward = perElement("fuse_forward", fuseSource, []gpu.Access{read, read, read, write}, ratersFused,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersFused(p)) {
				_, a[3].F[i] = p.shares(i, a[0].F, a[1].F, a[2].F)
			}
		})
	fuseBackwardZ = perElement("fuse_backward_z", fuseSource, []gpu.Access{read, read, read, read, write}, ratersFused,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersFused(p)) {
				shares, _ := p.shares(i, a[0].F, a[1].F, a[2].F)
				for m, s := range shares {
					a[4].F[p.first(i)+m*int(p.Classes)] += s * a[3].F[i]
				}
			}
		})
	fuseBackwardConfidence = perElement("fuse_backward_confidence", fuseSource, []gpu.Access{read, read, read, read, write}, ratersFused,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersFused(p)) {
				shares, value := p.shares(i, a[0].F, a[1].F, a[2].F)
				for m, s := range shares {
					j := p.first(i) + m*int(p.Classes)
					a[4].F[j] += s * (a[1].F[j] - value) * a[3].F[i]
				}
			}
		})
)

// ratersOf checks maps (B, H, W, M, K) and gives their extents.
func ratersOf(operator string, x *Tensor) *ratersParams {
	requireShape(operator, "maps", x, -1, -1, -1, -1, -1)
	return &ratersParams{uint32(x.Dim(0)), uint32(x.Dim(1) * x.Dim(2)), uint32(x.Dim(3)), uint32(x.Dim(4))}
}

// Fuse is the paper's ⊙ (PAPER.md §3.3): Σ_m softmax_m(ℓ) z, softmax over the raters who labelled the structure.
// confidence ℓ and z (B, H, W, M, K), valid (B, M, K) of 0 and 1; the result is (B, H, W, K).
func Fuse(confidence, z, valid *Tensor) *Tensor {
	sameShape("fuse", confidence, z)
	p := ratersOf("fuse", z)
	requireShape("fuse", "valid", valid, z.Dim(0), z.Dim(3), z.Dim(4))
	g := z.Graph()
	y := g.New("fuse", []int{z.Dim(0), z.Dim(1), z.Dim(2), z.Dim(4)}, confidence, z)
	g.Dispatch(fuseForward, p, confidence, z, valid, y)
	g.OnBackward(y, func() {
		if z.NeedsGradient() {
			g.Dispatch(fuseBackwardZ, p, confidence, z, valid, y.Gradient(), z.Gradient())
		}
		if confidence.NeedsGradient() {
			g.Dispatch(fuseBackwardConfidence, p, confidence, z, valid, y.Gradient(), confidence.Gradient())
		}
	})
	return y
}
