//go:build (!goexperiment.simd || !amd64) && !(js && simd128)

package vector

// vectors is false: this build has no vectors.
func vectors() bool { return false }

// These are never called.
func addVectors(y, x []float32)                                            {}
func addScaledVectors(y, x []float32, s float32)                           {}
func addProductsVectors(y, a, b []float32)                                 {}
func takeLargerVectors(y, x []float32)                                     {}
func reluVectors(x []float32)                                              {}
func sumVectors(x []float32) float32                                       { return 0 }
func dotVectors(a, b []float32) float32                                    { return 0 }
func expVectors(x []float32, scale, shift float32)                         {}
func sigmoidVectors(x []float32)                                           {}
func geluVectors(x []float32)                                              {}
func addGELUGradientVectors(dx, dy, x []float32)                           {}
func maxOfColumnsVectors(most, x []float32)                                {}
func expColumnsVectors(x []float32, scale float32, shift, total []float32) {}

func finishRowsVectors(rows, columns int, y []float32, stride int, x []float32, from int, f *Finish) {
}
func layerNormVectors(y, x, scale, bias []float32, eps float32, mean, r []float32) {}
