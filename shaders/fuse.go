package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
)

//go:embed fuse.wgsl
var fuseFile string

var (
	fuseForward = inPieces(ratersPixels, fusePart[float64], fusePart[float32],
		perBlock("fuse_forward", fuseFile, []gpu.Access{read, read, read, write}, nil))
	fuseBackwardZ = inPieces(ratersPixels, fuseBackwardZPart[float64], fuseBackwardZPart[float32],
		perBlock("fuse_backward_z", fuseFile, []gpu.Access{read, read, read, read, write}, nil))
	fuseBackwardConfidence = inPieces(ratersPixels, fuseBackwardConfidencePart[float64], fuseBackwardConfidencePart[float32],
		perBlock("fuse_backward_confidence", fuseFile, []gpu.Access{read, read, read, read, write}, nil))
)

// fusion holds the shares of some pixels of one image: for each class the softmax of the confidences
// over the raters who labelled it, and 0 for the others.
type fusion[F gpu.Float] struct {
	p             *ratersParams
	first, pixels int
	valid         []F // (M, K), of the image
	few           [8 * fusionPixels]F
	many          []F // in place of few, where that does not have the shares of one pixel
	largest, sums [fusionPixels]F
}

// fusionPixels are taken at once, or fewer where raters are many.
const fusionPixels = 64

// startFusion is where no pixel before the first is left to do.
func startFusion[F gpu.Float](p *ratersParams, first int) (b fusion[F]) {
	b.p, b.first = p, first
	if n := b.labels(); n > len(b.few) {
		b.many = make([]F, n)
	}
	return b
}

func (b *fusion[F]) labels() int  { return int(b.p.Raters * b.p.Classes) }
func (b *fusion[F]) classes() int { return int(b.p.Classes) }

// next goes on to pixels below an end, while there are any.
func (b *fusion[F]) next(confidence, valid []F, end int) bool {
	b.first += b.pixels
	if b.first >= end {
		return false
	}
	image := b.first / int(b.p.Pixels)
	end = min(end, (image+1)*int(b.p.Pixels))
	b.pixels = min(end-b.first, fusionPixels, max(1, len(b.few)/b.labels()))
	b.valid = ofImage(b.p, valid, b.first)
	for c := range b.classes() {
		b.share(b.values(confidence, b.labels(), 0), c)
	}
	return true
}

// values are what the pixels have in x, where each has n, from their value i on.
func (b *fusion[F]) values(x []F, n, i int) []F { return x[b.first*n+i : (b.first+b.pixels)*n] }

// of are the shares of label i.
func (b *fusion[F]) of(i int) []F {
	if b.many != nil {
		return b.many[i*b.pixels:][:b.pixels]
	}
	return b.few[i*b.pixels:][:b.pixels]
}

// share computes the shares of class c.
func (b *fusion[F]) share(confidence []F, c int) {
	n, k := b.labels(), b.classes()
	largest, sums := b.largest[:b.pixels], b.sums[:b.pixels]
	for i := range largest {
		largest[i], sums[i] = F(math.Inf(-1)), 0
	}
	for label := c; label < n; label += k {
		s := b.of(label)
		clear(s)
		if b.valid[label] > 0 {
			for i := range s {
				s[i] = confidence[i*n+label]
				largest[i] = max(largest[i], s[i])
			}
		}
	}
	for label := c; label < n; label += k {
		if b.valid[label] > 0 {
			s := b.of(label)
			for i := range s {
				s[i] -= largest[i]
			}
			exponentials(s)
			addRow(sums, s)
		}
	}
	for label := c; label < n; label += k {
		if b.valid[label] > 0 {
			s := b.of(label)
			for i := range s {
				s[i] /= sums[i]
			}
		}
	}
}

func fusePart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	b := startFusion[F](p, from)
	n, k := b.labels(), b.classes()
	for b.next(a[0].F, a[2].F, to) {
		clear(b.values(a[3].F, k, 0))
		for label := range n {
			z, y := b.values(a[1].F, n, label), b.values(a[3].F, k, label%k)
			for i, s := range b.of(label) {
				y[i*k] += s * z[i*n]
			}
		}
	}
}

func fuseBackwardZPart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	b := startFusion[F](p, from)
	n, k := b.labels(), b.classes()
	for b.next(a[0].F, a[2].F, to) {
		for label := range n {
			dy, dz := b.values(a[3].F, k, label%k), b.values(a[4].F, n, label)
			for i, s := range b.of(label) {
				dz[i*n] += s * dy[i*k]
			}
		}
	}
}

func fuseBackwardConfidencePart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	b := startFusion[F](p, from)
	n, k := b.labels(), b.classes()
	for b.next(a[0].F, a[2].F, to) {
		for c := range k {
			fused := b.sums[:b.pixels]
			clear(fused)
			for label := c; label < n; label += k {
				z := b.values(a[1].F, n, label)
				for i, s := range b.of(label) {
					fused[i] += s * z[i*n]
				}
			}
			dy := b.values(a[3].F, k, c)
			for label := c; label < n; label += k {
				z, dconfidence := b.values(a[1].F, n, label), b.values(a[4].F, n, label)
				for i, s := range b.of(label) {
					dconfidence[i*n] += s * (z[i*n] - fused[i]) * dy[i*k]
				}
			}
		}
	}
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
