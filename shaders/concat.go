package shaders

import (
	_ "embed"
	"fmt"
	"slices"

	"mrprism/internal/gpu"
)

//go:embed concat.wgsl
var concatFile string

type concatParams struct{ Rows, Columns, Part, Offset, Chunks uint32 }

// concatQuads: quads begin and end with rows and their parts.
func concatQuads(p *concatParams) bool { return (p.Columns|p.Part|p.Offset)%4 == 0 }

var (
	concatForward = columnwise("concat_forward", concatFile, []gpu.Access{read, read, write},
		func(p *concatParams) uint32 { return p.Chunks * p.Columns }, concatQuads,
		func(p *concatParams, a []gpu.Array) {
			for r := range p.Rows {
				y := a[2].F[r*p.Columns:]
				copy(y, a[0].F[r*p.Part:][:p.Part])
				copy(y[p.Part:], a[1].F[r*(p.Columns-p.Part):][:p.Columns-p.Part])
			}
		})
	splitForward = columnwise("split_forward", concatFile, []gpu.Access{read, write, write},
		func(p *concatParams) uint32 { return p.Chunks * p.Columns }, concatQuads,
		func(p *concatParams, a []gpu.Array) {
			for r := range p.Rows {
				both := a[0].F[r*p.Columns:][:p.Columns]
				copy(a[1].F[r*p.Part:], both[:p.Part])
				copy(a[2].F[r*(p.Columns-p.Part):], both[p.Part:])
			}
		})
	sliceForward = columnwise("slice_forward", concatFile, []gpu.Access{read, write},
		func(p *concatParams) uint32 { return p.Chunks * p.Part }, concatQuads,
		func(p *concatParams, a []gpu.Array) {
			for r := range p.Rows {
				copy(a[1].F[r*p.Part:][:p.Part], a[0].F[r*p.Columns+p.Offset:])
			}
		})
	sliceBackward = columnwise("slice_backward", concatFile, []gpu.Access{read, write},
		func(p *concatParams) uint32 { return p.Chunks * p.Part }, concatQuads,
		func(p *concatParams, a []gpu.Array) {
			for r := range p.Rows {
				for c := range p.Part {
					a[1].F[r*p.Columns+p.Offset+c] += a[0].F[r*p.Part+c]
				}
			}
		})
	concatBackward = columnwise("concat_backward", concatFile, []gpu.Access{read, write},
		func(p *concatParams) uint32 { return p.Chunks * p.Part }, concatQuads,
		func(p *concatParams, a []gpu.Array) {
			for r := range p.Rows {
				for c := range p.Part {
					a[1].F[r*p.Part+c] += a[0].F[r*p.Columns+p.Offset+c]
				}
			}
		})
)

// Slice is the elements of x (…, N, C) at [from, to) of the extent before the last: (…, to - from, C).
func Slice(x *Tensor, from, to int) *Tensor {
	axis := len(x.Shape()) - 2
	if axis < 0 || from < 0 || to <= from || to > x.Dim(axis) {
		panic(fmt.Sprintf("Slice: %v has no elements [%d, %d) before its last extent", x, from, to))
	}
	g := x.Graph()
	shape := slices.Clone(x.Shape())
	shape[axis] = to - from
	whole, part := x.Dim(axis)*x.Dim(-1), (to-from)*x.Dim(-1)
	rows := x.Elements() / whole
	p := &concatParams{uint32(rows), uint32(whole), uint32(part), uint32(from * x.Dim(-1)), uint32(stripes(rows, part))}
	y := g.New("slice", shape, x)
	g.Dispatch(sliceForward, p, x, y)
	g.OnBackward(y, func() { g.Dispatch(sliceBackward, p, y.Gradient(), x.Gradient()) })
	return y
}

// Concat joins a (…, A) and b (…, B) along the last extent: (…, A+B).
func Concat(a, b *Tensor) *Tensor {
	last := len(a.Shape()) - 1
	if len(b.Shape()) != len(a.Shape()) || !slices.Equal(a.Shape()[:last], b.Shape()[:last]) {
		panic(fmt.Sprintf("Concat: %v and %v differ in more than the last extent", a, b))
	}
	g := a.Graph()
	shape := slices.Clone(a.Shape())
	shape[last] += b.Dim(-1)
	rows, columns := a.Elements()/a.Dim(-1), shape[last]
	params := func(part, offset, width int) *concatParams {
		chunks := stripes(rows, width)
		return &concatParams{uint32(rows), uint32(columns), uint32(part), uint32(offset), uint32(chunks)}
	}
	y := g.New("concat", shape, a, b)
	g.Dispatch(concatForward, params(a.Dim(-1), 0, columns), a, b, y)
	g.OnBackward(y, func() {
		if a.NeedsGradient() {
			g.Dispatch(concatBackward, params(a.Dim(-1), 0, a.Dim(-1)), y.Gradient(), a.Gradient())
		}
		if b.NeedsGradient() {
			g.Dispatch(concatBackward, params(b.Dim(-1), a.Dim(-1), b.Dim(-1)), y.Gradient(), b.Gradient())
		}
	})
	return y
}

// Split is what Concat joined: of x (…, A+B) the first A of the last extent, (…, A), and the others, (…, B). A convolution whose result alone
// is split writes both by itself.
func Split(x *Tensor, first int) (a, b *Tensor) {
	last := len(x.Shape()) - 1
	columns := x.Dim(-1)
	if first < 1 || first >= columns {
		panic(fmt.Sprintf("Split: %v does not divide after %d of its last extent", x, first))
	}
	g := x.Graph()
	rows := x.Elements() / columns
	part := func(offset, width int) *Tensor {
		shape := slices.Clone(x.Shape())
		shape[last] = width
		y := g.New("split", shape, x)
		g.OnBackward(y, func() {
			chunks := stripes(rows, width)
			g.Dispatch(sliceBackward, &concatParams{uint32(rows), uint32(columns), uint32(width), uint32(offset), uint32(chunks)}, y.Gradient(), x.Gradient())
		})
		return y
	}
	a, b = part(0, first), part(first, columns-first)
	chunks := stripes(rows, columns)
	g.Dispatch(splitForward, &concatParams{uint32(rows), uint32(columns), uint32(first), 0, uint32(chunks)}, x, a, b)
	return a, b
}
