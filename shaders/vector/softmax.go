package vector

import (
	"math"
	"unsafe"
)

// HasSoftmax says whether the level in use has SoftmaxColumns, for the panels of Matrix.
func HasSoftmax() bool {
	l := Current()
	return l.words.softmax != nil && l.words.columns == l.columns
}

// SoftmaxColumns replaces every x (rows, Columns) by the float32 e^(scale (x − the largest of its
// column)), in the same memory, and returns that. The values of a column are at most 2²³ apart.
// total (Columns) becomes the sums of columns. Near exponent 0 the relative error is within 2⁻²²,
// and so it is for shares.
func SoftmaxColumns(x []int32, scale float32, total []float32) []float32 {
	w := &Current().words
	w.softmax(x[:len(x)/w.columns*w.columns], scale*math.Log2E, total[:w.columns])
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
