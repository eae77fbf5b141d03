package vector

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// asLevels runs a test at every level that this processor has.
func asLevels(t testing.TB, test func(l *Level)) {
	before := Current()
	defer Use(before)
	for _, l := range Levels() {
		t.Log(l.Name)
		Use(l)
		test(l)
	}
}

func random(n int, seed uint64) []float32 {
	r, out := rand.New(rand.NewPCG(seed, 1)), make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

func TestMultiply(t *testing.T) {
	type shape struct{ rows, k, n int }
	shapes := []shape{{1, 1, 1}, {13, 300, 33}, {24, 513, 70}, {5, 7, 31}, {0, 3, 2}, {3, 0, 5}}
	for rows := 1; rows <= 13; rows++ {
		shapes = append(shapes, shape{rows, 9, 17})
	}
	asLevels(t, func(l *Level) {
		for _, s := range shapes {
			for _, transposed := range []bool{false, true} {
				for _, add := range []bool{false, true} {
					a, b := random(s.rows*s.k, 1), random(s.k*s.n, 2)
					row, step := s.k, 1
					if transposed {
						row, step = 1, s.rows
					}
					var m Matrix
					m.Reset(s.k, s.n)
					for p := range m.Panels() {
						if transposed { // both ways to pack, too
							turned := make([]float32, len(b))
							for i := range s.k {
								for j := range s.n {
									turned[j*s.k+i] = b[i*s.n+j]
								}
							}
							m.PackTransposed(p, turned, s.k)
						} else {
							m.Pack(p, 0, s.k, b, s.n)
						}
					}
					stride := m.Stride() + 3
					c := random(s.rows*stride, 3)
					before := append([]float32(nil), c...)
					m.Multiply(s.rows, a, row, step, c, stride, add)
					for i := range s.rows {
						for j := range s.n {
							want := 0.
							if add {
								want = float64(before[i*stride+j])
							}
							for k := range s.k {
								want += float64(a[i*row+k*step]) * float64(b[k*s.n+j])
							}
							if !assert.InDelta(t, want, c[i*stride+j], 1e-4, "%s: %v at %d, %d", l.Name, s, i, j) {
								return
							}
						}
						assert.Equal(t, before[i*stride+m.Stride():(i+1)*stride], c[i*stride+m.Stride():(i+1)*stride], "beyond the columns nothing is written")
					}
				}
			}
		}
	})
}

func BenchmarkMultiply(b *testing.B) {
	for _, s := range []struct{ rows, k, n int }{{96, 576, 64}, {96, 64, 256}, {96, 288, 32}, {96, 2304, 256}} {
		asLevels(b, func(l *Level) {
			b.Run(fmt.Sprint(s, " ", l.Name), func(b *testing.B) {
				x, w := random(s.rows*s.k, 1), random(s.k*s.n, 2)
				var m Matrix
				m.Reset(s.k, s.n)
				for p := range m.Panels() {
					m.Pack(p, 0, s.k, w, s.n)
				}
				c := make([]float32, s.rows*m.Stride())
				for b.Loop() {
					m.Multiply(s.rows, x, s.k, 1, c, m.Stride(), false)
				}
				b.ReportMetric(2*float64(s.rows*s.k*s.n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		})
	}
}

func BenchmarkPack(b *testing.B) {
	const k, n = 2304, 256
	asLevels(b, func(l *Level) {
		b.Run(l.Name, func(b *testing.B) {
			w := random(k*n, 1)
			var m Matrix
			m.Reset(k, n)
			for b.Loop() {
				for p := range m.Panels() {
					m.Pack(p, 0, k, w, n)
				}
			}
		})
	})
}
