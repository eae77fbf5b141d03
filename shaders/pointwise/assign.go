package pointwise

import "mrprism/shaders/tensor"

// Assign copies src into dst, which has the same number of elements: how a plan leaves a result in
// a variable. No gradient.
func Assign(dst, src *tensor.Tensor) { into(copyForward, dst, src) }

// Accumulate adds src to dst, which has the same number of elements. No gradient.
func Accumulate(dst, src *tensor.Tensor) { into(addScaled, dst, src) }

func into(kernel *tensor.Kernel, dst, src *tensor.Tensor) {
	n := uint32(src.Elements())
	if dst.Elements() != int(n) {
		panic(kernel.Name + ": " + dst.String() + " and " + src.String() + " differ in size")
	}
	src.Graph().Dispatch(kernel, &ElementwiseParams{n, n, 1}, src, dst)
}
