package vector

import "math"

// The functions of this file compute in vectors only. Without vectors, or if their first slice or
// the Normalisation is nil, they do nothing and return false. Their callers then compute in plain
// Go.

func usesVectors(first []float32) bool { return first != nil && moreVectors() }

// leastLow keeps 1 − low below 1, so that no logarithm of 0 is taken.
const leastLow = 0x1p-23

// CrossEntropy sets every y to −(label log q + (1 − label) log(1 − q)), with q clamped to low
// … 1 − low. A NaN stays. It returns false if low is below 2⁻²³.
func CrossEntropy(y, q, label []float32, low float32) bool {
	if !usesVectors(y) || low < leastLow {
		return false
	}
	crossEntropyVectors(y, q[:len(y)], label[:len(y)], low, 1-low)
	return true
}

// AddCrossEntropyGradient adds the gradient of CrossEntropy to dx.
func AddCrossEntropyGradient(dx, q, label, dy []float32, low float32) bool {
	if !usesVectors(dx) {
		return false
	}
	n := len(dx)
	addCrossEntropyGradientVectors(dx, q[:n], label[:n], dy[:n], low, 1-low)
	return true
}

// AddReLUGradient adds dy to dx where x is above 0.
func AddReLUGradient(dx, dy, x []float32) bool {
	if !usesVectors(dx) {
		return false
	}
	addReLUGradientVectors(dx, dy[:len(dx)], x[:len(dx)])
	return true
}

// AdamStep has the numbers of a step in Adam's formulas, see the shader.
type AdamStep struct {
	Factor, Rate, Correction1, Correction2, Averaging float32
	Beta1, Beta2, Epsilon, Decay                      float32
}

// Update takes a step of parameters x by their gradient g, with their moments and their average.
func (s *AdamStep) Update(x, g, m, v, average []float32) bool {
	if !usesVectors(x) {
		return false
	}
	n := len(x)
	adamVectors(x, g[:n], m[:n], v[:n], average[:n], s.Factor, s.Rate, s.Correction1, s.Correction2, s.Averaging,
		s.Beta1, s.Beta2, s.Epsilon, s.Decay)
	return true
}

// AddLayerNormGradientByX adds LayerNorm's gradient to dx, a row of channels. mean and r are
// LayerNorm's.
func AddLayerNormGradientByX(dx, dy, x, scale []float32, mean, r float32) bool {
	if !usesVectors(dx) {
		return false
	}
	n := len(dx)
	dy, x, scale = dy[:n], x[:n], scale[:n]
	share := 1 / float32(n)
	less, lessX := sumWeightedVectors(dy, scale)*share, sumWeightedXVectors(x, dy, scale, mean)*share*r*r
	addLayerNormGradientByXVectors(dx, dy, x, scale, mean, r, less, lessX)
	return true
}

// AddLayerNormGradients adds dy x̂ of a row to products and dy to sums.
func AddLayerNormGradients(products, sums, dy, x []float32, mean, r float32) bool {
	if !usesVectors(products) {
		return false
	}
	n := len(products)
	addLayerNormGradientsVectors(products, sums[:n], dy[:n], x[:n], mean, r)
	return true
}

// Normalisation is batch norm of rows of channels, y = (x − mean) r scale + bias, and ReLU of it.
// Its methods need a multiple of eight channels; for others they return false. Their sums differ
// from plain Go by rounding.
type Normalisation struct {
	Mean, R, Scale, Bias []float32 // (channels)
	ReLU                 bool
}

// inVectors says whether there are vectors for the number of channels.
func (n *Normalisation) inVectors() bool {
	if n == nil {
		return false
	}
	channels := len(n.Mean)
	_, _, _ = n.R[:channels], n.Scale[:channels], n.Bias[:channels]
	return moreVectors() && channels > 0 && channels%8 == 0
}

// floor is the least y.
func (n *Normalisation) floor() float32 {
	if n.ReLU {
		return 0
	}
	return float32(math.Inf(-1))
}

// Rows computes y (rows, channels) from x.
func (n *Normalisation) Rows(y, x []float32) bool {
	if !n.inVectors() {
		return false
	}
	normaliseVectors(y, x[:len(y)], n.Mean, n.R, n.Scale, n.Bias, n.floor())
	return true
}

// AddGradients adds dy x̂ to products and dy to sums (rows, channels), where the ReLU passes dy.
func (n *Normalisation) AddGradients(products, sums, x, dy []float32) bool {
	if !n.inVectors() {
		return false
	}
	size := len(products)
	addNormalisationGradientsVectors(products, sums[:size], x[:size], dy[:size], n.Mean, n.R, n.Scale, n.Bias, n.floor())
	return true
}

// AddGradientByX adds scale r (dy − share (sums + x̂ products)) to dx (rows, channels). dy
// counts where the ReLU passes it. products and sums have (channels).
func (n *Normalisation) AddGradientByX(dx, x, dy, products, sums []float32, share float32) bool {
	if !n.inVectors() {
		return false
	}
	size, channels := len(dx), len(n.Mean)
	addNormalisationGradientByXVectors(dx, x[:size], dy[:size], n.Mean, n.R, n.Scale, n.Bias,
		products[:channels], sums[:channels], n.floor(), -share)
	return true
}
