//go:build !amd64 && !(js && simd128)

package vector

// This build has no vectors, and nobody calls their functions.
var (
	reluVectors, sigmoidVectors, geluVectors func(x []float32)
	sumVectors                               func(x []float32) float32
	dotVectors                               func(a, b []float32) float32
	addVectors, takeLargerVectors            func(y, x []float32)
	addScaledVectors                         func(y, x []float32, s float32)
	expVectors                               func(x []float32, scale, shift float32)
	addProductsVectors                       func(y, a, b []float32)
	addGELUGradientVectors                   func(dx, dy, x []float32)
	layerNormVectors                         func(y, x, scale, bias []float32, eps float32, mean, r []float32)

	finishRowsVectors func(rows, columns int, y []float32, stride int, x []float32, from int, f *Finish, moves bool) int
)
