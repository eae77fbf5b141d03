//go:build goexperiment.simd && amd64

package vector

import "simd/archsimd"

// inVectors says whether there are vectors for the number of channels.
func (n *Normalisation) inVectors() bool {
	if n == nil {
		return false
	}
	channels := len(n.Mean)
	_, _, _ = n.R[:channels], n.Scale[:channels], n.Bias[:channels]
	return moreVectors() && channels > 0 && channels%8 == 0
}

// normalised returns x̂, and y before the ReLU, for eight channels from c on.
func (n *Normalisation) normalised(x eight, c int) (xHat, y eight) {
	xHat = x.Sub(load8(n.Mean[c:])).Mul(load8(n.R[c:]))
	return xHat, xHat.MulAdd(load8(n.Scale[c:]), load8(n.Bias[c:]))
}

// passed returns x̂, and the gradient that the ReLU, if there is one, lets through.
func (n *Normalisation) passed(x, dy eight, c int) (xHat, g eight) {
	xHat, y := n.normalised(x, c)
	if n.ReLU {
		var zero eight
		dy = zero.Merge(dy, y.LessEqual(zero))
	}
	return xHat, dy
}

// Rows computes y (rows, channels) from x.
func (n *Normalisation) Rows(y, x []float32) bool {
	if !n.inVectors() {
		return false
	}
	x = x[:len(y)]
	var zero eight
	channels := len(n.Mean)
	for ; len(y) > 0; y, x = y[channels:], x[channels:] {
		for c := 0; c < channels; c += 8 {
			_, v := n.normalised(load8(x[c:]), c)
			if n.ReLU {
				v = zero.Max(v) // of a number and a NaN, Max returns the second argument
			}
			v.Store((*[8]float32)(y[c:]))
		}
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// AddGradients adds dy x̂ to products and dy to sums (rows, channels), where the ReLU passes dy.
func (n *Normalisation) AddGradients(products, sums, x, dy []float32) bool {
	if !n.inVectors() {
		return false
	}
	sums, x, dy = sums[:len(products)], x[:len(products)], dy[:len(products)]
	channels := len(n.Mean)
	for ; len(products) > 0; products, sums, x, dy = products[channels:], sums[channels:], x[channels:], dy[channels:] {
		for c := 0; c < channels; c += 8 {
			xHat, g := n.passed(load8(x[c:]), load8(dy[c:]), c)
			g.MulAdd(xHat, load8(products[c:])).Store((*[8]float32)(products[c:]))
			g.Add(load8(sums[c:])).Store((*[8]float32)(sums[c:]))
		}
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// AddGradientByX adds scale r (dy − share (sums + x̂ products)) to dx (rows, channels). dy
// counts where the ReLU passes it. products and sums have (channels).
func (n *Normalisation) AddGradientByX(dx, x, dy, products, sums []float32, share float32) bool {
	if !n.inVectors() {
		return false
	}
	channels, less := len(n.Mean), broadcast(-share)
	x, dy, products, sums = x[:len(dx)], dy[:len(dx)], products[:channels], sums[:channels]
	for ; len(dx) > 0; dx, x, dy = dx[channels:], x[channels:], dy[channels:] {
		for c := 0; c < channels; c += 8 {
			xHat, g := n.passed(load8(x[c:]), load8(dy[c:]), c)
			g = xHat.MulAdd(load8(products[c:]), load8(sums[c:])).MulAdd(less, g)
			factor := load8(n.Scale[c:]).Mul(load8(n.R[c:]))
			g.MulAdd(factor, load8(dx[c:])).Store((*[8]float32)(dx[c:]))
		}
	}
	archsimd.ClearAVXUpperBits()
	return true
}
