//go:build goexperiment.simd && amd64

package vector

import "simd/archsimd"

// normalised are x̂ and what becomes of that, before the ReLU, of eight channels from c on.
func (n *Normalisation) normalised(x eight, c int) (xHat, y eight) {
	xHat = x.Sub(load8(n.Mean[c:])).Mul(load8(n.R[c:]))
	return xHat, xHat.MulAdd(load8(n.Scale[c:]), load8(n.Bias[c:]))
}

// passed is x̂ and the gradient that the ReLU, if there is one, lets through.
func (n *Normalisation) passed(x, dy eight, c int) (xHat, g eight) {
	xHat, y := n.normalised(x, c)
	if n.ReLU {
		var zero eight
		dy = zero.Merge(dy, y.LessEqual(zero))
	}
	return xHat, dy
}

func normaliseVectors(y, x []float32, n *Normalisation) {
	var zero eight
	channels := len(n.Mean)
	for ; len(y) > 0; y, x = y[channels:], x[channels:] {
		for c := 0; c < channels; c += 8 {
			_, v := n.normalised(load8(x[c:]), c)
			if n.ReLU {
				v = zero.Max(v) // of a number and a NaN the second
			}
			v.Store((*[8]float32)(y[c:]))
		}
	}
	archsimd.ClearAVXUpperBits()
}

func addNormGradientsVectors(products, sums, x, dy []float32, n *Normalisation) {
	channels := len(n.Mean)
	for ; len(products) > 0; products, sums, x, dy = products[channels:], sums[channels:], x[channels:], dy[channels:] {
		for c := 0; c < channels; c += 8 {
			xHat, g := n.passed(load8(x[c:]), load8(dy[c:]), c)
			g.MulAdd(xHat, load8(products[c:])).Store((*[8]float32)(products[c:]))
			g.Add(load8(sums[c:])).Store((*[8]float32)(sums[c:]))
		}
	}
	archsimd.ClearAVXUpperBits()
}

func addNormGradientByXVectors(dx, x, dy, products, sums []float32, share float32, n *Normalisation) {
	channels, less := len(n.Mean), all(-share)
	for ; len(dx) > 0; dx, x, dy = dx[channels:], x[channels:], dy[channels:] {
		for c := 0; c < channels; c += 8 {
			xHat, g := n.passed(load8(x[c:]), load8(dy[c:]), c)
			g = xHat.MulAdd(load8(products[c:]), load8(sums[c:])).MulAdd(less, g)
			factor := load8(n.Scale[c:]).Mul(load8(n.R[c:]))
			g.MulAdd(factor, load8(dx[c:])).Store((*[8]float32)(dx[c:]))
		}
	}
	archsimd.ClearAVXUpperBits()
}

func addSquaresVectors(squares, x, mean []float32) {
	for i := 0; i < len(squares); i += 8 {
		d := load(x[i:]).Sub(load(mean[i:]))
		store(d.MulAdd(d, load(squares[i:])), squares[i:])
	}
	archsimd.ClearAVXUpperBits()
}
