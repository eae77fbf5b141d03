package dataset

import (
	"math"
	"math/cmplx"
)

// widestSpectrum is the largest square of low frequencies that restyle changes, in sides of the
// spectrum. Yang and Soatto (2020) try up to 0.18.
const widestSpectrum = 0.1

// restyle gives a share of the views (s, s, 3) of a sample the look of another sample, by a degree
// from 0 to 1: either its colour statistics or the amplitudes of its low frequencies. The other
// sample is seen in the same drawn view, so that both show equally much around the anchor. restyle
// draws from a random stream of its own. Grey pictures take on the look of grey ones alone.
func (s *Sampler) restyle(pixels []float32, it *Sample, position uint64) {
	a, size, rng := s.options.Augmentation, s.options.Size, s.random(styleStream, position)
	if a.Restyle == 0 || rng.Float64() >= a.Restyle {
		return
	}
	n := rng.IntN(len(s.samples) + len(s.others))
	spectral, degree, width := rng.Float64() < .5, rng.Float64(), widestSpectrum*rng.Float64()
	var other *Sample
	if n < len(s.samples) {
		other = s.samples[n]
	} else {
		other = s.others[n-len(s.samples)]
	}
	if other.grey != it.grey {
		return
	}
	draws := s.random(drawStream, position)
	view, look := a.view(other, draws), a.look(other, draws)
	shown := make([]float32, len(pixels))
	other.samplePixels(shown, size, 1, view, look) // only sums need it: no smoothing
	if spectral {
		takeAmplitudes(pixels, shown, size, int(width*float64(size)/2), degree)
	} else {
		takeColours(pixels, shown, degree)
	}
	for i, v := range pixels {
		pixels[i] = max(0, min(1, v))
	}
}

// takeColours moves the mean and the standard deviation of each channel toward those of another
// picture, by a degree from 0 to 1 (Reinhard et al. 2001, here of red, green and blue).
func takeColours(pixels, other []float32, degree float64) {
	for c := range 3 {
		mean, deviation := moments(pixels[c:])
		otherMean, otherDeviation := moments(other[c:])
		factor := 1.
		if deviation > 0 {
			factor += degree * (otherDeviation/deviation - 1)
		}
		shift := mean + degree*(otherMean-mean) - factor*mean
		for i := c; i < len(pixels); i += 3 {
			pixels[i] = float32(factor*float64(pixels[i]) + shift)
		}
	}
}

// moments are the mean and the standard deviation of every third value, from the first on.
func moments(values []float32) (mean, deviation float64) {
	var sum, squares, n float64
	for i := 0; i < len(values); i += 3 {
		v := float64(values[i])
		sum, squares, n = sum+v, squares+v*v, n+1
	}
	mean = sum / n
	return mean, math.Sqrt(max(0, squares/n-mean*mean))
}

// takeAmplitudes moves the amplitudes of low frequencies of pictures (s, s, 3) toward those of
// another, by a degree from 0 to 1, and keeps their phases (Yang and Soatto 2020, FDA; mixed by a
// degree as Xu et al. 2021). These are the frequencies -reach..reach each way, reach < s/2: they
// are few, and sums over pixels cost less than a whole transform.
func takeAmplitudes(pixels, other []float32, s, reach int, degree float64) {
	w := waves(s)
	for c := range 3 {
		change, theirs := lowSpectrum(pixels[c:], w, reach), lowSpectrum(other[c:], w, reach)
		for i, f := range change {
			by := degree * (cmplx.Abs(theirs[i]) - cmplx.Abs(f))
			change[i] = cmplx.Rect(by, cmplx.Phase(f))
		}
		addSpectrum(pixels[c:], w, reach, change)
	}
}

// waves are e^(-2πi·n/s) for n = 0..s-1.
func waves(s int) []complex128 {
	w := make([]complex128, s)
	for n := range w {
		w[n] = cmplx.Rect(1, -2*math.Pi*float64(n)/float64(s))
	}
	return w
}

// lowSpectrum is the discrete Fourier transform (reach+1, 2·reach+1) of every third value of a
// picture of len(w) rows and columns, at frequencies 0..reach across and -reach..reach down. The
// others are conjugates of these.
func lowSpectrum(pixels []float32, w []complex128, reach int) []complex128 {
	s := len(w)
	spectrum := make([]complex128, (reach+1)*(2*reach+1))
	for across := range reach + 1 {
		for y := range s {
			var row complex128
			for x, at := 0, 0; x < s; x++ {
				v := float64(pixels[3*(y*s+x)])
				row += complex(v*real(w[at]), v*imag(w[at]))
				if at += across; at >= s {
					at -= s
				}
			}
			for down := -reach; down <= reach; down++ {
				spectrum[across*(2*reach+1)+down+reach] += row * w[((down*y)%s+s)%s]
			}
		}
	}
	return spectrum
}

// addSpectrum adds the picture of a spectrum (reach+1, 2·reach+1) to every third value.
func addSpectrum(pixels []float32, w []complex128, reach int, spectrum []complex128) {
	s := len(w)
	sums := make([]float64, s)
	for y := range s {
		clear(sums)
		for across := range reach + 1 {
			var row complex128
			for down := -reach; down <= reach; down++ {
				row += spectrum[across*(2*reach+1)+down+reach] * cmplx.Conj(w[((down*y)%s+s)%s])
			}
			if across > 0 {
				row *= 2 // with the conjugate at -across
			}
			for x, at := 0, 0; x < s; x++ {
				sums[x] += real(row)*real(w[at]) + imag(row)*imag(w[at])
				if at += across; at >= s {
					at -= s
				}
			}
		}
		for x, v := range sums {
			pixels[3*(y*s+x)] += float32(v / float64(s*s))
		}
	}
}
