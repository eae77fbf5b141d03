//go:build goexperiment.simd && amd64

package vector

import "simd/archsimd"

func crossEntropyVectors(y, q, label []float32, low float32) {
	var zero eight
	for i := 0; i < len(y); i += 8 {
		v, t := within(load(q[i:]), low), load(label[i:])
		unmarked := all(1).Sub(t).Mul(logOf(all(1).Sub(v)))
		store(zero.Sub(t.MulAdd(logOf(v), unmarked)), y[i:])
	}
	archsimd.ClearAVXUpperBits()
}

// within is q, at least low and at most 1 − low. A NaN stays.
func within(q eight, low float32) eight { return all(1 - low).Min(all(low).Max(q)) }

func addCrossEntropyGradientVectors(dx, q, label, dy []float32, low float32) {
	for i := 0; i < len(dx); i += 8 {
		v := within(load(q[i:]), low)
		slope := v.Sub(load(label[i:])).Div(v.Mul(all(1).Sub(v)))
		store(slope.MulAdd(load(dy[i:]), load(dx[i:])), dx[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func addReLUGradientVectors(dx, dy, x []float32) {
	var zero eight
	for i := 0; i < len(dx); i += 8 {
		g := load(dy[i:]).Merge(zero, load(x[i:]).Greater(zero))
		store(load(dx[i:]).Add(g), dx[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func adamVectors(x, g, m, v, average []float32, s *AdamStep) {
	for i := 0; i < len(x); i += 8 {
		grad := load(g[i:]).Mul(all(s.Factor))
		first := load(m[i:]).MulAdd(all(s.Beta1), grad.Mul(all(1-s.Beta1)))
		second := load(v[i:]).MulAdd(all(s.Beta2), grad.Mul(grad).Mul(all(1-s.Beta2)))
		step := first.Mul(all(s.Correction1)).Div(second.Mul(all(s.Correction2)).Sqrt().Add(all(s.Epsilon)))
		at := load(x[i:])
		at = at.Sub(at.MulAdd(all(s.Decay), step).Mul(all(s.Rate)))
		store(first, m[i:])
		store(second, v[i:])
		store(at, x[i:])
		store(load(average[i:]).MulAdd(all(s.Averaging), at.Mul(all(1-s.Averaging))), average[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func addLayerNormGradientByXVectors(dx, dy, x, scale []float32, mean, r float32) {
	var sum, product eight
	for i := 0; i < len(dx); i += 8 {
		d := load(dy[i:]).Mul(load(scale[i:]))
		sum = sum.Add(d)
		product = load(x[i:]).Sub(all(mean)).MulAdd(d, product) // d is 0 beyond the last
	}
	n := float32(len(dx))
	g, gx := all(together(sum)/n), all(-together(product)/n*r*r)
	for i := 0; i < len(dx); i += 8 {
		d := load(dy[i:]).Mul(load(scale[i:])).Sub(g)
		d = load(x[i:]).Sub(all(mean)).MulAdd(gx, d)
		store(d.MulAdd(all(r), load(dx[i:])), dx[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func addLayerNormGradientsVectors(products, sums, dy, x []float32, mean, r float32) {
	for i := 0; i < len(products); i += 8 {
		d := load(dy[i:])
		xHat := load(x[i:]).Sub(all(mean)).Mul(all(r))
		store(xHat.MulAdd(d, load(products[i:])), products[i:])
		store(load(sums[i:]).Add(d), sums[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func scaleRowsVectors(y, x []float32, from *[8]uint32, scale, shift *[8]float32) {
	lanes, factor, more := archsimd.LoadUint32x8(from), archsimd.LoadFloat32x8(scale), archsimd.LoadFloat32x8(shift)
	for i := 0; i < len(y); i += 8 {
		store(load(x[i:]).Permute(lanes).MulAdd(factor, more), y[i:])
	}
	archsimd.ClearAVXUpperBits()
}
