// Package shaders has the rewrites of the network. Its folders have the operators, one folder a
// family. A family imports kernels and the families before it: kernels, pointwise, norm, conv,
// attention, pool, raters, loss, adam.
//
// One operator is one stem. NAME.wgsl has the maths, Params, forward and backward. NAME.go has the
// same Params, the kernels with their reference bodies in float64, and the operator with its
// gradient rule. NAME_test.go checks all of it on every device with one call (shadertest.Check).
// NAME_processor.go has bodies in float32, for inference without a GPU.
//
// Conventions: binding 0 is the uniform Params, the arguments follow in order. Backward kernels add
// to their result (+=); the graph zeroes it first. There are no floating-point atomics: a step
// repeats bit by bit. Arrays may be longer than the tensor: extents come from Params. Images are
// (B, H, W, C), tokens (B, N, C), convolution weights (kh, kw, Cin, Cout), linear weights (Cin,
// Cout): the innermost extent of a weight is the output channel.
//
// Go writes a header in front of a .wgsl file (tensor.Variant). It declares constants, element
// types and, always, Invocation, real, real4 and HALF. Storage holds maps, weights and the
// gradients of maps as real: f32, or f16 in plans of halves and for halves in training. A kernel
// reads f32(x[i]) and writes real(v). Statistics, partial sums and gradients of weights are always
// f32 (Kernel.Wide). Kernels compute in f32, but for short sums where HALF says so. The first
// comment of a .wgsl file lists what it takes from the header. NAME_common.wgsl is the part that a
// family shares; it stands between the header and the file.
package shaders
