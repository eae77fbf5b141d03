package tensor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/internal/gpu"
	"mrprism/internal/half"
)

// numbers are what a dispatch stores and computes its floats in.
type numbers uint8

const (
	full  numbers = iota // F32
	short                // stored as F16, and where the kernel says HALF short sums are of F16 too: plans of F16, at inference
	mixed                // stored as F16, computed in F32: what is F16 in plans of F32, in training, where gradients are close to what F16 can hold
)

// suffix ends the names of programs.
func (n numbers) suffix() string { return [...]string{"", "/f16", "/f16 in f32"}[n] }

// floats is the type of a node's floats but the kernel's wide ones, which are F32. It panics where they are not of one.
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

// numbers are those of a node of the plan.
func (p *Plan) numbers(n *node) numbers {
	switch {
	case n.floats() == gpu.F32:
		return full
	case p.floats == gpu.F16:
		return short
	}
	return mixed
}

// forHalves makes of WGSL as it stands WGSL for storage of F16: such a file reads and writes all storage of floats but that of wide arguments
// through `real`, `real4`, and may say HALF where it computes with them.
var forHalves = strings.NewReplacer(
	"\nalias real = f32;", "\nalias real = f16;",
	"\nalias real4 = vec4<f32>;", "\nalias real4 = vec4<f16>;",
)

// halved is the source for storage of F16, with short sums in F16 or not. It panics on one that has no `real`.
func halved(source string, sums bool) string {
	out := forHalves.Replace(source)
	if sums {
		out = strings.Replace(out, "\nconst HALF: bool = false;", "\nconst HALF: bool = true;", 1)
	}
	if !strings.Contains(out, "\nalias real = f16;") {
		panic(fmt.Sprintf("tensor: a plan of halves needs a kernel that does not say what its storage holds (alias real):\n%.200s …", source))
	}
	return "enable f16;\n" + out
}

// encode gives floats as a buffer of F32 or F16 holds them. What is finite and too large for a half is an error, since infinity may pass
// for a number later, behind a sigmoid.
func encode(name string, floats gpu.ElementType, values []float32) ([]byte, error) {
	if floats == gpu.F16 {
		for i, v := range values {
			if abs := math.Abs(float64(v)); abs >= half.Most+16 && abs <= math.MaxFloat32 { // what would be rounded up to infinity
				return nil, fmt.Errorf("tensor: element %d of %s is %g, and f16 ends at %d: use the precision f32", i, name, v, half.Most)
			}
		}
	}
	return floats.Encode(values), nil
}
