package shaders

import (
	_ "embed"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

//go:embed raters.wgsl
var ratersFile string

//go:embed raters_block.wgsl
var ratersBlockPart string

// ratersParams are the extents of maps (B, P, M, K): P pixels, M raters, K classes.
type ratersParams struct{ Batch, Pixels, Raters, Classes uint32 }

// quadPixels are how few pixels fill whole quads in (B, P, M, K) and in (B, P, K).
func (p *ratersParams) quadPixels() int {
	switch {
	case p.Classes%4 == 0:
		return 1
	case p.Classes%2 == 0:
		return 2
	}
	return 4
}

// mostBlockValues is what a block in quads may hold of (B, P, M, K): loops over more are not unrolled, and their arrays are no registers any more.
const mostBlockValues = 128

// inQuads says whether blocks are taken in quads: an image has whole ones, and they are not too large.
func (p *ratersParams) inQuads() bool {
	n := p.quadPixels()
	return int(p.Pixels)%n == 0 && n*int(p.Raters*p.Classes) <= mostBlockValues
}

// perBlock is a kernel with an invocation for each block of pixels (raters_block.wgsl), in quads where they are so (inQuads); an image
// is a layer of workgroups.
func perBlock(name, file string, arguments []gpu.Access, body func(p *ratersParams, a []gpu.Array)) *tensor.Kernel {
	variant := func(name, width string, quads bool) tensor.Variant {
		pixels := func(p *ratersParams) int {
			if quads {
				return p.quadPixels()
			}
			return 1
		}
		return tensor.Variant{
			Name: name, Source: joined(width, ratersBlockPart, file),
			Runs: func(_ gpu.Info, params any) bool {
				return quads == params.(*ratersParams).inQuads()
			},
			Groups: func(params any) [3]int {
				p := params.(*ratersParams)
				groups := tensor.Linear(int(p.Pixels)/pixels(p), elementwise)
				groups[2] = int(p.Batch)
				return groups
			},
			Consts: func(params any) map[string]string {
				p := params.(*ratersParams)
				m, k, n := int(p.Raters), int(p.Classes), pixels(p)
				return unsigned(map[string]int{"RATERS": m, "CLASSES": k, "LABELS": m * k, "PIXELS": n, "VALUES": n * m * k, "RESULTS": n * k})
			},
		}
	}
	return &tensor.Kernel{
		Name: name, Arguments: arguments, Body: tensor.Body(body),
		Variants: []tensor.Variant{variant("quads", quadsPart, true), variant("", singlesPart, false)},
	}
}

func ratersPixels(p *ratersParams) uint32 { return p.Batch * p.Pixels }

var (
	shuffleRaters = inPieces(ratersPixels, shuffleRatersPart[float64], shuffleRatersPart[float32],
		perBlock("shuffle_raters", ratersFile, []gpu.Access{read, read, read, read, write}, nil))
	weighRaters = inPieces(ratersPixels, weighRatersPart[float64], weighRatersPart[float32],
		perBlock("weigh_raters", ratersFile, []gpu.Access{read, read, write}, nil))
	disputed = inPieces(ratersPixels, disputedPart[float64], disputedPart[float32],
		perBlock("disputed", ratersFile, []gpu.Access{read, read, write}, nil))
)

// ofPixel is what a pixel has in x (B, P, M, K), ofImage what its image has in x (B, M, K).
func ofPixel[F gpu.Float](p *ratersParams, x []F, pixel int) []F {
	n := int(p.Raters * p.Classes)
	return x[pixel*n:][:n]
}

func ofImage[F gpu.Float](p *ratersParams, x []F, pixel int) []F {
	return ofPixel(p, x, pixel/int(p.Pixels))
}

// fusedOf is what a pixel has in x (B, P, K).
func fusedOf[F gpu.Float](p *ratersParams, x []F, pixel int) []F {
	return x[pixel*int(p.Classes):][:p.Classes]
}

func shuffleRatersPart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	k := int(p.Classes)
	for pixel := from; pixel < to; pixel++ {
		x, y := ofPixel(p, a[0].F, pixel), ofPixel(p, a[4].F, pixel)
		for m, other := range a[1].U[:p.Raters] {
			scale, offset, y := a[2].F[m], a[3].F[m], y[m*k:][:k]
			for c, v := range x[int(other)*k:][:k] {
				y[c] = scale*v + offset
			}
		}
	}
}

func weighRatersPart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	for pixel := from; pixel < to; pixel++ {
		share, y := ofImage(p, a[1].F, pixel), ofPixel(p, a[2].F, pixel)
		for i, v := range ofPixel(p, a[0].F, pixel) {
			y[i] = v * share[i]
		}
	}
}

func disputedPart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	k := int(p.Classes)
	for pixel := from; pixel < to; pixel++ {
		label, valid, y := ofPixel(p, a[0].F, pixel), ofImage(p, a[1].F, pixel), fusedOf(p, a[2].F, pixel)
		for c := range y {
			least, most := F(2), F(-1)
			for i := c; i < len(label); i += k {
				if valid[i] > 0 {
					least, most = min(least, label[i]), max(most, label[i])
				}
			}
			y[c] = 0
			if most > least {
				y[c] = 1
			}
		}
	}
}

// ratersOf checks maps (B, H, W, M, K) and gives their extents.
func ratersOf(operator string, x *Tensor) *ratersParams {
	requireShape(operator, "maps", x, -1, -1, -1, -1, -1)
	return &ratersParams{uint32(x.Dim(0)), uint32(x.Dim(1) * x.Dim(2)), uint32(x.Dim(3)), uint32(x.Dim(4))}
}

// Shuffle holds one reweighting of PAPER.md §3.8: rater m gets scale[m] times the confidence of rater order[m], plus offset[m].
// A permutation has scale 1 and offset 0; random confidences ψ have scale 0 and offset log ψ. order (M) u32, scale, offset (M).
type Shuffle struct{ Order, Scale, Offset *Tensor }

// ShuffleRaters applies a reweighting to confidences x (B, H, W, M, K). No gradient passes.
func ShuffleRaters(x *Tensor, s Shuffle) *Tensor {
	p := ratersOf("shuffle_raters", x)
	for _, t := range []*Tensor{s.Order, s.Scale, s.Offset} {
		requireShape("shuffle_raters", "order, scale, offset", t, x.Dim(3))
	}
	g := x.Graph()
	y := g.New("shuffle_raters", x.Shape())
	g.Dispatch(shuffleRaters, p, x, s.Order, s.Scale, s.Offset, y)
	return y
}

// WeighRaters multiplies the map of structure k by rater m of image b, x (B, H, W, M, K), by share[b, m, k].
func WeighRaters(x, share *Tensor) *Tensor {
	p := ratersOf("weigh_raters", x)
	requireShape("weigh_raters", "share", share, x.Dim(0), x.Dim(3), x.Dim(4))
	g := x.Graph()
	y := g.New("weigh_raters", x.Shape(), x)
	g.Dispatch(weighRaters, p, x, share, y)
	g.OnBackward(y, func() {
		back := g.New("weighed gradient", x.Shape())
		g.Dispatch(weighRaters, p, y.Gradient(), share, back)
		addTo(x, back, 1)
	})
	return y
}

// Disputed is 1 where two raters who labelled differ: labels z (B, H, W, M, K), valid (B, M, K), result (B, H, W, K). No gradient.
func Disputed(z, valid *Tensor) *Tensor {
	p := ratersOf("disputed", z)
	requireShape("disputed", "valid", valid, z.Dim(0), z.Dim(3), z.Dim(4))
	g := z.Graph()
	y := g.New("disputed", []int{z.Dim(0), z.Dim(1), z.Dim(2), z.Dim(4)})
	g.Dispatch(disputed, p, z, valid, y)
	return y
}
