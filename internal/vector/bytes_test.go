package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomBytes are from -127 to 127, both ends among them.
func randomBytes(n int, seed uint64) []int8 {
	r, out := rand.New(rand.NewPCG(seed, 1)), make([]int8, n)
	for i := range out {
		out[i] = int8(r.IntN(255) - 127)
		if r.IntN(4) == 0 {
			out[i] = []int8{-127, 127}[r.IntN(2)]
		}
	}
	return out
}

func TestBytes(t *testing.T) {
	asLevels(t, func(l *Level) {
		if !HasWords() {
			return
		}
		for _, s := range []struct{ rows, k, n int }{{1, 4, 4}, {13, 64, 36}, {25, 2304, 33}, {7, 8, 100}, {0, 4, 4}} {
			x, w := randomBytes(s.rows*s.k, 1), randomBytes(s.k*s.n, 2)
			var m Bytes
			m.Reset(s.k, s.n)
			for p := range m.Panels() {
				m.Pack(p, 0, 4, w)
				m.Pack(p, 4, s.k-4, w[4*s.n:])
			}
			size, _ := WordBytes()
			packed := make([]byte, len(x)*size)
			ToWords(packed, x)
			sums := make([]int32, s.rows*m.Stride())
			m.Multiply(s.rows, packed, s.k*size, sums)
			for i := range s.rows {
				for j := range s.n {
					var want int32
					for k := range s.k {
						want += int32(x[i*s.k+k]) * int32(w[(k/4*s.n+j)*4+k%4])
					}
					require.Equal(t, want, sums[i*m.Stride()+j], "%s: %v at %d, %d", l.Name, s, i, j)
				}
			}
		}
	})
}

func TestFixed(t *testing.T) {
	sums := []int32{0, 1, -1, 5, 1 << 23, -(1 << 30), 77777, -77777, 3, 2, 1}
	by := []float32{1, .5, .5, .3, 100, 1e6, .125, .125, .5, .75, 1e-30}
	start := []int32{7, 0, 0, 0, 0, 0, -5, 5, 1, 1, 1}
	x := []float32{.5, 1.5, 2.5, -.5, -1.5, 1e9, -1e9, 4194303.5, -4194304.5, 8388607, .49999997}
	rounded := func(v float32) int32 {
		return int32(max(-mostFixed, min(mostFixed, math.RoundToEven(float64(v)))))
	}
	asLevels(t, func(l *Level) {
		got := make([]int32, len(sums))
		Fixed(got, sums, 1, by, start)
		for i, sum := range sums {
			assert.Equal(t, rounded(float32(sum>>1)*by[i])+start[i], got[i], "%s: sum %d", l.Name, sum)
		}
		one := make([]float32, len(x))
		for i := range one {
			one[i] = 1
		}
		clear(got)
		AddFixed(got, x, one)
		for i, v := range x {
			assert.Equal(t, rounded(v), got[i], "%s: %v", l.Name, v)
			assert.Equal(t, rounded(v), ToFixed(v), "%v", v)
		}
	})
	y := make([]int8, 6)
	FromFixed(y, []int32{127, 128, -128, -129, 1 << 20, -(1 << 20)})
	assert.Equal(t, []int8{0, 1, 0, -1, 127, -127}, y)
}
