package shaders

import (
	_ "embed"
	"slices"

	"mrprism/internal/gpu"
)

//go:embed transpose.wgsl
var transposeSource string

type transposeParams struct{ Count, Rows, Columns uint32 }

var transposeForward = perElement("transpose", transposeSource, []gpu.Access{read, write},
	func(p *transposeParams) uint32 { return p.Count * p.Rows * p.Columns },
	func(p *transposeParams, a []gpu.Array) {
		for t := range p.Count {
			for k := range p.Rows {
				for n := range p.Columns {
					a[1].F[(t*p.Columns+n)*p.Rows+k] = a[0].F[(t*p.Rows+k)*p.Columns+n]
				}
			}
		}
	})

// transposed is a weight (…, Cin, Cout) as (…, Cout, Cin), for gradients by the input. No gradient passes through it.
func transposed(w *Tensor) *Tensor {
	rows, columns := w.Dim(-2), w.Dim(-1)
	shape := slices.Clone(w.Shape())
	shape[len(shape)-2], shape[len(shape)-1] = columns, rows
	y := w.Graph().New("transposed weight", shape)
	w.Graph().Dispatch(transposeForward, &transposeParams{uint32(w.Elements() / rows / columns), uint32(rows), uint32(columns)}, w, y)
	return y
}
