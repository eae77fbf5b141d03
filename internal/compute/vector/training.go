package vector

// Only training uses these functions. They compute in vectors. Without vectors, or if the first
// slice is nil, they do nothing and return false.

func more(first []float32) bool { return first != nil && moreVectors() }

// CrossEntropy sets every y to −(label log q + (1 − label) log(1 − q)), with q clamped to low
// … 1 − low.
func CrossEntropy(y, q, label []float32, low float32) bool {
	if !more(y) || low < leastLow {
		return false
	}
	crossEntropyVectors(y, q[:len(y)], label[:len(y)], low)
	return true
}

// leastLow keeps 1 − low below 1: no logarithm is of 0.
const leastLow = 0x1p-23

// AddCrossEntropyGradient adds the gradient of CrossEntropy to dx.
func AddCrossEntropyGradient(dx, q, label, dy []float32, low float32) bool {
	if !more(dx) {
		return false
	}
	addCrossEntropyGradientVectors(dx, q[:len(dx)], label[:len(dx)], dy[:len(dx)], low)
	return true
}

// AddReLUGradient adds dy to dx where x is above 0.
func AddReLUGradient(dx, dy, x []float32) bool {
	if !more(dx) {
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
	if !more(x) {
		return false
	}
	n := len(x)
	adamVectors(x, g[:n], m[:n], v[:n], average[:n], s)
	return true
}

// AddLayerNormGradientByX adds LayerNorm's gradient to dx, a row of channels. mean and r are
// LayerNorm's.
func AddLayerNormGradientByX(dx, dy, x, scale []float32, mean, r float32) bool {
	if !more(dx) {
		return false
	}
	n := len(dx)
	addLayerNormGradientByXVectors(dx, dy[:n], x[:n], scale[:n], mean, r)
	return true
}

// AddLayerNormGradients adds dy x̂ of a row to products and dy to sums.
func AddLayerNormGradients(products, sums, dy, x []float32, mean, r float32) bool {
	if !more(products) {
		return false
	}
	n := len(products)
	addLayerNormGradientsVectors(products, sums[:n], dy[:n], x[:n], mean, r)
	return true
}

// ScaleRows sets each row of y to the permuted row of x, times scale, plus shift. Rows have one,
// two, four or eight elements.
func ScaleRows(y, x []float32, from []uint32, scale, shift []float32) bool {
	n := len(from)
	if !more(y) || n == 0 || 8%n > 0 {
		return false
	}
	var lanes [8]uint32
	var scales, shifts [8]float32
	for i := range lanes {
		lanes[i], scales[i], shifts[i] = uint32(i-i%n)+from[i%n], scale[i%n], shift[i%n]
	}
	scaleRowsVectors(y, x[:len(y)], &lanes, &scales, &shifts)
	return true
}
