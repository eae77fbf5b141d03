package tensor

import (
	"fmt"
	"math"
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/half"
)

// numbers says in which types a dispatch stores its floats and computes with them.
type numbers uint8

const (
	full  numbers = iota // F32
	short                // plans of F16: storage in F16, and short sums if a kernel asks for HALF
	mixed                // tensors of F16 in training: sums in F32, for small gradients
)

// suffix ends the names of programs.
func (n numbers) suffix() string { return [...]string{"", "/f16", "/f16 in f32"}[n] }

// floats is the type of a node's floats, except the kernel's wide arguments, which are F32. It
// panics if the node has floats of two types.
func (n *node) floats() gpu.ElementType {
	floats, first := gpu.F32, -1
	for i, s := range n.arguments {
		switch wide := slices.Contains(n.kernel.Wide, i); {
		case !s.kind.IsFloat(), wide && s.kind == gpu.F32:
		case wide:
			panic(fmt.Sprintf("tensor: argument %d of kernel %s, %s, is %s and has to be %s", i, n.kernel.Name, s.label, s.kind, gpu.F32))
		case first < 0:
			floats, first = s.kind, i
		case s.kind != floats:
			panic(fmt.Sprintf("tensor: argument %d of kernel %s, %s, is %s, and argument %d, %s, is %s", i, n.kernel.Name, s.label, s.kind,
				first, n.arguments[first].label, floats))
		}
	}
	return floats
}

// numbers are the types of floats for a node of the plan.
func (p *Plan) numbers(n *node) numbers {
	switch {
	case n.floats() == gpu.F32:
		return full
	case p.floats == gpu.F16:
		return short
	}
	return mixed
}

// header declares in WGSL what storage holds: real, real4 for four of them side by side, and HALF
// where kernels add short sums in F16 too.
func (n numbers) header() string {
	directive, real := "", "f32"
	if n != full {
		directive, real = "enable f16;\n", "f16"
	}
	return fmt.Sprintf("%salias real = %s;\nalias real4 = vec4<%[2]s>;\nconst HALF: bool = %t;\n", directive, real, n == short)
}

// encode gives floats as a buffer of F32 or F16 holds them. A finite value that is too large for a
// half is an error: it would become infinity, and a sigmoid later would hide that.
func encode(name string, floats gpu.ElementType, values []float32) ([]byte, error) {
	if floats == gpu.F16 {
		for i, v := range values {
			if abs := math.Abs(float64(v)); abs >= half.Most+16 && abs <= math.MaxFloat32 { // rounds to infinity
				return nil, fmt.Errorf("element %d of %s is %g, and f16 ends at %d: use the precision f32", i, name, v, half.Most)
			}
		}
	}
	return floats.Encode(values), nil
}
