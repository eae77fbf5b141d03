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

func concatRows(p *concatParams) uint32  { return p.Rows }
func concatWhole(p *concatParams) uint32 { return p.Chunks * p.Columns }
func concatPart(p *concatParams) uint32  { return p.Chunks * p.Part }

var (
	concatForward = inRows(concatRows, concatForwardPart[float64], concatForwardPart[float32],
		columnwise("concat_forward", concatFile, []gpu.Access{read, read, write}, concatWhole, concatQuads, nil))
	splitForward = inRows(concatRows, splitForwardPart[float64], splitForwardPart[float32],
		columnwise("split_forward", concatFile, []gpu.Access{read, write, write}, concatWhole, concatQuads, nil))
	sliceForward = inRows(concatRows, sliceForwardPart[float64], sliceForwardPart[float32],
		columnwise("slice_forward", concatFile, []gpu.Access{read, write}, concatPart, concatQuads, nil))
	sliceBackward = inRows(concatRows, sliceBackwardPart[float64], sliceBackwardPart[float32],
		columnwise("slice_backward", concatFile, []gpu.Access{read, write}, concatPart, concatQuads, nil))
	concatBackward = inRows(concatRows, concatBackwardPart[float64], concatBackwardPart[float32],
		columnwise("concat_backward", concatFile, []gpu.Access{read, write}, concatPart, concatQuads, nil))
)

func concatForwardPart[F gpu.Float](p *concatParams, a []gpu.ArrayOf[F], from, to int) {
	columns, part := int(p.Columns), int(p.Part)
	for r := from; r < to; r++ {
		y := a[2].F[r*columns:][:columns]
		copy(y[:part], a[0].F[r*part:])
		copy(y[part:], a[1].F[r*(columns-part):])
	}
}

func splitForwardPart[F gpu.Float](p *concatParams, a []gpu.ArrayOf[F], from, to int) {
	columns, part := int(p.Columns), int(p.Part)
	for r := from; r < to; r++ {
		both := a[0].F[r*columns:][:columns]
		copy(a[1].F[r*part:], both[:part])
		copy(a[2].F[r*(columns-part):], both[part:])
	}
}

// within is row r of a part, in the whole.
func within[F gpu.Float](p *concatParams, whole []F, r int) []F {
	return whole[r*int(p.Columns)+int(p.Offset):][:p.Part]
}

func sliceForwardPart[F gpu.Float](p *concatParams, a []gpu.ArrayOf[F], from, to int) {
	for r := from; r < to; r++ {
		copy(a[1].F[r*int(p.Part):], within(p, a[0].F, r))
	}
}

func sliceBackwardPart[F gpu.Float](p *concatParams, a []gpu.ArrayOf[F], from, to int) {
	for r := from; r < to; r++ {
		addRow(within(p, a[1].F, r), a[0].F[r*int(p.Part):])
	}
}

func concatBackwardPart[F gpu.Float](p *concatParams, a []gpu.ArrayOf[F], from, to int) {
	for r := from; r < to; r++ {
		addRow(a[1].F[r*int(p.Part):][:p.Part], within(p, a[0].F, r))
	}
}

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
