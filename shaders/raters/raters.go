// Package raters has the operators on maps of several raters (B, H, W, M, K): fusion, rules and
// reweighting.
package raters

import (
	_ "embed"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

//go:embed raters.wgsl
var ratersFile string

//go:embed raters_common.wgsl
var ratersCommonPart string

// ratersParams are the extents of maps (B, P, M, K): P pixels, M raters, K classes.
type ratersParams struct{ Batch, Pixels, Raters, Classes uint32 }

// quadPixels is the least number of pixels that fill whole quads in (B, P, M, K) and in (B, P, K).
func (p *ratersParams) quadPixels() int {
	switch {
	case p.Classes%4 == 0:
		return 1
	case p.Classes%2 == 0:
		return 2
	}
	return 4
}

// mostBlockValues is the largest number of values of (B, P, M, K) in a block in quads. Compilers do
// not unroll longer loops, and then keep the arrays out of registers.
const mostBlockValues = 128

// inQuads says whether blocks are in quads: if an image has whole ones, and they are not too large.
func (p *ratersParams) inQuads() bool {
	n := p.quadPixels()
	return int(p.Pixels)%n == 0 && n*int(p.Raters*p.Classes) <= mostBlockValues
}

// perBlock is a kernel with an invocation for each block of pixels (raters_common.wgsl). Each image
// has a layer of workgroups.
func perBlock(name, file string, arguments []gpu.Access, body func(p *ratersParams, a []gpu.Array)) *tensor.Kernel {
	pixels := func(p *ratersParams) (pixels, width int) {
		if p.inQuads() {
			return p.quadPixels(), 4
		}
		return 1, 1
	}
	return &tensor.Kernel{
		Name: name, Arguments: arguments, Body: tensor.Body(body),
		Variants: []tensor.Variant{{
			Source: kernels.Joined(ratersCommonPart, file),
			Groups: func(params any) [3]int {
				p := params.(*ratersParams)
				n, _ := pixels(p)
				groups := tensor.Linear(int(p.Pixels)/n, kernels.Workgroup)
				groups[2] = int(p.Batch)
				return groups
			},
			Header: func(params any) string {
				p := params.(*ratersParams)
				m, k := int(p.Raters), int(p.Classes)
				n, width := pixels(p)
				places := map[int]string{1: "0.0", 4: "vec4<f32>(0.0, 1.0, 2.0, 3.0)"}[width]
				return kernels.InWidths(width) + "const PLACES = " + places + ";\n" + tensor.Constants(map[string]int{
					"RATERS": m, "CLASSES": k, "LABELS": m * k, "PIXELS": n, "VALUES": n * m * k, "RESULTS": n * k,
				})
			},
		}},
	}
}

func ratersPixels(p *ratersParams) uint32 { return p.Batch * p.Pixels }

var (
	shuffleRaters = kernels.InPieces(ratersPixels, shuffleRatersPart[float64], shuffleRatersPart[float32],
		perBlock("shuffle_raters", ratersFile, []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, nil))
	weighRaters = kernels.InPieces(ratersPixels, weighRatersPart[float64], weighRatersPart[float32],
		perBlock("weigh_raters", ratersFile, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, nil))
	disputed = kernels.InPieces(ratersPixels, disputedPart[float64], disputedPart[float32],
		perBlock("disputed", ratersFile, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, nil))
)

// ofPixel gives the values of a pixel in x (B, P, M, K), ofImage those of its image in x (B, M, K).
func ofPixel[F gpu.Float](p *ratersParams, x []F, pixel int) []F {
	n := int(p.Raters * p.Classes)
	return x[pixel*n:][:n]
}

func ofImage[F gpu.Float](p *ratersParams, x []F, pixel int) []F {
	return ofPixel(p, x, pixel/int(p.Pixels))
}

// fusedOf gives the values of a pixel in x (B, P, K).
func fusedOf[F gpu.Float](p *ratersParams, x []F, pixel int) []F {
	return x[pixel*int(p.Classes):][:p.Classes]
}

func shuffleRatersPart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	n, k := int(p.Raters*p.Classes), int(p.Classes)
	labels, scale, shift := make([]uint32, n), make([]F, n), make([]F, n)
	for label := range labels {
		labels[label] = a[1].U[label/k]*p.Classes + uint32(label%k)
		scale[label], shift[label] = a[2].F[label/k], a[3].F[label/k]
	}
	scaleRows(a[4].F[from*n:to*n], a[0].F[from*n:to*n], labels, scale, shift)
}

// scaleRows makes y[r, i] = scale[i] x[r, from[i]] + shift[i].
func scaleRows[F gpu.Float](y, x []F, from []uint32, scale, shift []F) {
	for n := len(from); len(y) >= n; x, y = x[n:], y[n:] {
		for i, j := range from {
			y[i] = F(scale[i]*x[j]) + shift[i] // two roundings, on arm64 too
		}
	}
}

func weighRatersPart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	n, pixels := int(p.Raters*p.Classes), int(p.Pixels)
	same, zero := make([]uint32, n), make([]F, n)
	for label := range same {
		same[label] = uint32(label)
	}
	for from < to {
		end := min(to, (from/pixels+1)*pixels) // of the image
		scaleRows(a[2].F[from*n:end*n], a[0].F[from*n:end*n], same, ofImage(p, a[1].F, from), zero)
		from = end
	}
}

func disputedPart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	n, k := int(p.Raters*p.Classes), int(p.Classes)
	var labels planes[F]
	var plane [planePixels]F
	rows := make([]int, 0, p.Raters)
	for from < to {
		image := from / int(p.Pixels)
		pixels := min(to-from, (image+1)*int(p.Pixels)-from, pixelsInPlanes(n))
		labels.gather(a[0].F[from*n:(from+pixels)*n], n)
		valid, y := ofImage(p, a[1].F, from), a[2].F[from*k:(from+pixels)*k]
		for c := range k {
			rows = rows[:0]
			for label := c; label < n; label += k {
				if valid[label] > 0 {
					rows = append(rows, label*pixels)
				}
			}
			differAcross(plane[:pixels], labels.memory(), rows)
			for i, v := range plane[:pixels] {
				y[i*k+c] = v
			}
		}
		from += pixels
	}
}

// differAcross sets y[i] to 1 if the elements i of the rows of x differ, and otherwise to 0. rows
// has the index in x at which each row begins.
func differAcross[F gpu.Float](y, x []F, rows []int) {
	clear(y)
	for _, row := range rows {
		for i, v := range x[row:][:len(y)] {
			if v != x[rows[0]+i] {
				y[i] = 1
			}
		}
	}
}

// ratersOf checks that x is maps (B, H, W, M, K), and returns their extents.
func ratersOf(operator string, x *tensor.Tensor) *ratersParams {
	kernels.RequireShape(operator, "maps", x, -1, -1, -1, -1, -1)
	return &ratersParams{uint32(x.Dim(0)), uint32(x.Dim(1) * x.Dim(2)), uint32(x.Dim(3)), uint32(x.Dim(4))}
}

// Reweighting is one of PAPER.md §3.8: rater m gets scale[m] times the confidence of rater
// order[m], plus offset[m]. A permutation has scale 1 and offset 0; random confidences ψ have scale
// 0 and offset log ψ. order (M) u32, scale, offset (M).
type Reweighting struct{ Order, Scale, Offset *tensor.Tensor }

var repeatRaters = kernels.Repeat(func(p *ratersParams, n uint32) { p.Batch *= n })

var (
	shuffleRatersKind = kernels.Operator(tensor.Kind{Name: "ShuffleRaters"}, shuffleRaters, nil)
	weighRatersKind   = kernels.Operator(tensor.Kind{Name: "WeighRaters", Passes: 1, Images: 2, Repeat: repeatRaters}, weighRaters, func(op *tensor.Op) {
		back := op.Graph().New("weighed gradient", op.Output().Shape())
		op.Dispatch(weighRaters, op.Attributes, op.Output().Gradient(), op.Inputs[1], back)
		pointwise.AddTo(op.Inputs[0], back, 1)
	})
	disputedKind = kernels.Operator(tensor.Kind{Name: "Disputed", Images: 2, Repeat: repeatRaters}, disputed, nil)
)

// Shuffle applies a reweighting to confidences x (B, H, W, M, K). No gradient passes.
func Shuffle(x *tensor.Tensor, s Reweighting) *tensor.Tensor {
	p := ratersOf("shuffle_raters", x)
	for _, t := range []*tensor.Tensor{s.Order, s.Scale, s.Offset} {
		kernels.RequireShape("shuffle_raters", "order, scale, offset", t, x.Dim(3))
	}
	return x.Graph().Apply(shuffleRatersKind, p, x.Shape(), x, s.Order, s.Scale, s.Offset)
}

// Weigh multiplies the map of structure k by rater m of image b, x (B, H, W, M, K), by share[b, m,
// k].
func Weigh(x, share *tensor.Tensor) *tensor.Tensor {
	p := ratersOf("weigh_raters", x)
	kernels.RequireShape("weigh_raters", "share", share, x.Dim(0), x.Dim(3), x.Dim(4))
	return x.Graph().Apply(weighRatersKind, p, x.Shape(), x, share)
}

// Disputed is 1 where the labels of two raters differ, and 0 elsewhere: labels z (B, H, W, M, K),
// valid (B, M, K), result (B, H, W, K). Raters who did not label do not count. No gradient passes.
func Disputed(z, valid *tensor.Tensor) *tensor.Tensor {
	p := ratersOf("disputed", z)
	kernels.RequireShape("disputed", "valid", valid, z.Dim(0), z.Dim(3), z.Dim(4))
	return z.Graph().Apply(disputedKind, p, []int{z.Dim(0), z.Dim(1), z.Dim(2), z.Dim(4)}, z, valid)
}
