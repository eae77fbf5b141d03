package kernels

import (
	"fmt"

	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
)

// InWidths is the header of a kernel in two widths. It declares the type that an invocation loads
// (stored), the type with which it computes (floats), the sum of the elements of floats (added),
// and the number of elements in these types (WIDTH): four side by side, or one.
func InWidths(width int) string {
	if width == 4 {
		return fmt.Sprintf(widths, "real4", "vec4<f32>", 4, "v.x + v.y + v.z + v.w")
	}
	return fmt.Sprintf(widths, "real", "f32", 1, "v")
}

const widths = "alias stored = %s;\nalias floats = %s;\nconst WIDTH: u32 = %du;\nfn added(v: floats) -> f32 { return %s; }\n"

// InOneWidth is InWidths for a kernel that has no other width. Tests know such a kernel by it.
func InOneWidth(width int) string { return InWidths(width) + "// in no other width\n" }

// Flat is PerElement for a file in two widths. If the number of elements is a multiple of four, an
// invocation has four. On an emulated GPU a load of four costs about as much as a load of one.
func Flat[P any](name, file string, arguments []gpu.Access, count func(p *P) uint32, body func(p *P, a []gpu.Array)) *tensor.Kernel {
	return Columnwise(name, file, arguments, count, func(p *P) bool { return count(p)%4 == 0 }, body)
}

// Columnwise is Flat for elements in rows: divides says whether a row consists of whole quads.
func Columnwise[P any](name, file string, arguments []gpu.Access, count func(p *P) uint32, divides func(p *P) bool, body func(p *P, a []gpu.Array)) *tensor.Kernel {
	k := PerElement(name, file, arguments, count, body)
	k.Variants[0] = TwoWidths(file, divides, func(p *P, width int) [3]int {
		return tensor.Linear(int(count(p))/width, Workgroup)
	})
	return k
}

// TwoWidths is a variant whose invocations take four elements if divides(p), and otherwise one.
func TwoWidths[P any](file string, divides func(p *P) bool, groups func(p *P, width int) [3]int) tensor.Variant {
	width := func(params any) int {
		if divides(params.(*P)) {
			return 4
		}
		return 1
	}
	return tensor.Variant{
		Source: file,
		Header: func(params any) string { return InWidths(width(params)) },
		Groups: func(params any) [3]int { return groups(params.(*P), width(params)) },
	}
}
