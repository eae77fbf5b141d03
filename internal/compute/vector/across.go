package vector

// These functions work across rows of one length that begin at the given places of x: on the first
// elements of all rows, then on the second ones, and so on.

// SoftmaxAcross replaces the elements at one place of all rows by their softmax. It computes in
// vectors. Without vectors, or if x is nil, it does nothing and returns false.
func SoftmaxAcross(x []float32, rows []int, n int) bool {
	if !moreVectors() || x == nil {
		return false
	}
	if len(rows) > 0 {
		softmaxAcrossVectors(x, rows, n)
	}
	return true
}

// SumProductsAcross sets y to the sums of a b across rows. Without vectors, or if y is nil, it
// returns false.
func SumProductsAcross(y, a, b []float32, rows []int) bool {
	if !moreVectors() || y == nil {
		return false
	}
	sumProductsAcrossVectors(y, a, b, rows)
	return true
}

// DifferAcross sets y to 1 where rows, of numbers from 0 to 1, differ, and to 0 elsewhere. Without
// vectors, or if y is nil, it returns false.
func DifferAcross(y, x []float32, rows []int) bool {
	if !moreVectors() || y == nil {
		return false
	}
	differAcrossVectors(y, x, rows)
	return true
}
