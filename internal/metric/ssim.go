package metric

import "math"

// SSIM is the mean over pixels of SSIMMap for values in 0..1: the similarity that training
// maximises.
func SSIM(a, b []float64, w, h int) float64 { return Mean(SSIMMap(a, b, w, h, 1)) }

// SSIMMap is the structural similarity (h, w) of two pictures (h, w) whose values span valueRange.
// The window is an 11×11 Gaussian of σ = 1.5; K1 = 0.01, K2 = 0.03 (Wang et al. 2004). Beyond the
// border both pictures are zero, with the window's full weight. Local variances are not corrected
// for the sample's size.
func SSIMMap(a, b []float64, w, h int, valueRange float64) []float64 {
	same("SSIMMap", len(a), w*h)
	same("SSIMMap", len(b), w*h)
	product := func(x, y []float64) []float64 {
		out := make([]float64, len(x))
		for i := range x {
			out[i] = x[i] * y[i]
		}
		return blur(out, w, h)
	}
	meanA, meanB := blur(a, w, h), blur(b, w, h)
	aa, bb, ab := product(a, a), product(b, b), product(a, b)
	c1, c2 := square(.01*valueRange), square(.03*valueRange)
	out := make([]float64, w*h)
	for i := range out {
		ma, mb := meanA[i], meanB[i]
		va, vb, cov := aa[i]-ma*ma, bb[i]-mb*mb, ab[i]-ma*mb
		out[i] = (2*ma*mb + c1) * (2*cov + c2) / ((ma*ma + mb*mb + c1) * (va + vb + c2))
	}
	return out
}

// blur convolves with the Gaussian window, rows then columns, zero beyond the border.
func blur(src []float64, w, h int) []float64 {
	const radius, sigma = 5, 1.5
	var kernel [2*radius + 1]float64
	var sum float64
	for i := range kernel {
		kernel[i] = math.Exp(-square(float64(i-radius)) / (2 * sigma * sigma))
		sum += kernel[i]
	}
	pass := func(src []float64, n, stride, lines, lineStride int) []float64 {
		dst := make([]float64, len(src))
		for line := range lines {
			for i := range n {
				for k, weight := range kernel {
					if j := i + k - radius; j >= 0 && j < n {
						dst[line*lineStride+i*stride] += weight / sum * src[line*lineStride+j*stride]
					}
				}
			}
		}
		return dst
	}
	return pass(pass(src, w, 1, h, w), h, w, w, 1)
}
