//go:build !goexperiment.simd || !amd64

package vector

// moreVectors are not to be had in this build.
func moreVectors() bool { return false }

// What is never called, then.
func filterVectors(y, x []float32, stride int, window []float32)                {}
func logVectors(x []float32)                                                    {}
func multiplyVectors(y, x []float32)                                            {}
func placeLargerVectors(y, places, x []float32, place float32)                  {}
func logLikelihoodVectors(y, q, label []float32)                                {}
func normaliseVectors(y, x []float32, n *Normalisation)                         {}
func addNormGradientsVectors(products, sums, x, dy []float32, n *Normalisation) {}
func addNormGradientByXVectors(dx, x, dy, products, sums []float32, share float32, n *Normalisation) {
}
func addSquaresVectors(squares, x, mean []float32)                                  {}
func addWhereVectors(y, x, places []float32, place float32)                         {}
func softmaxAcrossVectors(x []float32, rows []int, n int)                           {}
func sumProductsAcrossVectors(y, a, b []float32, rows []int)                        {}
func crossEntropyVectors(y, q, label []float32, low float32)                        {}
func addCrossEntropyGradientVectors(dx, q, label, dy []float32, low float32)        {}
func addReLUGradientVectors(dx, dy, x []float32)                                    {}
func adamVectors(x, g, m, v, average []float32, s *AdamStep)                        {}
func addLayerNormGradientByXVectors(dx, dy, x, scale []float32, mean, r float32)    {}
func addLayerNormGradientsVectors(products, sums, dy, x []float32, mean, r float32) {}
func scaleRowsVectors(y, x []float32, from *[8]uint32, scale, shift *[8]float32)    {}
func differAcrossVectors(y, x []float32, rows []int)                                {}
