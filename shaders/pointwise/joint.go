package pointwise

import (
	_ "embed"
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed joint.wgsl
var jointFile string

// addSums is the joint kernel of kernels that add sums over rows to gradients of parameters.
var addSums = &tensor.Kernel{
	Name: "add_sums", Arguments: append(slices.Repeat([]gpu.Access{gpu.Read}, tensor.Sources), gpu.ReadWrite), Wide: []int{tensor.Sources},
	Body: tensor.Body(func(p *tensor.Parts, a []gpu.Array) { addParts(p, a, unsplit) }), Fast: tensor.Fast(addParts[float32]),
	Variants: []tensor.Variant{{
		Source: jointFile,
		Header: func(params any) string { return kernels.InWidths(jointWidth(params.(*tensor.Parts))) },
		Groups: func(params any) [3]int {
			p, groups := params.(*tensor.Parts), 0
			for i := range p {
				places := 256
				if p[i].Rows > fewRows {
					places = 8
				}
				groups += kernels.Ceil(int(p[i].Lines*p[i].Columns)/jointWidth(p), places)
			}
			return [3]int{groups, 1, 1}
		},
	}},
}

// unsplit is a split for the reference.
func unsplit(n int, part func(from, to int)) { part(0, n) }

// joining gives a kernel the joint kernel addSums.
func joining[P any](k *tensor.Kernel, part func(p *P) tensor.Part) *tensor.Kernel {
	k.Joint = &tensor.Joint{Kernel: addSums, Parts: func(params any) []tensor.Part { return []tensor.Part{part(params.(*P))} }}
	return k
}

// jointWidth is the number of columns that an invocation has.
func jointWidth(p *tensor.Parts) int {
	if p[0].Quads() {
		return 4
	}
	return 1
}

// addParts adds part after part, and splits the results of each.
func addParts[F gpu.Float](p *tensor.Parts, a []gpu.ArrayOf[F], split gpu.Split) {
	const piece = 1 << 10
	for i := range p {
		results := int(p[i].Lines * p[i].Columns)
		split(kernels.Ceil(results, piece), func(from, to int) {
			addToResults(&p[i], a[tensor.Sources].F, a[i].F, from*piece, min(to*piece, results))
		})
	}
}

// addToResults computes results [from, to) of a part.
func addToResults[F gpu.Float](p *tensor.Part, y, x []F, from, to int) {
	columns := int(p.Columns)
	for from < to {
		line, column := from/columns, from%columns
		n := min(columns-column, to-from)
		sums, at := y[int(p.To)+from+line*int(p.First):][:n], int(p.From)+line*int(p.Stride)+column
		for row := range int(p.Rows) {
			vector.Add(sums, x[at+row*int(p.Step):][:n])
		}
		from += n
	}
}
