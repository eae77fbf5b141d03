//go:build !amd64

package vector

// moreVectors is false: this build has no vectors for functions that pages do not need.
func moreVectors() bool { return false }

var (
	logVectors, relu6Vectors                  func(x []float32)
	multiplyVectors                           func(y, x []float32)
	addSquaresVectors, addReLUGradientVectors func(y, a, b []float32)
	placeLargerVectors, addWhereVectors       func(y, a, b []float32, place float32)
	logLikelihoodVectors                      func(y, q, label []float32)
	filterVectors                             func(y, x []float32, stride int, window []float32)
	addCrossEntropyGradientVectors            func(dx, q, label, dy []float32, least, most float32)
	adamVectors                               func(x, g, m, v, average []float32, factor, rate, correction1, correction2, averaging, beta1, beta2, epsilon, decay float32)
	sumWeightedVectors                        func(dy, scale []float32) float32
	sumWeightedXVectors                       func(x, dy, scale []float32, mean float32) float32
	addLayerNormGradientByXVectors            func(dx, dy, x, scale []float32, mean, r, less, lessX float32)
	addLayerNormGradientsVectors              func(products, sums, dy, x []float32, mean, r float32)
	normaliseVectors                          func(y, x, mean, r, scale, bias []float32, floor float32)
	addNormalisationGradientsVectors          func(products, sums, x, dy, mean, r, scale, bias []float32, floor float32)
	addNormalisationGradientByXVectors        func(dx, x, dy, mean, r, scale, bias, products, sums []float32, floor, less float32)
)
