package pointwise

import (
	_ "embed"
	"fmt"
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed concat.wgsl
var concatFile string

type ConcatParams struct{ Rows, Columns, Part, Offset, Chunks uint32 }

// concatQuads says whether rows and their parts divide into quads.
func concatQuads(p *ConcatParams) bool { return (p.Columns|p.Part|p.Offset)%4 == 0 }

func concatRows(p *ConcatParams) uint32  { return p.Rows }
func concatWhole(p *ConcatParams) uint32 { return p.Chunks * p.Columns }
func concatPart(p *ConcatParams) uint32  { return p.Chunks * p.Part }

var (
	concatForward = moving(kernels.InRows(concatRows, concatForwardPart[float64], concatForwardPart[float32],
		kernels.Columnwise("concat_forward", concatFile, binary, concatWhole, concatQuads, nil)), func(p *ConcatParams) []tensor.Part {
		rest := p.Columns - p.Part
		return []tensor.Part{
			{Lines: p.Rows, Step: p.Columns, Stride: p.Part, Columns: p.Part},
			{Lines: p.Rows, Step: p.Columns, Stride: rest, Columns: rest, To: p.Part},
		}
	})
	SplitForward = kernels.InRows(concatRows, splitForwardPart[float64], splitForwardPart[float32],
		kernels.Columnwise("split_forward", concatFile, []gpu.Access{gpu.Read, gpu.ReadWrite, gpu.ReadWrite}, concatWhole, concatQuads, nil))
	sliceForward = moving(kernels.InRows(concatRows, sliceForwardPart[float64], sliceForwardPart[float32],
		kernels.Columnwise("slice_forward", concatFile, unary, concatPart, concatQuads, nil)), func(p *ConcatParams) []tensor.Part {
		return []tensor.Part{{Lines: p.Rows, Step: p.Part, Stride: p.Columns, Columns: p.Part, From: p.Offset}}
	})
	sliceBackward = joining(kernels.InRows(concatRows, sliceBackwardPart[float64], sliceBackwardPart[float32],
		kernels.Columnwise("slice_backward", concatFile, unary, concatPart, concatQuads, nil)), func(p *ConcatParams) tensor.Part {
		return tensor.Part{Rows: 1, Lines: p.Rows, Stride: p.Part, Columns: p.Part, To: p.Offset, First: p.Columns - p.Part}
	})
	concatBackward = joining(kernels.Adding(kernels.InRows(concatRows, concatBackwardPart[float64], concatBackwardPart[float32],
		kernels.Columnwise("concat_backward", concatFile, unary, concatPart, concatQuads, nil))), func(p *ConcatParams) tensor.Part {
		return tensor.Part{Rows: 1, Lines: p.Rows, Stride: p.Columns, Columns: p.Part, From: p.Offset}
	})
)

func concatForwardPart[F gpu.Float](p *ConcatParams, a []gpu.ArrayOf[F], from, to int) {
	columns, part := int(p.Columns), int(p.Part)
	for r := from; r < to; r++ {
		y := a[2].F[r*columns:][:columns]
		copy(y[:part], a[0].F[r*part:])
		copy(y[part:], a[1].F[r*(columns-part):])
	}
}

func splitForwardPart[F gpu.Float](p *ConcatParams, a []gpu.ArrayOf[F], from, to int) {
	columns, part := int(p.Columns), int(p.Part)
	for r := from; r < to; r++ {
		both := a[0].F[r*columns:][:columns]
		copy(a[1].F[r*part:], both[:part])
		copy(a[2].F[r*(columns-part):], both[part:])
	}
}

// partRow is row r of a part, as a slice of the whole.
func partRow[F gpu.Float](p *ConcatParams, whole []F, r int) []F {
	return whole[r*int(p.Columns)+int(p.Offset):][:p.Part]
}

func sliceForwardPart[F gpu.Float](p *ConcatParams, a []gpu.ArrayOf[F], from, to int) {
	for r := from; r < to; r++ {
		copy(a[1].F[r*int(p.Part):], partRow(p, a[0].F, r))
	}
}

func sliceBackwardPart[F gpu.Float](p *ConcatParams, a []gpu.ArrayOf[F], from, to int) {
	for r := from; r < to; r++ {
		vector.Add(partRow(p, a[1].F, r), a[0].F[r*int(p.Part):])
	}
}

func concatBackwardPart[F gpu.Float](p *ConcatParams, a []gpu.ArrayOf[F], from, to int) {
	for r := from; r < to; r++ {
		vector.Add(a[1].F[r*int(p.Part):][:p.Part], partRow(p, a[0].F, r))
	}
}

// sliceParams are the parameters of a kernel that takes `part` columns of (rows, columns), from
// offset on. Its invocations compute `width` columns.
func sliceParams(rows, columns, part, offset, width int) *ConcatParams {
	return &ConcatParams{uint32(rows), uint32(columns), uint32(part), uint32(offset), uint32(Stripes(rows, width))}
}

// repeatConcat is for kernels whose invocations compute whole rows.
var repeatConcat = kernels.Repeat(func(p *ConcatParams, n uint32) {
	p.Rows *= n
	p.Chunks = uint32(Stripes(int(p.Rows), int(p.Columns)))
})

var (
	SliceKind = kernels.Operator(tensor.Kind{Name: "Slice", Halves: tensor.HalvesFollow}, sliceForward, func(op *tensor.Op) {
		op.Dispatch(sliceBackward, op.Attributes, op.Output().Gradient(), op.Inputs[0].Gradient())
	})
	ConcatKind = kernels.Operator(tensor.Kind{Name: "Concat", Halves: tensor.HalvesFollow, Images: 2, Repeat: repeatConcat}, concatForward, func(op *tensor.Op) {
		y, offset := op.Output(), 0
		for _, x := range op.Inputs {
			if x.NeedsGradient() {
				rows := y.Elements() / y.Dim(-1)
				op.Dispatch(concatBackward, sliceParams(rows, y.Dim(-1), x.Dim(-1), offset, x.Dim(-1)), y.Gradient(), x.Gradient())
			}
			offset += x.Dim(-1)
		}
	})
	SplitKind = kernels.Operator(tensor.Kind{Name: "Split", Halves: tensor.HalvesFollow, Images: 1, Repeat: repeatConcat}, SplitForward, func(op *tensor.Op) {
		x, offset := op.Inputs[0], 0
		for _, y := range op.Outputs {
			if y.HasGradient() {
				rows := x.Elements() / x.Dim(-1)
				op.Dispatch(sliceBackward, sliceParams(rows, x.Dim(-1), y.Dim(-1), offset, y.Dim(-1)), y.Gradient(), x.Gradient())
			}
			offset += y.Dim(-1)
		}
	})
)

// Slice is the elements of x (…, N, C) at [from, to) of the extent before the last: (…, to - from,
// C).
func Slice(x *tensor.Tensor, from, to int) *tensor.Tensor {
	axis := len(x.Shape()) - 2
	if axis < 0 || from < 0 || to <= from || to > x.Dim(axis) {
		panic(fmt.Sprintf("Slice: %v has no elements [%d, %d) before its last extent", x, from, to))
	}
	shape := slices.Clone(x.Shape())
	shape[axis] = to - from
	whole, part := x.Dim(axis)*x.Dim(-1), (to-from)*x.Dim(-1)
	return x.Graph().Apply(SliceKind, sliceParams(x.Elements()/whole, whole, part, from*x.Dim(-1), part), shape, x)
}

// Concat joins a (…, A) and b (…, B) along the last extent: (…, A+B).
func Concat(a, b *tensor.Tensor) *tensor.Tensor {
	last := len(a.Shape()) - 1
	if len(b.Shape()) != len(a.Shape()) || !slices.Equal(a.Shape()[:last], b.Shape()[:last]) {
		panic(fmt.Sprintf("Concat: %v and %v differ in more than the last extent", a, b))
	}
	shape := slices.Clone(a.Shape())
	shape[last] += b.Dim(-1)
	rows, columns := a.Elements()/a.Dim(-1), shape[last]
	return a.Graph().Apply(ConcatKind, sliceParams(rows, columns, a.Dim(-1), 0, columns), shape, a, b)
}

// Stack is the tensors side by side, (n B, …).
func Stack(parts []*tensor.Tensor) *tensor.Tensor {
	y := parts[0].Reshape(1, parts[0].Elements())
	for _, x := range parts[1:] {
		y = Concat(y, x.Reshape(1, x.Elements()))
	}
	return y
}

// Split undoes Concat: it cuts the last extent of x (…, A+B) into the first A, (…, A), and the
// rest, (…, B).
func Split(x *tensor.Tensor, first int) (a, b *tensor.Tensor) {
	columns := x.Dim(-1)
	if first < 1 || first >= columns {
		panic(fmt.Sprintf("Split: %v does not divide after %d of its last extent", x, first))
	}
	part := func(width int) *tensor.Tensor {
		shape := slices.Clone(x.Shape())
		shape[len(shape)-1] = width
		return x.Graph().New("split", shape, x)
	}
	a, b = part(first), part(columns-first)
	x.Graph().Append(SplitKind, sliceParams(x.Elements()/columns, columns, first, 0, columns), []*tensor.Tensor{a, b}, x)
	return a, b
}
