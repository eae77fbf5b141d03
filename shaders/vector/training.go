package vector

// The methods of these types, and the functions of training_simd.go and across_simd.go, compute in
// vectors only. Without vectors, or if their first slice or the Normalisation is nil, they do
// nothing and return false. Their callers then compute in plain Go.

// AdamStep has the numbers of a step in Adam's formulas, see the shader.
type AdamStep struct {
	Factor, Rate, Correction1, Correction2, Averaging float32
	Beta1, Beta2, Epsilon, Decay                      float32
}

// Normalisation is batch norm of rows of channels, y = (x − mean) r scale + bias, and ReLU of it.
// Its methods need a multiple of eight channels; for others they return false. Their sums differ
// from plain Go by rounding.
type Normalisation struct {
	Mean, R, Scale, Bias []float32 // (channels)
	ReLU                 bool
}
