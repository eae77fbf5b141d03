package vector

import (
	"math"
	"unsafe"
)

// HasScores says whether a panel of Bytes has the columns of SoftmaxColumns at the level in use.
func HasScores() bool { return Current().words.columns == Current().columns }

// SoftmaxColumns replaces every x (rows, Columns) by the float32 e^(scale (x − the largest of its
// column)), in the same memory, and returns that. The values of a column are at most 2²³ apart.
// total (Columns) becomes the sums of columns. Near exponent 0 the relative error is within 2⁻²²,
// and so it is for shares.
func SoftmaxColumns(x []int32, scale float32, total []float32) []float32 {
	l := Current()
	_ = total[:l.columns]
	l.softmax(&x[0], len(x)/l.columns, scale*math.Log2E, &total[0])
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func plainSoftmax(first *int32, rows int, scale float32, total *float32) {
	const columns = plainColumns
	x, totals := unsafe.Slice(first, rows*columns), unsafe.Slice(total, columns)
	for j := range columns {
		most := x[j]
		for i := j; i < len(x); i += columns {
			most = max(most, x[i])
		}
		totals[j] = 0
		for i := j; i < len(x); i += columns {
			v := max(-125, float32(x[i]-most)*scale)
			shifted := v + round
			bits := math.Float32bits(powerOf(v-(shifted-round))) + math.Float32bits(shifted)<<23
			x[i] = int32(bits)
			totals[j] += math.Float32frombits(bits)
		}
	}
}
