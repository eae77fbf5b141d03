// Package kernels helps every family to write its kernels: kernels with one invocation an element,
// bodies in two precisions, checks of shapes, and operators that one kernel computes.
package kernels

import (
	"fmt"
	"slices"
	"strings"

	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
)

// Workgroup is the workgroup size of kernels with one invocation an element.
const Workgroup = 64

// SameShape panics, naming the operator, unless all tensors have one shape.
func SameShape(operator string, tensors ...*tensor.Tensor) {
	for _, t := range tensors[1:] {
		if !slices.Equal(t.Shape(), tensors[0].Shape()) {
			panic(fmt.Sprintf("%s: shapes differ: %v and %v", operator, tensors[0], t))
		}
	}
}

// RequireShape panics, naming the operator, unless t has exactly this shape. -1 matches any extent.
func RequireShape(operator, what string, t *tensor.Tensor, shape ...int) {
	ok := len(t.Shape()) == len(shape)
	for i := range shape {
		ok = ok && (shape[i] == -1 || shape[i] == t.Dim(i))
	}
	if !ok {
		panic(fmt.Sprintf("%s: %s %v should have shape %v (-1: any)", operator, what, t, shape))
	}
}

// Wide sets which arguments of a kernel stay F32 if the others are F16.
func Wide(k *tensor.Kernel, arguments ...int) *tensor.Kernel {
	k.Wide = arguments
	return k
}

// Adding says that a kernel adds once to every element of its last argument (tensor.Kernel.Adds).
func Adding(k *tensor.Kernel) *tensor.Kernel {
	k.Adds = func(any) bool { return true }
	return k
}

// Ceil is a / b, rounded up.
func Ceil(a, b int) int { return (a + b - 1) / b }

// Joined is the WGSL of a file, below the part that it shares with other files of its family.
func Joined(part, file string) string { return part + "\n" + file }

// PerElement is a kernel with one invocation for each of count(params) elements, in workgroups of
// 64. Its body is nil if InPieces or InRows sets the body.
func PerElement[P any](name, source string, arguments []gpu.Access, count func(p *P) uint32, body func(p *P, a []gpu.Array)) *tensor.Kernel {
	return &tensor.Kernel{
		Name: name, Arguments: arguments, Body: tensor.Body(body),
		Variants: []tensor.Variant{{
			Source: source,
			Groups: func(p any) [3]int { return tensor.Linear(int(count(p.(*P))), Workgroup) },
		}},
	}
}

// WithHeader is PerElement with a header.
func WithHeader[P any](header, name, source string, arguments []gpu.Access, count func(p *P) uint32, body func(p *P, a []gpu.Array)) *tensor.Kernel {
	k := PerElement(name, source, arguments, count, body)
	k.Variants[0].Header = func(any) string { return header }
	return k
}

// Faster gives a kernel its body in float32.
func Faster[P any](k *tensor.Kernel, fast func(p *P, a []gpu.Array32, split gpu.Split)) *tensor.Kernel {
	k.Fast = tensor.Fast(fast)
	return k
}

// InPieces gives a kernel one body in two precisions. The body computes results [from, to) of
// n(params) results, each of a few numbers.
func InPieces[P any](n func(p *P) uint32, exact func(p *P, a []gpu.Array, from, to int), fast func(p *P, a []gpu.Array32, from, to int), k *tensor.Kernel) *tensor.Kernel {
	return inPiecesOf(grain, n, exact, fast, k)
}

// InRows is InPieces for results that each take long to compute.
func InRows[P any](n func(p *P) uint32, exact func(p *P, a []gpu.Array, from, to int), fast func(p *P, a []gpu.Array32, from, to int), k *tensor.Kernel) *tensor.Kernel {
	return inPiecesOf(1, n, exact, fast, k)
}

// grain is the number of results for which another thread pays.
const grain = 1 << 10

func inPiecesOf[P any](least int, n func(p *P) uint32, exact func(p *P, a []gpu.Array, from, to int), fast func(p *P, a []gpu.Array32, from, to int), k *tensor.Kernel) *tensor.Kernel {
	k.Body = tensor.Body(func(p *P, a []gpu.Array) { exact(p, a, 0, int(n(p))) })
	return Faster(k, func(p *P, a []gpu.Array32, split gpu.Split) {
		all := int(n(p))
		split((all+least-1)/least, func(from, to int) { fast(p, a, from*least, min(to*least, all)) })
	})
}

// OnGPU says whether kernels with workgroup memory are likely faster, OnCPU whether kernels with
// blocks in registers are: a processor that emulates a GPU loops over lanes for every load.
func OnGPU(info gpu.Info, _ any) bool { return info.Kind != gpu.KindCPU }
func OnCPU(info gpu.Info, _ any) bool { return info.Kind == gpu.KindCPU }

// EightLanes says whether a processor emulates a GPU with subgroups of exactly eight lanes.
// llvmpipe has such subgroups if its name says that its vectors have 256 bits.
func EightLanes(info gpu.Info) bool {
	eight := strings.Contains(info.Adapter, "llvmpipe") && strings.Contains(info.Adapter, "256 bits")
	return info.Kind == gpu.KindCPU && info.HasFeature("subgroups") && eight
}

// Operator is the kind of an operator that one kernel computes. The operator's attributes are the
// kernel's parameters. The kernel takes the operator's inputs (Bound), then its outputs: Graph.Apply
// makes one, and Graph.Append takes several. facts are the other fields of the kind.
func Operator(facts tensor.Kind, forward *tensor.Kernel, gradient func(op *tensor.Op)) *tensor.Kind {
	facts.Gradient, facts.Compute = gradient, func(op *tensor.Op) {
		op.Dispatch(forward, op.Attributes, append(Bound(op.Inputs), op.Outputs...)...)
	}
	return &facts
}

// Repeat is Kind.Repeat of attributes of type *P.
func Repeat[P any](multiply func(p *P, n uint32)) func(attributes any, n int) any {
	return func(attributes any, n int) any {
		p := *attributes.(*P)
		multiply(&p, uint32(n))
		return &p
	}
}

// Bound is a copy of an operator's inputs in which the second input replaces each nil. A kernel
// binds every argument, even one that its parameters tell it not to read.
func Bound(inputs []*tensor.Tensor) []*tensor.Tensor {
	bound := slices.Clone(inputs)
	for i, x := range bound {
		if x == nil {
			bound[i] = inputs[1]
		}
	}
	return bound
}
