package vector

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// probable makes numbers probabilities, some of them 0 and some 1.
func probable(x float64) float64 { return min(max(.5+x/2, 0), 1) }

func probables(x []float32) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(probable(float64(v)))
	}
	return out
}

func TestTraining(t *testing.T) {
	const low = .4 // so that gradients are below 8, and their rounding is below 1e-6
	within := func(x float64) float64 { return min(max(probable(x), low), 1-low) }
	elementwise(t, func(y, a, b []float32) { AddCrossEntropyGradient(y, probables(a), probables(b), a, low) }, func(y, a, b float64) float64 {
		q := within(a)
		return y + (q-probable(b))/(q*(1-q))*a
	})
	elementwise(t, AddReLUGradient, func(y, a, b float64) float64 {
		if b > 0 {
			return y + a
		}
		return y
	})
	elementwise(t, func(y, a, b []float32) {
		AddLayerNormGradients(make([]float32, len(y)), y, a, b, .5, 2)
	}, func(y, a, _ float64) float64 { return y + a })
	elementwise(t, func(y, a, b []float32) {
		AddLayerNormGradients(y, make([]float32, len(y)), a, b, .5, 2)
	}, func(y, a, b float64) float64 { return y + a*(b-.5)*2 })
}

func TestLayerNormGradientByX(t *testing.T) {
	const mean, r = .5, 2.
	asLevels(t, func(l *Level) {
		for _, n := range lengths {
			dx, dy, x, scale := random(n+1, 1), random(n, 2), random(n, 3), random(n, 4)
			before := append([]float32(nil), dx...)
			AddLayerNormGradientByX(dx[:n], dy, x, scale, mean, r)
			g, gx := 0., 0.
			for i, v := range dy {
				d := float64(v) * float64(scale[i]) / float64(n)
				g, gx = g+d, gx+d*(float64(x[i])-mean)*r
			}
			for i, v := range dy {
				want := r * (float64(v)*float64(scale[i]) - g - (float64(x[i])-mean)*r*gx)
				require.InDelta(t, float64(before[i])+want, dx[i], 1e-4, l.Name)
			}
			require.Equal(t, before[n], dx[n])
		}
	})
}

func TestAdam(t *testing.T) {
	s := &AdamStep[float32]{Factor: .5, Rate: .1, Correction1: 2, Correction2: 3, Averaging: .9, Beta1: .8, Beta2: .7, Epsilon: 1e-3, Decay: .01}
	asLevels(t, func(l *Level) {
		const n = 21
		x, g, m, v, average := random(n, 1), random(n, 2), random(n, 3), make([]float32, n), random(n, 5)
		for i := range v {
			v[i] = float32(i) / n
		}
		x0, m0, v0, average0 := append([]float32(nil), x...), append([]float32(nil), m...), append([]float32(nil), v...), append([]float32(nil), average...)
		s.Update(x, g, m, v, average)
		for i := range x {
			g := g[i] * s.Factor
			require.InDelta(t, s.Beta1*m0[i]+(1-s.Beta1)*g, m[i], 1e-6, l.Name)
			require.InDelta(t, s.Beta2*v0[i]+(1-s.Beta2)*g*g, v[i], 1e-6, l.Name)
			step := m[i] * s.Correction1 / (float32(math.Sqrt(float64(v[i]*s.Correction2))) + s.Epsilon)
			require.InDelta(t, x0[i]-s.Rate*(step+s.Decay*x0[i]), x[i], 1e-5*max(1, math.Abs(float64(step))), l.Name)
			require.InDelta(t, s.Averaging*average0[i]+(1-s.Averaging)*x[i], average[i], 1e-5, l.Name)
		}
	})
}
