package vector

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Lengths that fill vectors, and lengths that do not.
var lengths = []int{1, 7, 8, 16, 21}

// elementwise compares the results of a function of slices with the expected value of each element.
func elementwise(t *testing.T, do func(y, a, b []float32), want func(y, a, b float64) float64) {
	t.Helper()
	asLevels(t, func(l *Level) {
		for _, n := range lengths {
			y, a, b := random(n+1, 1), random(n+1, 2), random(n+1, 3)
			got := append([]float32(nil), y...)
			do(got[:n], a[:n], b[:n])
			for i := range n {
				require.InDelta(t, want(float64(y[i]), float64(a[i]), float64(b[i])), got[i], 1e-6, "%s: element %d of %d", l.Name, i, n)
			}
			assert.Equal(t, y[n], got[n], "beyond the slice nothing is written")
			whole := append([]float32(nil), y...)
			do(whole[:n], a[:n], b[:n])
			parts := append([]float32(nil), y...)
			do(parts[:n/2], a[:n/2], b[:n/2])
			do(parts[n/2:n], a[n/2:n], b[n/2:n])
			assert.Equal(t, whole, parts, "the same wherever a slice is cut")
		}
	})
}

func TestElements(t *testing.T) {
	normalOf := func(x float64) float64 { return (1 + math.Erf(x/math.Sqrt2)) / 2 }
	elementwise(t, func(y, a, _ []float32) { Add(y, a) }, func(y, a, _ float64) float64 { return y + a })
	elementwise(t, func(y, a, _ []float32) { AddScaled(y, a, .5) }, func(y, a, _ float64) float64 { return y + a/2 })
	elementwise(t, AddProducts, func(y, a, b float64) float64 { return y + a*b })
	elementwise(t, func(y, a, _ []float32) { Multiply(y, a) }, func(y, a, _ float64) float64 { return y * a })
	elementwise(t, func(y, a, _ []float32) { TakeLarger(y, a) }, func(y, a, _ float64) float64 { return max(y, a) })
	elementwise(t, func(y, a, b []float32) { PlaceLarger(a, b, y, 5); copy(y, b) }, func(y, a, b float64) float64 {
		if y > a {
			return 5
		}
		return b
	})
	elementwise(t, func(y, a, b []float32) {
		places := make([]float32, len(b))
		for i, v := range b {
			places[i] = float32(math.Trunc(float64(v)))
		}
		AddWhere(y, a, places, 1)
	}, func(y, a, b float64) float64 {
		if math.Trunc(b) == 1 {
			return y + a
		}
		return y
	})
	elementwise(t, AddSquares, func(y, a, b float64) float64 { return y + (a-b)*(a-b) })
	elementwise(t, func(y, _, _ []float32) { ReLU(y) }, func(y, _, _ float64) float64 { return max(y, 0) })
	elementwise(t, func(y, _, _ []float32) { ReLU6(y) }, func(y, _, _ float64) float64 { return min(max(y, 0), 6) })
	elementwise(t, func(y, _, _ []float32) { Sigmoid(y) }, func(y, _, _ float64) float64 { return 1 / (1 + math.Exp(-y)) })
	elementwise(t, func(y, _, _ []float32) { Exp(y, .5, -1) }, func(y, _, _ float64) float64 { return math.Exp(y/2 - 1) })
	elementwise(t, func(y, a, _ []float32) {
		for i, v := range a {
			y[i] = 1 + v*v
		}
		Log(y)
	}, func(_, a, _ float64) float64 { return math.Log(1 + a*a) })
	elementwise(t, func(y, a, b []float32) {
		for i, v := range a {
			y[i] = 1 / (2 + v*v)
		}
		LogLikelihood(y, y, b)
	}, func(_, a, b float64) float64 { return b*math.Log(1/(2+a*a)) + (1-b)*math.Log(1-1/(2+a*a)) })
	elementwise(t, func(y, _, _ []float32) { GELU(y) }, func(y, _, _ float64) float64 { return y * normalOf(y) })
	elementwise(t, AddGELUGradient, func(dx, dy, x float64) float64 {
		return dx + dy*(normalOf(x)+x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
	})
}

func TestFilter(t *testing.T) {
	asLevels(t, func(l *Level) {
		for _, n := range append(lengths, 32, 77, 300) {
			const stride = 5
			window, x, y := random(7, 1), random(n+6*stride, 2), make([]float32, n+1)
			Filter(y[:n], x, stride, window)
			for i := range n {
				want := 0.
				for t, w := range window {
					want += float64(w) * float64(x[i+t*stride])
				}
				require.InDelta(t, want, y[i], 1e-5, "%s: element %d of %d", l.Name, i, n)
			}
			assert.Zero(t, y[n])
			parts := make([]float32, n)
			Filter(parts[:n/2], x, stride, window)
			Filter(parts[n/2:], x[n/2:], stride, window)
			assert.Equal(t, y[:n], parts, "the same wherever a slice is cut")
		}
	})
}

func TestSums(t *testing.T) {
	asLevels(t, func(l *Level) {
		for _, n := range lengths {
			a, b := random(n, 1), random(n, 2)
			sum, dot := 0., 0.
			for i, v := range a {
				sum, dot = sum+float64(v), dot+float64(v)*float64(b[i])
			}
			assert.InDelta(t, sum, Sum(a), 1e-5, l.Name)
			assert.InDelta(t, dot, Dot(a, b), 1e-5, l.Name)
		}
	})
}

func TestExp(t *testing.T) {
	asLevels(t, func(l *Level) {
		var x []float32
		for v := float32(-87); v <= 88; v += 0.00317 {
			x = append(x, v)
		}
		got := append([]float32(nil), x...)
		Exp(got, 1, 0)
		for i, v := range x {
			require.InDelta(t, 1, float64(got[i])/math.Exp(float64(v)), 3*0x1p-23, "%s: e^%g", l.Name, v)
		}
		ends := []float32{-100, float32(math.Inf(-1)), 0, 100, float32(math.NaN())}
		Exp(ends, 1, 0)
		require.InDelta(t, 0, ends[0], 1e-37)
		require.InDelta(t, 0, ends[1], 1e-37)
		require.EqualValues(t, 1, ends[2])
		require.Greater(t, ends[3], float32(1e38))
		require.True(t, math.IsNaN(float64(ends[4])))
	})
}

func TestLog(t *testing.T) {
	asLevels(t, func(l *Level) {
		var x []float32
		for v := float32(0x1p-135); v < 1e38; v *= 1.00317 {
			x = append(x, v)
		}
		got := append([]float32(nil), x...)
		Log(got)
		for i, v := range x {
			want := math.Log(float64(v))
			require.InDelta(t, want, got[i], 2*0x1p-23*math.Abs(want)+1e-38, "%s: log %g", l.Name, v)
		}
		nan, infinite := float32(math.NaN()), float32(math.Inf(1))
		ends := []float32{0, 1, infinite, -1, -infinite, nan}
		Log(ends)
		require.Equal(t, []float32{-infinite, 0, infinite}, ends[:3], l.Name)
		for _, v := range ends[3:] {
			require.True(t, v != v, l.Name)
		}
	})
}

// A NaN stays: a network that has gone wrong must not look right.
func TestNaNStays(t *testing.T) {
	for name, do := range map[string]func(x []float32){
		"ReLU": ReLU, "ReLU6": ReLU6, "Sigmoid": Sigmoid, "GELU": GELU, "Exp": func(x []float32) { Exp(x, 1, 0) },
		"TakeLarger":         func(x []float32) { TakeLarger(x, make([]float32, len(x))) },
		"TakeLarger's other": func(x []float32) { y := make([]float32, len(x)); TakeLarger(y, x); copy(x, y) },
		"Log":                Log[float32], "Add": func(x []float32) { Add(x, make([]float32, len(x))) },
	} {
		asLevels(t, func(l *Level) {
			x := make([]float32, 13)
			x[3], x[11] = float32(math.NaN()), float32(math.NaN())
			do(x)
			for i, v := range x {
				assert.Equal(t, i == 3 || i == 11, v != v, "%s, %s: element %d", l.Name, name, i)
			}
		})
	}
}

func TestLayerNorm(t *testing.T) {
	const rows = 3
	asLevels(t, func(l *Level) {
		for _, n := range append([]int{96}, lengths...) {
			if n == 0 {
				continue
			}
			x, scale, bias, y := random(rows*n, 1), random(n, 2), random(n, 3), make([]float32, rows*n+1)
			var mean, r [rows]float32
			LayerNorm(y[:rows*n], x, scale, bias, 1e-5, mean[:], r[:])
			for row := range rows {
				x, average, variance := x[row*n:][:n], 0., 0.
				for _, v := range x {
					average += float64(v) / float64(n)
				}
				for _, v := range x {
					variance += (float64(v) - average) * (float64(v) - average) / float64(n)
				}
				require.InDelta(t, average, mean[row], 1e-6, l.Name)
				require.InEpsilon(t, 1/math.Sqrt(variance+1e-5), r[row], 1e-5, l.Name)
				for i, v := range x {
					want := (float64(v)-average)*float64(r[row])*float64(scale[i]) + float64(bias[i])
					require.InDelta(t, want, y[row*n+i], 2e-5, l.Name)
				}
			}
			assert.Zero(t, y[rows*n])
		}
	})
}

func TestFinishRows(t *testing.T) {
	const rows = 3
	asLevels(t, func(l *Level) {
		for _, n := range append([]int{96}, lengths...) {
			for which := range 16 {
				from, stride := n+2, n+1
				x, before := random(rows*from, 1), random(rows*stride+1, 2)
				f := &Finish{ReLU: which&1 > 0}
				if which&2 > 0 {
					f.Shift = random(n, 3)
				}
				if f.Shift != nil && which&4 > 0 {
					f.Scale = random(n, 4)
				}
				y := append([]float32(nil), before...)
				if which&8 > 0 {
					f.Residual, f.Stride = y, stride // what is there already
				}
				FinishRows(rows, n, y, stride, x, from, f)
				for i := range before {
					row, j := i/stride, i%stride
					want := before[i]
					if row < rows && j < n {
						want = x[row*from+j]
						if f.Scale != nil {
							want *= f.Scale[j]
						}
						if f.Shift != nil {
							want += f.Shift[j]
						}
						if f.Residual != nil {
							want += before[i]
						}
						if f.ReLU {
							want = max(want, 0)
						}
					}
					require.InDelta(t, want, y[i], 1e-5, "%s: %d of %d, %d", l.Name, i, n, which)
				}
				FinishRows(rows, n, x, n, x, from, f) // closer together
				for i := range rows {
					for j := range n {
						if f.Residual == nil {
							require.InDelta(t, y[i*stride+j], x[i*n+j], 1e-6)
						}
					}
				}
			}
		}
	})
	nan := []float32{float32(math.NaN()), 0, 0, 0, 0, 0, 0, 0, float32(math.NaN())}
	asLevels(t, func(l *Level) {
		y := make([]float32, 9)
		FinishRows(1, 9, y, 9, nan, 9, &Finish{ReLU: true})
		assert.True(t, y[0] != y[0] && y[8] != y[8], "%s: a NaN stays", l.Name)
	})
}
