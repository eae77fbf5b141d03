package vector

// Normalisation is batch norm of rows of channels, y = (x − mean) r scale + bias, and ReLU of it.
// Its methods compute in vectors, and their sums differ from plain Go by rounding. If there are no
// vectors for the number of channels, or if it is nil, they do nothing and return false.
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

// Rows computes y (rows, channels) from x.
func (n *Normalisation) Rows(y, x []float32) bool {
	if !n.inVectors() {
		return false
	}
	normaliseVectors(y, x[:len(y)], n)
	return true
}

// AddGradients adds dy x̂ to products and dy to sums (rows, channels), where the ReLU passes dy.
func (n *Normalisation) AddGradients(products, sums, x, dy []float32) bool {
	if !n.inVectors() {
		return false
	}
	addNormGradientsVectors(products, sums[:len(products)], x[:len(products)], dy[:len(products)], n)
	return true
}

// AddGradientByX adds scale r (dy − share (sums + x̂ products)) to dx (rows, channels). dy
// counts where the ReLU passes it. products and sums have (channels).
func (n *Normalisation) AddGradientByX(dx, x, dy, products, sums []float32, share float32) bool {
	if !n.inVectors() {
		return false
	}
	channels := len(n.Mean)
	addNormGradientByXVectors(dx, x[:len(dx)], dy[:len(dx)], products[:channels], sums[:channels], share, n)
	return true
}

// AddSquares adds (x − mean)² to squares. Each element has its own mean.
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
