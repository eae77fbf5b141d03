// Package shaders holds the operators of the network. One operator is one stem: NAME.wgsl with the maths, the tunables, Params,
// forward and backward; NAME.go with the same Params, the kernels with their reference bodies in float64, and the operator
// with its gradient rule; NAME_test.go with one call that checks all of it on every device. NAME_processor.go has bodies in float32, for
// inference without a GPU.
//
// Conventions: binding 0 is the uniform Params, the arguments follow in order. Backward kernels add to their result (+=);
// the graph zeroes it first. No floating-point atomics, so that a step is repeatable bit by bit. Arrays may be longer than the
// tensor: extents come from Params. Images are (B, H, W, C), tokens (B, N, C), convolution weights (kh, kw, Cin, Cout), linear
// weights (Cin, Cout), so that the innermost extent of a weight is the output channel.
//
// What the network stores, maps and weights and the gradients of maps, is declared as real (or real4, four of them), read as f32(x[i]) and written
// as real(v): an alias of f32 on disk, which package tensor makes one of f16 for plans of halves, and in training for what is halves there. What
// is f32 either way, statistics, partial sums and gradients of weights, is declared so, and told to tensor (Kernel.Wide). All computing is
// in f32, but where a kernel says that real is f16 at inference (HALF).
//
// What several .wgsl files need stands once, in a part: a .wgsl file without entry points, which is joined with theirs.
package shaders

import (
	"fmt"
	"slices"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
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
