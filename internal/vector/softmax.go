package vector

import (
	"math"
	"unsafe"
)

// HasSoftmax says whether the level in use has SoftmaxColumns, whose panels are those of Matrix
// too.
func HasSoftmax() bool {
	l := Current()
	return l.words.softmax != nil && l.words.columns == l.columns
}

// SoftmaxColumns replaces every x (rows, Columns), at most 2²³ away from the others of its column,
// by e^(scale (x − the largest of its column)), which it gives as float32 in the same memory. total
// (Columns) becomes their sums. Both are within 2⁻²² of that where the exponent is near 0, so that
// shares of a sum are.
func SoftmaxColumns(x []int32, scale float32, total []float32) []float32 {
	w := &Current().words
	w.softmax(x[:len(x)/w.columns*w.columns], scale*math.Log2E, total[:w.columns])
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
