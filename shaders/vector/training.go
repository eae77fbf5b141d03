package vector

import "math"

// These functions are like those of elements.go. Only training uses them.

// AddCrossEntropyGradient adds dy times the gradient of −LogLikelihood to dx, with q clamped to low
// … 1 − low.
func AddCrossEntropyGradient[F Float](dx, q, label, dy []F, low F) {
	q, label, dy = q[:len(dx)], label[:len(dx)], dy[:len(dx)]
	if single := Singles(dx); single != nil && moreVectors() {
		addCrossEntropyGradientVectors(single, Singles(q), Singles(label), Singles(dy), float32(low), 1-float32(low))
		return
	}
	for i, v := range q {
		v = min(max(v, low), 1-low)
		dx[i] += (v - label[i]) / (v * (1 - v)) * dy[i]
	}
}

// AddReLUGradient adds dy to dx where x is above 0.
func AddReLUGradient[F Float](dx, dy, x []F) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	if single := Singles(dx); single != nil && moreVectors() {
		addReLUGradientVectors(single, Singles(dy), Singles(x))
		return
	}
	for i, v := range x {
		if v > 0 {
			dx[i] += dy[i]
		}
	}
}

// AdamStep has the numbers of a step in Adam's formulas, see the shader.
type AdamStep[F Float] struct {
	Factor, Rate, Correction1, Correction2, Averaging F
	Beta1, Beta2, Epsilon, Decay                      float32
}

// Update takes a step of parameters x by their gradient g, with their moments and their average.
func (s *AdamStep[F]) Update(x, g, m, v, average []F) {
	g, m, v, average = g[:len(x)], m[:len(x)], v[:len(x)], average[:len(x)]
	if single := Singles(x); single != nil && moreVectors() {
		adamVectors(single, Singles(g), Singles(m), Singles(v), Singles(average), float32(s.Factor), float32(s.Rate),
			float32(s.Correction1), float32(s.Correction2), float32(s.Averaging), s.Beta1, s.Beta2, s.Epsilon, s.Decay)
		return
	}
	b1, b2, epsilon, decay := F(s.Beta1), F(s.Beta2), F(s.Epsilon), F(s.Decay)
	for i, g := range g {
		g *= s.Factor
		m[i] = b1*m[i] + (1-b1)*g
		v[i] = b2*v[i] + (1-b2)*g*g
		step := m[i] * s.Correction1 / (F(math.Sqrt(float64(v[i]*s.Correction2))) + epsilon)
		x[i] -= s.Rate * (step + decay*x[i])
		average[i] = s.Averaging*average[i] + (1-s.Averaging)*x[i]
	}
}

// AddLayerNormGradientByX adds LayerNorm's gradient to dx, a row of channels. mean and r are
// LayerNorm's.
func AddLayerNormGradientByX[F Float](dx, dy, x, scale []F, mean, r F) {
	n := F(len(dx))
	dy, x, scale = dy[:len(dx)], x[:len(dx)], scale[:len(dx)]
	if single := Singles(dx); single != nil && moreVectors() {
		dy, x, scale, mean, r, share := Singles(dy), Singles(x), Singles(scale), float32(mean), float32(r), 1/float32(n)
		less, lessX := sumWeightedVectors(dy, scale)*share, sumWeightedXVectors(x, dy, scale, mean)*share*r*r
		addLayerNormGradientByXVectors(single, dy, x, scale, mean, r, less, lessX)
		return
	}
	var g, gx F
	for i, v := range x {
		d := dy[i] * scale[i]
		g += d
		gx += d * (v - mean) * r
	}
	for i, v := range x {
		dx[i] += r * (dy[i]*scale[i] - g/n - (v-mean)*r*gx/n)
	}
}

// AddLayerNormGradients adds dy x̂ of a row to products and dy to sums.
func AddLayerNormGradients[F Float](products, sums, dy, x []F, mean, r F) {
	sums, dy, x = sums[:len(products)], dy[:len(products)], x[:len(products)]
	if single := Singles(products); single != nil && moreVectors() {
		addLayerNormGradientsVectors(single, Singles(sums), Singles(dy), Singles(x), float32(mean), float32(r))
		return
	}
	for i, d := range dy {
		products[i] += d * (x[i] - mean) * r
		sums[i] += d
	}
}

// Normalisation is batch norm of rows of channels, y = (x − mean) r scale + bias, and ReLU of it.
// Sums in vectors, which need a multiple of eight channels, differ from plain Go by rounding.
type Normalisation[F Float] struct {
	Mean, R, Scale, Bias []F // (channels)
	ReLU                 bool
}

// inVectors returns the parameters for vectors, if there are vectors for the number of channels,
// and the least y.
func (n *Normalisation[F]) inVectors() (mean, r, scale, bias []float32, floor float32, is bool) {
	c := len(n.Mean)
	if !n.ReLU {
		floor = float32(math.Inf(-1))
	}
	mean, r, scale, bias = Singles(n.Mean), Singles(n.R[:c]), Singles(n.Scale[:c]), Singles(n.Bias[:c])
	return mean, r, scale, bias, floor, mean != nil && moreVectors() && c > 0 && c%8 == 0
}

// normalised returns x̂ and y of an element.
func (n *Normalisation[F]) normalised(x F, i int) (xHat, y F) {
	c := i % len(n.Mean)
	xHat = (x - n.Mean[c]) * n.R[c]
	return xHat, xHat*n.Scale[c] + n.Bias[c]
}

// passed returns x̂, and the gradient that the ReLU, if there is one, lets through.
func (n *Normalisation[F]) passed(x, dy F, i int) (xHat, g F) {
	xHat, y := n.normalised(x, i)
	if n.ReLU && y <= 0 {
		return xHat, 0
	}
	return xHat, dy
}

// Rows computes y (rows, channels) from x.
func (n *Normalisation[F]) Rows(y, x []F) {
	x = x[:len(y)]
	if mean, r, scale, bias, floor, is := n.inVectors(); is {
		normaliseVectors(Singles(y), Singles(x), mean, r, scale, bias, floor)
		return
	}
	for i, v := range x {
		_, y[i] = n.normalised(v, i)
		if n.ReLU {
			y[i] = max(y[i], 0)
		}
	}
}

// AddGradients adds dy x̂ to products and dy to sums (rows, channels), where the ReLU passes dy.
func (n *Normalisation[F]) AddGradients(products, sums, x, dy []F) {
	sums, x, dy = sums[:len(products)], x[:len(products)], dy[:len(products)]
	if mean, r, scale, bias, floor, is := n.inVectors(); is {
		addNormalisationGradientsVectors(Singles(products), Singles(sums), Singles(x), Singles(dy), mean, r, scale, bias, floor)
		return
	}
	for i, v := range x {
		xHat, g := n.passed(v, dy[i], i)
		products[i] += g * xHat
		sums[i] += g
	}
}

// AddGradientByX adds scale r (dy − share (sums + x̂ products)) to dx (rows, channels). dy
// counts where the ReLU passes it. products and sums have (channels).
func (n *Normalisation[F]) AddGradientByX(dx, x, dy, products, sums []F, share F) {
	channels := len(n.Mean)
	x, dy, products, sums = x[:len(dx)], dy[:len(dx)], products[:channels], sums[:channels]
	if mean, r, scale, bias, floor, is := n.inVectors(); is {
		addNormalisationGradientByXVectors(Singles(dx), Singles(x), Singles(dy), mean, r, scale, bias,
			Singles(products), Singles(sums), floor, float32(-share))
		return
	}
	for i, v := range x {
		c := i % channels
		xHat, g := n.passed(v, dy[i], i)
		dx[i] += n.Scale[c] * n.R[c] * (g - share*(sums[c]+xHat*products[c]))
	}
}
