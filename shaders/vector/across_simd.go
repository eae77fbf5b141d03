//go:build goexperiment.simd && amd64

package vector

import "simd/archsimd"

// These functions work across rows of one length that begin at the given places of x: on the first
// elements of all rows, then on the second ones, and so on.

// SoftmaxAcross replaces the elements at one place of all rows by their softmax.
func SoftmaxAcross(x []float32, rows []int, n int) bool {
	if !more(x) {
		return false
	}
	one := all(1)
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

// SumProductsAcross sets y to the sums of a b across rows.
func SumProductsAcross(y, a, b []float32, rows []int) bool {
	if !more(y) {
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

// DifferAcross sets y to 1 where rows, of numbers from 0 to 1, differ, and to 0 elsewhere.
func DifferAcross(y, x []float32, rows []int) bool {
	if !more(y) {
		return false
	}
	var zero eight
	n, none, one, two := len(y), all(-1), all(1), all(2)
	for j := 0; j < n; j += 8 {
		least, most := two, none // of probabilities
		for _, row := range rows {
			v := load(x[row+j : row+n])
			least, most = least.Min(v), most.Max(v)
		}
		store(one.Merge(zero, most.Greater(least)), y[j:])
	}
	archsimd.ClearAVXUpperBits()
	return true
}
