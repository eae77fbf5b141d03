package kernels

import (
	"math"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/vector"
)

// What bodies of both precisions do to rows of one length: in float32 with vectors.

// Singles is x, of float32: what bodies give functions that have vectors. Of float64 it is nil.
func Singles[F gpu.Float](x []F) []float32 {
	single, _ := any(x).([]float32)
	return single
}

// AddRow adds x to y.
func AddRow[F gpu.Float](y, x []F) {
	switch y := any(y).(type) {
	case []float32:
		vector.Add(y, any(x).([]float32))
	case []float64:
		for i, v := range any(x).([]float64)[:len(y)] {
			y[i] += v
		}
	}
}

// AddScaledRow adds s x to y.
func AddScaledRow[F gpu.Float](y, x []F, s F) {
	switch y := any(y).(type) {
	case []float32:
		vector.AddScaled(y, any(x).([]float32), float32(s))
	case []float64:
		for i, v := range any(x).([]float64) {
			y[i] += float64(s) * v
		}
	}
}

// MultiplyRow multiplies y by x.
func MultiplyRow[F gpu.Float](y, x []F) {
	switch y := any(y).(type) {
	case []float32:
		vector.Multiply(y, any(x).([]float32))
	case []float64:
		for i, v := range any(x).([]float64) {
			y[i] *= v
		}
	}
}

// AddProductsOf adds a b to y.
func AddProductsOf[F gpu.Float](y, a, b []F) {
	switch y := any(y).(type) {
	case []float32:
		vector.AddProducts(y, any(a).([]float32), any(b).([]float32))
	case []float64:
		b := any(b).([]float64)
		for i, v := range any(a).([]float64) {
			y[i] += v * b[i]
		}
	}
}

// AddSquaresOf adds (x − mean)² to y.
func AddSquaresOf[F gpu.Float](y, x, mean []F) {
	switch y := any(y).(type) {
	case []float32:
		vector.AddSquares(y, any(x).([]float32), any(mean).([]float32))
	case []float64:
		mean := any(mean).([]float64)
		for i, v := range any(x).([]float64) {
			y[i] += (v - mean[i]) * (v - mean[i])
		}
	}
}

// TakeLarger makes y the larger of y and x.
func TakeLarger[F gpu.Float](y, x []F) {
	switch y := any(y).(type) {
	case []float32:
		vector.TakeLarger(y, any(x).([]float32))
	case []float64:
		for i, v := range any(x).([]float64) {
			y[i] = max(y[i], v)
		}
	}
}

// Logarithms replaces every x by its natural logarithm.
func Logarithms[F gpu.Float](x []F) {
	switch x := any(x).(type) {
	case []float32:
		vector.Log(x)
	case []float64:
		for i, v := range x {
			x[i] = math.Log(v)
		}
	}
}

// Exponentials replaces every x by e^x.
func Exponentials[F gpu.Float](x []F) {
	switch x := any(x).(type) {
	case []float32:
		vector.Exp(x, 1, 0)
	case []float64:
		for i, v := range x {
			x[i] = math.Exp(v)
		}
	}
}

// LogLikelihoods makes every y[i] label log q + (1 - label) log(1 - q). y may be q.
func LogLikelihoods[F gpu.Float](y, q, label []F) {
	switch y := any(y).(type) {
	case []float32:
		vector.LogLikelihood(y, any(q).([]float32), any(label).([]float32))
	case []float64:
		label := any(label).([]float64)
		for i, v := range any(q).([]float64) {
			y[i] = label[i]*math.Log(v) + (1-label[i])*math.Log(1-v)
		}
	}
}

// TransposeInto makes y, or adds to it, x transposed: rows of columns, from elements apart, whose
// columns become rows that are to elements apart.
func TransposeInto[F gpu.Float](y []F, to int, x []F, from, rows, columns int, add bool) {
	switch y := any(y).(type) {
	case []float32:
		vector.Transpose(y, to, any(x).([]float32), from, rows, columns, add)
	case []float64:
		for i := range rows {
			for j, v := range any(x).([]float64)[i*from:][:columns] {
				if add {
					v += y[j*to+i]
				}
				y[j*to+i] = v
			}
		}
	}
}
