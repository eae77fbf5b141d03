package vector

// Normalisation is what batch norm does to rows of channels: y = (x − mean) r scale + bias, and
// ReLU of it. Its functions compute in vectors, whose sums are those of plain Go but for rounding;
// they are false, and have done nothing, where there are no vectors for so many channels, or of
// nil.
type Normalisation struct {
	Mean, R, Scale, Bias []float32 // (channels)
	ReLU                 bool
}

func (n *Normalisation) inVectors() bool {
	if n == nil {
		return false
	}
	channels := len(n.Mean)
	_, _, _ = n.R[:channels], n.Scale[:channels], n.Bias[:channels]
	return moreVectors() && channels > 0 && channels%8 == 0
}

// Rows makes y (rows, channels) of x.
func (n *Normalisation) Rows(y, x []float32) bool {
	if !n.inVectors() {
		return false
	}
	normaliseVectors(y, x[:len(y)], n)
	return true
}

// AddGradients adds to products and sums (rows, channels) dy x̂ and dy, where the ReLU lets dy
// through.
func (n *Normalisation) AddGradients(products, sums, x, dy []float32) bool {
	if !n.inVectors() {
		return false
	}
	addNormGradientsVectors(products, sums[:len(products)], x[:len(products)], dy[:len(products)], n)
	return true
}

// AddGradientByX adds to dx (rows, channels) scale r (dy − share (sums + x̂ products)), dy where
// the ReLU lets it through; products and sums (channels).
func (n *Normalisation) AddGradientByX(dx, x, dy, products, sums []float32, share float32) bool {
	if !n.inVectors() {
		return false
	}
	channels := len(n.Mean)
	addNormGradientByXVectors(dx, x[:len(dx)], dy[:len(dx)], products[:channels], sums[:channels], share, n)
	return true
}

// AddSquares adds to squares (rows, channels) (x − mean)², mean of each row its own.
func AddSquares(squares, x, mean []float32) {
	x, mean = x[:len(squares)], mean[:len(squares)]
	if moreVectors() {
		addSquaresVectors(squares, x, mean)
		return
	}
	for i, v := range x {
		squares[i] += (v - mean[i]) * (v - mean[i])
	}
}
