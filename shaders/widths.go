package shaders

import (
	_ "embed"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

// singlesPart and quadsPart make of one file a kernel that takes one element at a time, and one that takes four.
var (
	//go:embed widths_singles.wgsl
	singlesPart string
	//go:embed widths_quads.wgsl
	quadsPart string
)

// flat is perElement for a file in two widths: an invocation has four elements where their number is a multiple of four. There is nothing to
// choose between: a load of four costs a processor that emulates a GPU about what a load of one costs, and a GPU no more.
func flat[P any](name, file string, arguments []gpu.Access, count func(p *P) uint32, body func(p *P, a []gpu.Array)) *tensor.Kernel {
	return columnwise(name, file, arguments, count, func(p *P) bool { return count(p)%4 == 0 }, body)
}

// columnwise is flat for elements of rows, which have to be whole quads: divides tells.
func columnwise[P any](name, file string, arguments []gpu.Access, count func(p *P) uint32, divides func(p *P) bool, body func(p *P, a []gpu.Array)) *tensor.Kernel {
	k := perElement(name, joined(singlesPart, file), arguments, count, body)
	k.Variants[0].Runs = func(_ gpu.Info, p any) bool { return !divides(p.(*P)) }
	k.Variants = append(k.Variants, tensor.Variant{
		Name: "quads", Source: joined(quadsPart, file),
		Runs:   func(_ gpu.Info, p any) bool { return divides(p.(*P)) },
		Groups: func(p any) [3]int { return tensor.Linear(int(count(p.(*P))/4), elementwise) },
	})
	return k
}
