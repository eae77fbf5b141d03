package vector

// What is done across rows of one length that stand in x at the given places: to the first elements
// of all, to the second ones and so on.

// SoftmaxAcross makes elements that stand across from each other their softmax. It computes in
// vectors, and is false, and has done nothing, where there are none, or no x.
func SoftmaxAcross(x []float32, rows []int, n int) bool {
	if !moreVectors() || x == nil {
		return false
	}
	if len(rows) > 0 {
		softmaxAcrossVectors(x, rows, n)
	}
	return true
}

// SumProductsAcross makes y the sums of a b across rows. It is false where there are no vectors,
// or no y.
func SumProductsAcross(y, a, b []float32, rows []int) bool {
	if !moreVectors() || y == nil {
		return false
	}
	sumProductsAcrossVectors(y, a, b, rows)
	return true
}

// DifferAcross makes y 1 where rows, of numbers from 0 to 1, are not all the same, else
// 0. It is false as SumProductsAcross is.
func DifferAcross(y, x []float32, rows []int) bool {
	if !moreVectors() || y == nil {
		return false
	}
	differAcrossVectors(y, x, rows)
	return true
}
