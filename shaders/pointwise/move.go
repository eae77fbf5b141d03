package pointwise

import (
	_ "embed"
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
)

//go:embed move.wgsl
var moveFile string

// moving gives a kernel the joint kernel moveElements, where all parts consist of quads.
func moving[P any](k *tensor.Kernel, parts func(p *P) []tensor.Part) *tensor.Kernel {
	k.Joint = &tensor.Joint{Kernel: moveElements, Groups: moveGroups, Parts: func(params any) []tensor.Part {
		list := parts(params.(*P))
		if slices.ContainsFunc(list, func(p tensor.Part) bool { return !p.Quads() || p.Rows > 0 && p.Lines%4 != 0 }) {
			return nil
		}
		return list
	}}
	return k
}

// moveElements is the joint kernel of kernels that move elements of parameters.
var moveElements = &tensor.Kernel{
	Name: "move_elements", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite},
	Body: tensor.Body(func(p *tensor.Moves, a []gpu.Array) { moveParts(p, a, unsplit) }), Fast: tensor.Fast(moveParts[float32]),
	Variants: []tensor.Variant{{
		Source: moveFile,
		Groups: func(params any) [3]int { return tensor.Linear(int(params.(*tensor.Moves).Groups), 1) },
	}},
}

// moveGroups is the number of workgroups of a part. An invocation has a quad, or a block of 4 × 4.
func moveGroups(p *tensor.Part) int {
	if p.Rows > 0 {
		return kernels.Ceil(int(p.Rows*p.Lines*p.Columns)/16, kernels.Workgroup)
	}
	return kernels.Ceil(int(p.Lines*p.Columns)/4, kernels.Workgroup)
}

// moveParts moves part after part, and splits the rows of each result.
func moveParts[F gpu.Float](p *tensor.Moves, a []gpu.ArrayOf[F], split gpu.Split) {
	for t := a[1].U[:8*p.Parts]; len(t) > 0; t = t[8:] {
		matrices, step, lines, stride, columns, x, y := t[0], int(t[1]), t[2], int(t[3]), t[4], a[0].F[t[5]:], a[2].F[t[6]:]
		if transposed := (&transposeParams{matrices, lines, columns}); matrices > 0 {
			split(int(matrices*columns), func(from, to int) { transposePart(transposed, []gpu.ArrayOf[F]{{F: x}, {F: y}}, from, to) })
			continue
		}
		split(int(lines), func(from, to int) {
			for line := from; line < to; line++ {
				if to := y[line*step:][:columns]; stride > 0 {
					copy(to, x[line*stride:])
				} else {
					clear(to)
				}
			}
		})
	}
}
