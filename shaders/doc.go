// Package shaders holds the operators of the network. One operator is one stem. NAME.wgsl has the
// maths, Params, forward and backward. NAME.go has the same Params, the kernels with their reference
// bodies in float64, and the operator with its gradient rule. NAME_test.go checks all of it on every
// device with one call. NAME_processor.go has bodies in float32, for inference without a GPU.
//
// Conventions: binding 0 is the uniform Params, the arguments follow in order. Backward kernels add to
// their result (+=); the graph zeroes it first. There are no floating-point atomics: a step repeats
// bit by bit. Arrays may be longer than the tensor: extents come from Params. Images are (B, H, W, C),
// tokens (B, N, C), convolution weights (kh, kw, Cin, Cout), linear weights (Cin, Cout): the innermost
// extent of a weight is the output channel.
//
// Go writes a header in front of a .wgsl file (tensor.Variant). It declares constants, element types
// and, always, Invocation, real, real4 and HALF. Storage holds maps, weights and the gradients of maps
// as real: f32, or f16 in plans of halves and for halves in training. A kernel reads f32(x[i]) and
// writes real(v). Statistics, partial sums and gradients of weights are always f32 (Kernel.Wide).
// Kernels compute in f32, but for short sums where HALF says so. The first comment of a .wgsl file
// lists what it takes from the header. NAME_common.wgsl is the part that a family shares; it stands
// between the header and the file.
package shaders

import (
	"fmt"
	"slices"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
)

const (
	read  = gpu.Read
	write = gpu.ReadWrite
)

// elementwise is the workgroup size of kernels with one invocation an element.
const elementwise = 64

// Tensor is a value of the graph that operators append to.
type Tensor = tensor.Tensor

// sameShape panics, naming the operator, unless all tensors have one shape.
func sameShape(operator string, tensors ...*Tensor) {
	for _, t := range tensors[1:] {
		if !slices.Equal(t.Shape(), tensors[0].Shape()) {
			panic(fmt.Sprintf("%s: shapes differ: %v and %v", operator, tensors[0], t))
		}
	}
}

// requireShape panics unless t has exactly this shape; -1 matches any extent.
func requireShape(operator, what string, t *Tensor, shape ...int) {
	ok := len(t.Shape()) == len(shape)
	for i := range shape {
		ok = ok && (shape[i] == -1 || shape[i] == t.Dim(i))
	}
	if !ok {
		panic(fmt.Sprintf("%s: %s %v should have shape %v (-1: any)", operator, what, t, shape))
	}
}
