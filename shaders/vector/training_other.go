//go:build !goexperiment.simd || !amd64

package vector

// This build has no vectors for functions that pages do not need: they return false.

func moreVectors() bool { return false }

func SoftmaxAcross(x []float32, rows []int, n int) bool                           { return false }
func SumProductsAcross(y, a, b []float32, rows []int) bool                        { return false }
func DifferAcross(y, x []float32, rows []int) bool                                { return false }
func CrossEntropy(y, q, label []float32, low float32) bool                        { return false }
func AddCrossEntropyGradient(dx, q, label, dy []float32, low float32) bool        { return false }
func AddReLUGradient(dx, dy, x []float32) bool                                    { return false }
func AddLayerNormGradientByX(dx, dy, x, scale []float32, mean, r float32) bool    { return false }
func AddLayerNormGradients(products, sums, dy, x []float32, mean, r float32) bool { return false }
func ScaleRows(y, x []float32, from []uint32, scale, shift []float32) bool        { return false }
func (s *AdamStep) Update(x, g, m, v, average []float32) bool                     { return false }
func (n *Normalisation) Rows(y, x []float32) bool                                 { return false }
func (n *Normalisation) AddGradients(products, sums, x, dy []float32) bool        { return false }
func (n *Normalisation) AddGradientByX(dx, x, dy, products, sums []float32, share float32) bool {
	return false
}

// These are never called, because moreVectors is false.

func filterVectors(y, x []float32, stride int, window []float32) {}
func logVectors(x []float32)                                     {}
func relu6Vectors(x []float32)                                   {}
func multiplyVectors(y, x []float32)                             {}
func placeLargerVectors(y, places, x []float32, place float32)   {}
func logLikelihoodVectors(y, q, label []float32)                 {}
func addSquaresVectors(squares, x, mean []float32)               {}
func addWhereVectors(y, x, places []float32, place float32)      {}
