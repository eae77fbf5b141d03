package kernels

import (
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/vector"
)

// Functions on rows of equal length, for bodies of both precisions. In float32 they use vectors.

// Singles is x if x is of float32, and otherwise nil. Functions of package vector take it.
func Singles[F gpu.Float](x []F) []float32 {
	single, _ := any(x).([]float32)
	return single
}

// InVectors returns fast, a function of package vector, if it has the type of exact, as it has in
// float32. Otherwise it returns exact. A body for many short rows chooses the function once.
func InVectors[T any](fast any, exact T) T {
	if f, ok := fast.(T); ok {
		return f
	}
	return exact
}

// AddRow adds x to y.
func AddRow[F gpu.Float](y, x []F) {
	if single := Singles(y); single != nil {
		vector.Add(single, Singles(x))
		return
	}
	for i, v := range x[:len(y)] {
		y[i] += v
	}
}

// AddScaledRow adds s x to y.
func AddScaledRow[F gpu.Float](y, x []F, s F) {
	if single := Singles(y); single != nil {
		vector.AddScaled(single, Singles(x), float32(s))
		return
	}
	for i, v := range x[:len(y)] {
		y[i] += s * v
	}
}

// MultiplyRow multiplies y by x.
func MultiplyRow[F gpu.Float](y, x []F) {
	if single := Singles(y); single != nil {
		vector.Multiply(single, Singles(x))
		return
	}
	for i, v := range x[:len(y)] {
		y[i] *= v
	}
}

// AddProductsOf adds a b to y.
func AddProductsOf[F gpu.Float](y, a, b []F) {
	if single := Singles(y); single != nil {
		vector.AddProducts(single, Singles(a), Singles(b))
		return
	}
	for i := range y {
		y[i] += a[i] * b[i]
	}
}

// AddSquaresOf adds (x − mean)² to y.
func AddSquaresOf[F gpu.Float](y, x, mean []F) {
	if single := Singles(y); single != nil {
		vector.AddSquares(single, Singles(x), Singles(mean))
		return
	}
	for i := range y {
		y[i] += (x[i] - mean[i]) * (x[i] - mean[i])
	}
}

// TakeLarger makes every y[i] the larger of y[i] and x[i].
func TakeLarger[F gpu.Float](y, x []F) {
	if single := Singles(y); single != nil {
		vector.TakeLarger(single, Singles(x))
		return
	}
	for i, v := range x[:len(y)] {
		y[i] = max(y[i], v)
	}
}

// Logarithms replaces every x[i] by its natural logarithm.
func Logarithms[F gpu.Float](x []F) {
	if single := Singles(x); single != nil {
		vector.Log(single)
		return
	}
	for i, v := range x {
		x[i] = F(math.Log(float64(v)))
	}
}

// Exponentials replaces every x[i] by e^x[i].
func Exponentials[F gpu.Float](x []F) {
	if single := Singles(x); single != nil {
		vector.Exp(single, 1, 0)
		return
	}
	for i, v := range x {
		x[i] = F(math.Exp(float64(v)))
	}
}

// LogLikelihoods makes every y[i] label log q + (1 - label) log(1 - q). y may be q.
func LogLikelihoods[F gpu.Float](y, q, label []F) {
	if single := Singles(y); single != nil {
		vector.LogLikelihood(single, Singles(q), Singles(label))
		return
	}
	for i, v := range q[:len(y)] {
		y[i] = label[i]*F(math.Log(float64(v))) + (1-label[i])*F(math.Log(float64(1-v)))
	}
}

// Dot is Σ a[i] b[i].
func Dot[F gpu.Float](a, b []F) F {
	if single := Singles(a); single != nil {
		return F(vector.Dot(single, Singles(b)))
	}
	var sum F
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// TransposeInto transposes the matrix x (rows, columns) into y, or adds it transposed to y. Rows of
// x begin `from` elements apart, rows of y begin `to` elements apart.
func TransposeInto[F gpu.Float](y []F, to int, x []F, from, rows, columns int, add bool) {
	if single := Singles(y); single != nil {
		vector.Transpose(single, to, Singles(x), from, rows, columns, add)
		return
	}
	for i := range rows {
		for j, v := range x[i*from:][:columns] {
			if add {
				v += y[j*to+i]
			}
			y[j*to+i] = v
		}
	}
}
