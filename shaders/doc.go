// Package shaders has the rewrites of the network. Its folders have the operators, one folder a
// family. A family imports kernels and the families before it: kernels, pointwise, norm, conv,
// attention, pool, raters, loss, adam.
//
// All files of an operator begin with its name. NAME.wgsl has the maths, Params, forward and
// backward. NAME.go has the same Params, the kernels with their bodies, and the operator with its
// gradient rule. NAME_processor.go has the float32 bodies that differ from those in float64.
// NAME_test.go checks all of it on every device with one call (shadertest.Check).
//
// Conventions: binding 0 is the uniform Params, the arguments follow in order. Backward kernels add
// to their result (+=). The graph zeroes it first, unless the first of them takes zero for it
// (FRESH). There are no floating-point atomics: a step repeats bit by bit. Arrays may be longer
// than the tensor; extents come from Params. Images are (B, H, W, C), tokens (B, N, C), weights of
// convolutions (kh, kw, Cin, Cout) and linear maps (Cin, Cout), the output channel innermost.
//
// Go writes a header in front of a .wgsl file (tensor.Variant). The first comment of a file lists
// what it takes from the header:
//
//	Invocation     the argument of an entry point; number(id, SIZE) is the index of its element
//	real, real4    a number in storage and four of them: f32, or f16 in plans of halves and for
//	               halves in training
//	HALF           whether short sums are in halves too
//	FRESH          whether a kernel that adds to its last argument (Kernel.Adds) begins at zero
//	stored, floats the numbers that an invocation reads and those with which it computes: real4
//	               and vec4<f32>, or real and f32
//	WIDTH          how many numbers these are: 4 or 1
//
// Storage holds maps, weights and the gradients of maps as real. A kernel reads f32(x[i]) and
// writes real(v). Statistics, partial sums and gradients of weights are always f32 (Kernel.Wide).
// Kernels compute in f32, except short sums where HALF is set. NAME_common.wgsl is the part that
// the files of a family share; it stands between the header and the file. conv2d_geometry.wgsl is
// part of the header of every convolution.
package shaders
