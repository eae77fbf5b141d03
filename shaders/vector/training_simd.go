//go:build goexperiment.simd && amd64

package vector

import "simd/archsimd"

// Only training uses these functions. Numbers are spread over vectors before the loops, since Go's
// own arithmetic is slow between vector instructions.

// leastLow keeps 1 − low below 1, so that no logarithm of 0 is taken.
const leastLow = 0x1p-23

// CrossEntropy sets every y to −(label log q + (1 − label) log(1 − q)), with q clamped to low
// … 1 − low. A NaN stays. It returns false if low is below 2⁻²³.
func CrossEntropy(y, q, label []float32, low float32) bool {
	if !usesVectors(y) || low < leastLow {
		return false
	}
	q, label = q[:len(y)], label[:len(y)]
	one, least, most := broadcast(1), broadcast(low), broadcast(1-low)
	for i := 0; i < len(y); i += 8 {
		v, t := clampEight(load(q[i:]), least, most), load(label[i:])
		l := logOfNormal(v)
		unmarked := logOfNormal(one.Sub(v))
		l = t.Sub(one).Mul(unmarked).Sub(t.Mul(l))
		store(l.Merge(v, v.Equal(v)), y[i:])
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// clampEight clamps q to least … most. A NaN stays.
func clampEight(q, least, most eight) eight { return most.Min(least.Max(q)) }

// AddCrossEntropyGradient adds the gradient of CrossEntropy to dx.
func AddCrossEntropyGradient(dx, q, label, dy []float32, low float32) bool {
	if !usesVectors(dx) {
		return false
	}
	q, label, dy = q[:len(dx)], label[:len(dx)], dy[:len(dx)]
	one, least, most := broadcast(1), broadcast(low), broadcast(1-low)
	for i := 0; i < len(dx); i += 8 {
		v := clampEight(load(q[i:]), least, most)
		slope := v.Sub(load(label[i:])).Div(v.Mul(one.Sub(v)))
		store(slope.MulAdd(load(dy[i:]), load(dx[i:])), dx[i:])
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// AddReLUGradient adds dy to dx where x is above 0.
func AddReLUGradient(dx, dy, x []float32) bool {
	if !usesVectors(dx) {
		return false
	}
	dy, x = dy[:len(dx)], x[:len(dx)]
	var zero eight
	for i := 0; i < len(dx); i += 8 {
		g := load(dy[i:]).Merge(zero, load(x[i:]).Greater(zero))
		store(load(dx[i:]).Add(g), dx[i:])
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// Update takes a step of parameters x by their gradient g, with their moments and their average.
func (s *AdamStep) Update(x, g, m, v, average []float32) bool {
	if !usesVectors(x) {
		return false
	}
	n := len(x)
	g, m, v, average = g[:n], m[:n], v[:n], average[:n]
	factor, beta1, rest1, beta2, rest2 := broadcast(s.Factor), broadcast(s.Beta1), broadcast(1-s.Beta1), broadcast(s.Beta2), broadcast(1-s.Beta2)
	c1, c2, epsilon, rate, decay := broadcast(s.Correction1), broadcast(s.Correction2), broadcast(s.Epsilon), broadcast(s.Rate), broadcast(s.Decay)
	averaging, rest := broadcast(s.Averaging), broadcast(1-s.Averaging)
	for i := 0; i < len(x); i += 8 {
		grad := load(g[i:]).Mul(factor)
		first := load(m[i:]).MulAdd(beta1, grad.Mul(rest1))
		second := load(v[i:]).MulAdd(beta2, grad.Mul(grad).Mul(rest2))
		step := first.Mul(c1).Div(second.Mul(c2).Sqrt().Add(epsilon))
		at := load(x[i:])
		at = at.Sub(at.MulAdd(decay, step).Mul(rate))
		store(first, m[i:])
		store(second, v[i:])
		store(at, x[i:])
		store(load(average[i:]).MulAdd(averaging, at.Mul(rest)), average[i:])
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// AddLayerNormGradientByX adds LayerNorm's gradient to dx, a row of channels. mean and r are
// LayerNorm's.
func AddLayerNormGradientByX(dx, dy, x, scale []float32, mean, r float32) bool {
	if !usesVectors(dx) {
		return false
	}
	dy, x, scale = dy[:len(dx)], x[:len(dx)], scale[:len(dx)]
	var sum, product eight
	m, by, share := broadcast(mean), broadcast(r), broadcast(1/float32(len(dx)))
	for i := 0; i < len(dx); i += 8 {
		d := load(dy[i:]).Mul(load(scale[i:]))
		sum = sum.Add(d)
		product = load(x[i:]).Sub(m).MulAdd(d, product) // d is 0 beyond the last channel
	}
	g := spread(sum).Mul(share)
	gx := spread(product).Mul(share).Mul(by).Mul(by)
	for i := 0; i < len(dx); i += 8 {
		d := load(dy[i:]).Mul(load(scale[i:])).Sub(g)
		d = d.Sub(load(x[i:]).Sub(m).Mul(gx))
		store(d.MulAdd(by, load(dx[i:])), dx[i:])
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// AddLayerNormGradients adds dy x̂ of a row to products and dy to sums.
func AddLayerNormGradients(products, sums, dy, x []float32, mean, r float32) bool {
	if !usesVectors(products) {
		return false
	}
	n := len(products)
	sums, dy, x = sums[:n], dy[:n], x[:n]
	m, by := broadcast(mean), broadcast(r)
	for i := 0; i < len(products); i += 8 {
		d := load(dy[i:])
		xHat := load(x[i:]).Sub(m).Mul(by)
		store(xHat.MulAdd(d, load(products[i:])), products[i:])
		store(load(sums[i:]).Add(d), sums[i:])
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// ScaleRows sets each row of y to the permuted row of x, times scale, plus shift. It returns false
// for rows that have not one, two, four or eight elements.
func ScaleRows(y, x []float32, from []uint32, scale, shift []float32) bool {
	n := len(from)
	if !usesVectors(y) || n == 0 || 8%n > 0 {
		return false
	}
	x = x[:len(y)]
	var lanes [8]uint32
	var scales, shifts [8]float32
	for i := range lanes {
		lanes[i], scales[i], shifts[i] = uint32(i-i%n)+from[i%n], scale[i%n], shift[i%n]
	}
	places, factor, more := archsimd.LoadUint32x8(&lanes), archsimd.LoadFloat32x8(&scales), archsimd.LoadFloat32x8(&shifts)
	for i := 0; i < len(y); i += 8 {
		store(load(x[i:]).Permute(places).MulAdd(factor, more), y[i:])
	}
	archsimd.ClearAVXUpperBits()
	return true
}
