package shaders

import (
	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

// perElement is a kernel with one invocation for each of count(params) elements, in workgroups of 64.
func perElement[P any](name, source string, arguments []gpu.Access, count func(p *P) uint32, body func(p *P, a []gpu.Array)) *tensor.Kernel {
	return &tensor.Kernel{
		Name: name, Arguments: arguments, Body: tensor.Body(body),
		Variants: []tensor.Variant{{
			Source: source,
			Groups: func(p any) [3]int { return tensor.Linear(int(count(p.(*P))), elementwise) },
		}},
	}
}
