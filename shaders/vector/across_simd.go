//go:build goexperiment.simd && amd64

package vector

import "simd/archsimd"

// These functions work across rows of equal length: on the first elements of all rows, then on the
// second ones, and so on. rows has the index at which each row begins.

// SoftmaxAcross replaces, for every i < n, the elements i of all rows by their softmax.
func SoftmaxAcross(x []float32, rows []int, n int) bool {
	if !usesVectors(x) {
		return false
	}
	one := broadcast(1)
	for j := 0; j < n && len(rows) > 0; j += 8 {
		m := load(x[rows[0]+j : rows[0]+n])
		for _, row := range rows[1:] {
			m = m.Max(load(x[row+j : row+n]))
		}
		var sum eight
		for _, row := range rows {
			to := x[row+j : row+n]
			e := expOf(load(to).Sub(m))
			store(e, to)
			sum = sum.Add(e)
		}
		factor := one.Div(sum)
		for _, row := range rows {
			to := x[row+j : row+n]
			store(load(to).Mul(factor), to)
		}
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// SumProductsAcross sets y[i] to the sum of a[row+i] b[row+i] over the rows.
func SumProductsAcross(y, a, b []float32, rows []int) bool {
	if !usesVectors(y) {
		return false
	}
	n := len(y)
	for j := 0; j < n; j += 8 {
		var sum eight
		for _, row := range rows {
			sum = load(a[row+j:row+n]).MulAdd(load(b[row+j:row+n]), sum)
		}
		store(sum, y[j:])
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// DifferAcross sets y[i] to 1 if the rows' elements i (0 to 1) differ, and otherwise to 0.
func DifferAcross(y, x []float32, rows []int) bool {
	if !usesVectors(y) {
		return false
	}
	var zero eight
	n, none, one, two := len(y), broadcast(-1), broadcast(1), broadcast(2)
	for j := 0; j < n; j += 8 {
		least, most := two, none // least is above every element, and most below
		for _, row := range rows {
			v := load(x[row+j : row+n])
			least, most = least.Min(v), most.Max(v)
		}
		store(one.Merge(zero, most.Greater(least)), y[j:])
	}
	archsimd.ClearAVXUpperBits()
	return true
}
