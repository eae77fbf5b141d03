package raters

import (
	_ "embed"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed fuse.wgsl
var fuseFile string

var (
	fuseForward = kernels.InPieces(ratersPixels, fusePart[float64], fusePart[float32],
		perBlock("fuse_forward", fuseFile, []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, nil))
	fuseBackwardZ = kernels.Adding(kernels.InPieces(ratersPixels, fuseBackwardZPart[float64], fuseBackwardZPart[float32],
		perBlock("fuse_backward_z", fuseFile, []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, nil)))
	fuseBackwardConfidence = kernels.Adding(kernels.InPieces(ratersPixels, fuseBackwardConfidencePart[float64], fuseBackwardConfidencePart[float32],
		perBlock("fuse_backward_confidence", fuseFile, []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, nil)))
)

// fusion holds the shares of some pixels of one image. For each class, the shares are the softmax
// of the confidences over the raters who labelled the class. Other raters have the share 0.
type fusion[F gpu.Float] struct {
	p             *ratersParams
	first, pixels int
	valid         []F   // (M, K), of the image
	rows          []int // of one class, in the planes
	shares, other planes[F]
	largest, sums [planePixels]F
}

// startFusion is a fusion before its first pixels.
func startFusion[F gpu.Float](p *ratersParams, first int) (b fusion[F]) {
	b.p, b.first = p, first
	return b
}

func (b *fusion[F]) labels() int  { return int(b.p.Raters * b.p.Classes) }
func (b *fusion[F]) classes() int { return int(b.p.Classes) }

// next computes the shares of the pixels that follow, up to end. It returns false if none do.
func (b *fusion[F]) next(confidence, valid []F, end int) bool {
	b.first += b.pixels
	if b.first >= end {
		return false
	}
	image := b.first / int(b.p.Pixels)
	b.pixels = min(end-b.first, (image+1)*int(b.p.Pixels)-b.first, pixelsInPlanes(b.labels()))
	b.valid = ofImage(b.p, valid, b.first)
	b.shares.gather(b.values(confidence, b.labels()), b.labels())
	for c := range b.classes() {
		b.share(c)
	}
	return true
}

// values are the values of these pixels in x, in which each pixel has n values.
func (b *fusion[F]) values(x []F, n int) []F { return x[b.first*n:][:b.pixels*n] }

// share replaces the confidences of class c by shares.
func (b *fusion[F]) share(c int) {
	b.rows = b.rows[:0]
	for label := c; label < b.labels(); label += b.classes() {
		if b.valid[label] > 0 {
			b.rows = append(b.rows, label*b.pixels)
		} else {
			clear(b.shares.plane(label, b.pixels))
		}
	}
	softmaxAcross(b.shares.memory(), b.rows, b.largest[:b.pixels], b.sums[:b.pixels])
}

// softmaxAcross replaces rows of x by their softmax across rows: the elements i of all rows become
// positive and add up to 1. rows has the index in x at which each row begins.
func softmaxAcross[F gpu.Float](x []F, rows []int, largest, sums []F) {
	for i := range largest {
		largest[i], sums[i] = F(math.Inf(-1)), 0
	}
	for _, row := range rows {
		vector.TakeLarger(largest, x[row:][:len(largest)])
	}
	for _, row := range rows {
		s := x[row:][:len(sums)]
		vector.AddScaled(s, largest, -1)
		exponentials(s)
		vector.Add(sums, s)
	}
	for i, sum := range sums {
		sums[i] = 1 / sum
	}
	for _, row := range rows {
		vector.Multiply(x[row:][:len(sums)], sums)
	}
}

// fused returns class c of the fused labels. The planes of the raters' labels are in b.other.
func (b *fusion[F]) fused(c int) []F {
	y := b.sums[:b.pixels]
	b.rows = b.rows[:0]
	for label := c; label < b.labels(); label += b.classes() {
		b.rows = append(b.rows, label*b.pixels)
	}
	sumProductsAcross(y, b.shares.memory(), b.other.memory(), b.rows)
	return y
}

// sumProductsAcross makes y[i] = Σ a[row+i] b[row+i] over the rows.
func sumProductsAcross[F gpu.Float](y, a, b []F, rows []int) {
	clear(y)
	for _, row := range rows {
		vector.AddProducts(y, a[row:][:len(y)], b[row:][:len(y)])
	}
}

func fusePart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	b := startFusion[F](p, from)
	k := b.classes()
	for b.next(a[0].F, a[2].F, to) {
		b.other.gather(b.values(a[1].F, b.labels()), b.labels())
		y := b.values(a[3].F, k)
		for c := range k {
			for i, v := range b.fused(c) {
				y[i*k+c] = v
			}
		}
	}
}

func fuseBackwardZPart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	b := startFusion[F](p, from)
	for b.next(a[0].F, a[2].F, to) {
		b.other.gather(b.values(a[3].F, b.classes()), b.classes())
		for label := range b.labels() {
			vector.Multiply(b.shares.plane(label, b.pixels), b.other.plane(label%b.classes(), b.pixels))
		}
		b.shares.addTo(b.values(a[4].F, b.labels()), b.labels())
	}
}

func fuseBackwardConfidencePart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	b := startFusion[F](p, from)
	k := b.classes()
	for b.next(a[0].F, a[2].F, to) {
		b.other.gather(b.values(a[1].F, b.labels()), b.labels())
		dy := b.values(a[3].F, k)
		for c := range k {
			fused, gradient := b.fused(c), b.largest[:b.pixels]
			for i := range gradient {
				gradient[i] = dy[i*k+c]
			}
			for label := c; label < b.labels(); label += k {
				s, z := b.shares.plane(label, b.pixels), b.other.plane(label, b.pixels)
				vector.AddScaled(z, fused, -1)
				vector.Multiply(s, z)
				vector.Multiply(s, gradient)
			}
		}
		b.shares.addTo(b.values(a[4].F, b.labels()), b.labels())
	}
}

var fuseKind = kernels.Operator(tensor.Kind{Name: "Fuse", Passes: 2, Images: 3, Repeat: repeatRaters}, fuseForward, func(op *tensor.Op) {
	confidence, z, valid, dy := op.Inputs[0], op.Inputs[1], op.Inputs[2], op.Output().Gradient()
	if z.NeedsGradient() {
		op.Dispatch(fuseBackwardZ, op.Attributes, confidence, z, valid, dy, z.Gradient())
	}
	if confidence.NeedsGradient() {
		op.Dispatch(fuseBackwardConfidence, op.Attributes, confidence, z, valid, dy, confidence.Gradient())
	}
})

// Fuse is the paper's ⊙ (PAPER.md §3.3): Σ_m softmax_m(ℓ) z, softmax over the raters who labelled
// the structure. confidence ℓ and z (B, H, W, M, K), valid (B, M, K) of 0 and 1; the result is (B,
// H, W, K).
func Fuse(confidence, z, valid *tensor.Tensor) *tensor.Tensor {
	kernels.SameShape("fuse", confidence, z)
	p := ratersOf("fuse", z)
	kernels.RequireShape("fuse", "valid", valid, z.Dim(0), z.Dim(3), z.Dim(4))
	return z.Graph().Apply(fuseKind, p, []int{z.Dim(0), z.Dim(1), z.Dim(2), z.Dim(4)}, confidence, z, valid)
}

// exponentials replaces every x[i] by e^x[i].
func exponentials[F gpu.Float](x []F) {
	if single := vector.Singles(x); single != nil {
		vector.Exp(single, 1, 0)
		return
	}
	for i, v := range x {
		x[i] = F(math.Exp(float64(v)))
	}
}
