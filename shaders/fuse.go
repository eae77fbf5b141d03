package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
)

//go:embed fuse.wgsl
var fuseFile string

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
	fuseForward = perBlock("fuse_forward", fuseFile, []gpu.Access{read, read, read, write},
		func(p *ratersParams, a []gpu.Array) {
			for i := range p.results() {
				_, a[3].F[i] = p.shares(i, a[0].F, a[1].F, a[2].F)
			}
		})
	fuseBackwardZ = perBlock("fuse_backward_z", fuseFile, []gpu.Access{read, read, read, read, write},
		func(p *ratersParams, a []gpu.Array) {
			for i := range p.results() {
				shares, _ := p.shares(i, a[0].F, a[1].F, a[2].F)
				for m, s := range shares {
					a[4].F[p.first(i)+m*int(p.Classes)] += s * a[3].F[i]
				}
			}
		})
	fuseBackwardConfidence = perBlock("fuse_backward_confidence", fuseFile, []gpu.Access{read, read, read, read, write},
		func(p *ratersParams, a []gpu.Array) {
			for i := range p.results() {
				shares, value := p.shares(i, a[0].F, a[1].F, a[2].F)
				for m, s := range shares {
					j := p.first(i) + m*int(p.Classes)
					a[4].F[j] += s * (a[1].F[j] - value) * a[3].F[i]
				}
			}
		})
)

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
