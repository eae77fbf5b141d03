//go:build goexperiment.simd && amd64

package vector

import "simd/archsimd"

// Numbers are spread over vectors before the loops: Go's own arithmetic is slow between vectors.

// crossEntropyVectors handles NaN. low is not subnormal.
func crossEntropyVectors(y, q, label []float32, low float32) {
	one, least, most := all(1), all(low), all(1-low)
	for i := 0; i < len(y); i += 8 {
		v, t := within(load(q[i:]), least, most), load(label[i:])
		l := logOfNormal(v)
		unmarked := logOfNormal(one.Sub(v))
		l = t.Sub(one).Mul(unmarked).Sub(t.Mul(l))
		store(l.Merge(v, v.Equal(v)), y[i:])
	}
	archsimd.ClearAVXUpperBits()
}

// within clamps q. A NaN stays.
func within(q, least, most eight) eight { return most.Min(least.Max(q)) }

func addCrossEntropyGradientVectors(dx, q, label, dy []float32, low float32) {
	one, least, most := all(1), all(low), all(1-low)
	for i := 0; i < len(dx); i += 8 {
		v := within(load(q[i:]), least, most)
		slope := v.Sub(load(label[i:])).Div(v.Mul(one.Sub(v)))
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
	factor, beta1, rest1, beta2, rest2 := all(s.Factor), all(s.Beta1), all(1-s.Beta1), all(s.Beta2), all(1-s.Beta2)
	c1, c2, epsilon, rate, decay := all(s.Correction1), all(s.Correction2), all(s.Epsilon), all(s.Rate), all(s.Decay)
	averaging, rest := all(s.Averaging), all(1-s.Averaging)
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
}

func addLayerNormGradientByXVectors(dx, dy, x, scale []float32, mean, r float32) {
	var sum, product eight
	m, by, share := all(mean), all(r), all(1/float32(len(dx)))
	for i := 0; i < len(dx); i += 8 {
		d := load(dy[i:]).Mul(load(scale[i:]))
		sum = sum.Add(d)
		product = load(x[i:]).Sub(m).MulAdd(d, product) // d is 0 beyond the last
	}
	g := spread(sum).Mul(share)
	gx := spread(product).Mul(share).Mul(by).Mul(by)
	for i := 0; i < len(dx); i += 8 {
		d := load(dy[i:]).Mul(load(scale[i:])).Sub(g)
		d = d.Sub(load(x[i:]).Sub(m).Mul(gx))
		store(d.MulAdd(by, load(dx[i:])), dx[i:])
	}
	archsimd.ClearAVXUpperBits()
}

// spread is together in all lanes.
func spread(v eight) eight {
	four := v.GetLo().Add(v.GetHi())
	two := four.AddPairs(four)
	return two.AddPairs(two).Broadcast1To8()
}

func addLayerNormGradientsVectors(products, sums, dy, x []float32, mean, r float32) {
	m, by := all(mean), all(r)
	for i := 0; i < len(products); i += 8 {
		d := load(dy[i:])
		xHat := load(x[i:]).Sub(m).Mul(by)
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
