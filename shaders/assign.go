package shaders

// Assign copies src into dst, which has the same number of elements: how a plan leaves a result in a variable. No gradient.
func Assign(dst, src *Tensor) {
	n := uint32(src.Elements())
	if dst.Elements() != int(n) {
		panic("assign: " + dst.String() + " and " + src.String() + " differ in size")
	}
	src.Graph().Dispatch(copyForward, &elementwiseParams{n, n, 1}, src, dst)
}
