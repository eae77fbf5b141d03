//go:build simd128

package vector

import "unsafe"

// vectors says whether the module computes slices.
func vectors() bool { return Current().elements }

// of is the address of a slice.
func of(x []float32) *float32 { return unsafe.SliceData(x) }

func addVectors(y, x []float32) { addModule(of(y), of(x), int32(len(y))) }

// The module counts rows in bytes.
func finishRowsVectors(rows, columns int, y []float32, stride int, x []float32, from int, f *Finish) {
	finishRowsModule(int32(rows), int32(4*columns), of(y), int32(4*stride), of(x), int32(4*from),
		of(f.Scale), of(f.Shift), of(f.Residual), int32(4*f.Stride), f.ReLU)
}

func layerNormVectors(y, x, scale, bias []float32, eps float32, mean, r []float32) {
	layerNormModule(int32(len(mean)), int32(4*len(scale)), of(y), of(x), of(scale), of(bias), of(mean), of(r), eps)
}

func addScaledVectors(y, x []float32, s float32) { addScaledModule(of(y), of(x), int32(len(y)), s) }

func addProductsVectors(y, a, b []float32) {
	addProductsModule(of(y), of(a), of(b), int32(len(y)))
}

func takeLargerVectors(y, x []float32) { takeLargerModule(of(y), of(x), int32(len(y))) }

func reluVectors(x []float32) { reluModule(of(x), int32(len(x))) }

func sumVectors(x []float32) float32 { return sumModule(of(x), int32(len(x))) }

func dotVectors(a, b []float32) float32 { return dotModule(of(a), of(b), int32(len(a))) }

func expVectors(x []float32, scale, shift float32) { expModule(of(x), int32(len(x)), scale, shift) }

func sigmoidVectors(x []float32) { sigmoidModule(of(x), int32(len(x))) }

func geluVectors(x []float32) { geluModule(of(x), int32(len(x))) }

// Panels have the eight columns of this level.
func maxOfColumnsVectors(most, x []float32) { maxOfColumnsModule(of(x), of(most), int32(len(x)/8)) }

func expColumnsVectors(x []float32, scale float32, shift, total []float32) {
	expColumnsModule(of(x), of(shift), of(total), int32(len(x)/8), scale)
}

func addGELUGradientVectors(dx, dy, x []float32) {
	addGELUGradientModule(of(dx), of(dy), of(x), int32(len(dx)))
}
