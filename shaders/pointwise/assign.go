package pointwise

import "mrprism/shaders/tensor"

// Assign copies src into dst, which has the same number of elements. A plan leaves a result in a
// variable in this way. No gradient passes.
func Assign(dst, src *tensor.Tensor) { dispatchInto(copyForward, dst, src) }

// Accumulate adds src to dst, which has the same number of elements. No gradient passes.
func Accumulate(dst, src *tensor.Tensor) { dispatchInto(addScaled, dst, src) }

func dispatchInto(kernel *tensor.Kernel, dst, src *tensor.Tensor) {
	n := uint32(src.Elements())
	if dst.Elements() != int(n) {
		panic(kernel.Name + ": " + dst.String() + " and " + src.String() + " differ in size")
	}
	src.Graph().Dispatch(kernel, &ElementwiseParams{N: n, Period: n, Factor: 1}, src, dst)
}
