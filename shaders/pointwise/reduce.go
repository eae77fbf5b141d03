package pointwise

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed reduce.wgsl
var reduceFile string

type ReduceParams struct{ Rows, Columns, Chunks uint32 }

func reduceColumns(p *ReduceParams) uint32 { return p.Columns }
func reduceStripes(p *ReduceParams) uint32 { return p.Chunks * p.Columns }
func reduceAll(p *ReduceParams) uint32     { return p.Rows * p.Columns }
func reduceQuads(p *ReduceParams) bool     { return p.Columns%4 == 0 }

var (
	reduceRowsPartial = kernels.Wide(kernels.InPieces(reduceStripes, reducePartialPart[float64], reducePartialPart[float32],
		kernels.Columnwise("reduce_rows_partial", reduceFile, unary, reduceStripes, reduceQuads, nil)), 1)
	ReduceRowsWrite = kernels.InPieces(reduceColumns, reduceWritePart[float64], reduceWritePart[float32], sliced("reduce_rows_write"))
	reduceRowsAdd   = joining(kernels.Adding(kernels.Wide(
		kernels.InPieces(reduceColumns, reduceAddPart[float64], reduceAddPart[float32], sliced("reduce_rows_add")), 1)), func(p *ReduceParams) tensor.Part {
		return tensor.Part{Rows: p.Chunks, Step: p.Columns, Lines: 1, Columns: p.Columns}
	})
	spreadRows = kernels.Adding(kernels.InPieces(reduceAll, spreadPart[float64], spreadPart[float32],
		kernels.WithHeader(kernels.InOneWidth(1), "spread_rows", reduceFile, unary, reduceStripes, nil)))
)

// sliced is a kernel of column sums. If there are more than fewRows, the rows are divided among the
// slices of a workgroup.
func sliced(name string) *tensor.Kernel {
	k := kernels.Columnwise(name, reduceFile, unary, reduceColumns, reduceQuads, nil)
	v := kernels.TwoWidths(reduceFile, reduceQuads, func(p *ReduceParams, width int) [3]int {
		return [3]int{kernels.Ceil(int(p.Columns)/width, 8), 1, 1}
	})
	v.Name, v.Entry = "sliced", name+"_sliced"
	v.Runs = func(_ gpu.Info, params any) bool { return params.(*ReduceParams).Chunks > fewRows }
	k.Variants = append([]tensor.Variant{v}, k.Variants...)
	return k
}

// AddColumns adds columns [from, to) of every row of x (rows, columns) to y. The last row may be
// cut short.
func AddColumns[F gpu.Float](y, x []F, columns, from, to int) {
	for ; from < len(x); from, to = from+columns, to+columns {
		row := x[from:min(to, len(x))]
		vector.Add(y[:len(row)], row)
	}
}

// reducePartialPart takes x as a matrix of Chunks·Columns columns.
func reducePartialPart[F gpu.Float](p *ReduceParams, a []gpu.ArrayOf[F], from, to int) {
	y := a[1].F[from:to]
	clear(y)
	AddColumns(y, a[0].F[:p.Rows*p.Columns], int(p.Chunks*p.Columns), from, to)
}

func reduceWritePart[F gpu.Float](p *ReduceParams, a []gpu.ArrayOf[F], from, to int) {
	clear(a[1].F[from:to])
	reduceAddPart(p, a, from, to)
}

func reduceAddPart[F gpu.Float](p *ReduceParams, a []gpu.ArrayOf[F], from, to int) {
	AddColumns(a[1].F[from:to], a[0].F[:p.Chunks*p.Columns], int(p.Columns), from, to)
}

func spreadPart[F gpu.Float](p *ReduceParams, a []gpu.ArrayOf[F], from, to int) {
	columns := int(p.Columns)
	for i := from; i < to; i++ {
		a[1].F[i] += a[0].F[i%columns]
	}
}

// Stripes is the number of interleaved chunks of rows into which kernels cut a (rows, columns)
// matrix, so that about elementwiseInvocations share the work. Each invocation has one column, or
// four if the columns are a multiple of four, and visits a few rows.
func Stripes(rows, columns int) int {
	if columns%4 == 0 {
		columns /= 4
	}
	return max(1, min((elementwiseInvocations+columns-1)/columns, rows))
}

// elementwiseInvocations is a number of invocations that keeps a GPU busy.
const elementwiseInvocations = 1 << 16

// fewRows are summed one after another, and ManyRows in two steps.
const fewRows, ManyRows = 16, 1 << 12

// ReductionStripes is the number of chunks for sums: √rows. Both steps of a sum then add equally
// many numbers one after another; with few channels, this chain takes most of the time on a GPU.
func ReductionStripes(rows int) int { return int(math.Ceil(math.Sqrt(float64(rows)))) }

// ReduceRows appends the column sums of x, seen as a matrix of `columns` columns, into out. last is
// the kernel of the last step: it decides between = and +=.
func ReduceRows(last *tensor.Kernel, x, out *tensor.Tensor, columns int) {
	if x.Elements()%columns != 0 || out.Elements() != columns {
		panic(fmt.Sprintf("ReduceRows: %v does not have the columns of %v", x, out))
	}
	g := x.Graph()
	rows := x.Elements() / columns
	if rows <= ManyRows {
		g.Dispatch(last, &ReduceParams{uint32(rows), uint32(columns), uint32(rows)}, x, out)
		return
	}
	p := &ReduceParams{uint32(rows), uint32(columns), uint32(ReductionStripes(rows))}
	partials := g.NewOf(gpu.F32, "partial sums", []int{int(p.Chunks), columns})
	g.Dispatch(reduceRowsPartial, p, x, partials)
	g.Dispatch(last, p, partials, out)
}

// SumRows appends gradient[c] += Σ_r x[r, c], in a fixed order: the gradient of whatever was added
// to every row of x.
func SumRows(x, gradient *tensor.Tensor) { ReduceRows(reduceRowsAdd, x, gradient, gradient.Elements()) }

// SumKind takes x.
var SumKind = &tensor.Kind{Name: "Sum", Compute: func(op *tensor.Op) {
	ReduceRows(ReduceRowsWrite, op.Inputs[0], op.Output(), 1)
}, Gradient: func(op *tensor.Op) {
	x, n := op.Inputs[0], op.Inputs[0].Elements()
	op.Dispatch(spreadRows, &ReduceParams{uint32(n), 1, uint32(Stripes(n, 1))}, op.Output().Gradient(), x.Gradient())
}}

// Sum is Σ x, of shape (1). x is of F32.
func Sum(x *tensor.Tensor) *tensor.Tensor {
	if x.Type() != gpu.F32 {
		panic(fmt.Sprintf("Sum: %v is %v, and sums are f32", x, x.Type()))
	}
	return x.Graph().Apply(SumKind, nil, []int{1}, x)
}
