package pointwise

import (
	_ "embed"
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed transpose.wgsl
var transposeSource string

type transposeParams struct{ Count, Rows, Columns uint32 }

var transposeForward = moving(kernels.InRows(transposeRows, transposePart[float64], transposePart[float32], &tensor.Kernel{
	Name: "transpose", Arguments: unary,
	Variants: []tensor.Variant{
		{
			Name: "quads", Source: transposeSource, Entry: "transpose_quads",
			Runs: func(_ gpu.Info, params any) bool {
				p := params.(*transposeParams)
				return p.Rows%4 == 0 && p.Columns%4 == 0
			},
			Groups: func(params any) [3]int {
				return tensor.Linear(params.(*transposeParams).elements()/16, kernels.Workgroup)
			},
		},
		{
			Source: transposeSource,
			Groups: func(params any) [3]int { return tensor.Linear(params.(*transposeParams).elements(), kernels.Workgroup) },
		},
	},
}), func(p *transposeParams) []tensor.Part {
	return []tensor.Part{{Rows: p.Count, Lines: p.Rows, Columns: p.Columns}}
})

func (p *transposeParams) elements() int { return int(p.Count * p.Rows * p.Columns) }

func transposeRows(p *transposeParams) uint32 { return p.Count * p.Columns }

// transposePart computes rows [from, to) of the results.
func transposePart[F gpu.Float](p *transposeParams, a []gpu.ArrayOf[F], from, to int) {
	rows, columns := int(p.Rows), int(p.Columns)
	for row := from; row < to; {
		x, column := a[0].F[row/columns*rows*columns:], row%columns
		count := min(to-row, columns-column)
		vector.Transpose(a[1].F[row*rows:], rows, x[column:], columns, rows, count, false)
		row += count
	}
}

// Transposed is a weight (…, Cin, Cout) as (…, Cout, Cin), for gradients by the input. All of a
// graph's gradients share it. No gradient passes through it.
func Transposed(w *tensor.Tensor) *tensor.Tensor {
	rows, columns, g := w.Dim(-2), w.Dim(-1), w.Graph()
	return g.Noted([4]any{"transposed", w.Storage(), rows, columns}, func() *tensor.Tensor {
		shape := slices.Clone(w.Shape())
		shape[len(shape)-2], shape[len(shape)-1] = columns, rows
		y := g.NewOf(w.Type(), "transposed weight", shape)
		g.Dispatch(transposeForward, &transposeParams{uint32(w.Elements() / rows / columns), uint32(rows), uint32(columns)}, w, y)
		return y
	})
}
