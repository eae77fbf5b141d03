package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomBytes are from -127 to 127, and contain both.
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
	for _, negative := range []bool{true, false} {
		asLevels(t, func(l *Level) {
			if HasWords() {
				multiplyBytes(t, l, negative)
			}
		})
	}
}

// multiplyBytes compares products with plain sums, with and without negative elements of the left
// factor.
func multiplyBytes(t *testing.T, l *Level, negative bool) {
	for _, s := range []struct{ lines, rows, parts, k, n int }{
		{1, 1, 1, 4, 4}, {1, 13, 1, 64, 36}, {3, 25, 3, 2304, 33}, {2, 7, 2, 8, 100}, {0, 1, 1, 4, 4}, {5, 4, 4, 16, 8},
	} {
		size, _ := WordBytes()
		part := s.k / s.parts
		// Rows overlap by half a part, as the taps of a convolution do.
		at := Lines{Lines: s.lines, Rows: s.rows, Parts: s.parts, Row: part / 2 * size, Part: s.rows * part * size, Line: s.rows * s.k * size}
		x, w := randomBytes(s.lines*s.rows*s.k+part, 1), randomBytes(s.k*s.n, 2)
		if !negative {
			for i, v := range x {
				x[i] = max(v, -v)
			}
		}
		at.Negative = HasNegative(x)
		require.True(t, at.Negative || !negative, l.Name)
		var m Bytes
		m.Reset(s.k, s.n)
		for p := range m.Panels() {
			m.Pack(p, 0, 4, w)
			m.Pack(p, 4, s.k-4, w[4*s.n:])
		}
		packed := make([]byte, len(x)*size)
		ToWords(packed, x)
		sums := make([]int32, s.lines*s.rows*m.Columns())
		for panel := range m.Panels() {
			m.Multiply(panel, &at, packed, sums)
			for i := range s.lines * s.rows {
				for j := panel * m.Columns(); j < min(s.n, (panel+1)*m.Columns()); j++ {
					var want int32
					for k := range s.k {
						from := i/s.rows*at.Line + i%s.rows*at.Row + k/part*at.Part
						want += int32(x[from/size+k%part]) * int32(w[(k/4*s.n+j)*4+k%4])
					}
					require.Equal(t, want, sums[i*m.Columns()+j%m.Columns()], "%s: %v at %d, %d", l.Name, s, i, j)
				}
			}
		}
	}
}

func TestToFixed(t *testing.T) {
	for _, v := range []float32{.5, 1.5, 2.5, -.5, -1.5, 1e9, -1e9, 4194303.5, -4194304.5, 8388607, .49999997} {
		want := max(-mostFixed, min(mostFixed, math.RoundToEven(float64(v))))
		assert.EqualValues(t, want, ToFixed(v), "%v", v)
	}
	for v, want := range map[int32]int8{127: 0, 128: 1, -128: 0, -129: -1, 1 << 20: 127, -(1 << 20): -127} {
		assert.Equal(t, want, FromFixed(v), "%d", v)
	}
}

// finishes have all combinations of terms, and sums that reach both limits.
func finishes(columns int) (all []IntegerFinish) {
	r, n := rand.New(rand.NewPCG(3, 1)), WholeColumns(columns)
	f := IntegerFinish{Shift: 1, By: make([]float32, n), Start: make([]float32, n), ResidualBy: make([]float32, n), ShortcutBy: make([]float32, n), FixedStart: make([]int32, n)}
	for i := range n {
		f.By[i] = []float32{1, .5, .3, 100, 1e6, .125, 1e-30}[i%7]
		f.Start[i] = float32(r.NormFloat64() * 9)
		f.FixedStart[i] = ToFixed(f.Start[i])
		f.ResidualBy[i], f.ShortcutBy[i] = float32(r.NormFloat64()), 7.3
	}
	f2 := f
	f2.ReLU = true
	return []IntegerFinish{f, f2}
}

// Every level gives the int8 of plain Go to the bit, and its floats up to rounding.
func TestIntegerFinish(t *testing.T) {
	const rows, first = 3, 4
	for _, columns := range []int{4, 8, 12, 16, 36, 60} {
		r := rand.New(rand.NewPCG(3, uint64(columns)))
		step, stride := columns+8, columns+4
		sums := make([]int32, rows*stride)
		for i := range sums {
			sums[i] = []int32{0, 1, -1, 5, 1 << 23, -(1 << 30), 77777, -77777, int32(r.IntN(20000) - 10000)}[min(8, r.IntN(16))]
		}
		floats, bytes := random(rows*step, 4), randomBytes(rows*step, 5)
		floats[1], floats[5] = 1e9, 2.5
		for _, f := range finishes(first + columns) {
			for _, s := range []Sums{{}, {Residual: floats}, {Residual8: bytes}, {Residual8: bytes, Shortcut: floats}, {Shortcut: floats}} {
				var want []int8
				var wantFloats []float32
				s.Sums, s.Stride, s.Step, s.Rows, s.First, s.Columns = sums, stride, step, rows, first, columns
				compute := func(l *Level) ([]int8, []float32) {
					y, floats := make([]int8, rows*step), make([]float32, rows*step)
					f.ToFixed(y, &s)
					f.ToFloats(floats, &s)
					return y, floats
				}
				before := Current()
				Use(plain)
				want, wantFloats = compute(plain)
				Use(before)
				asLevels(t, func(l *Level) {
					y, floats := compute(l)
					require.Equal(t, want, y, "%s: %d columns", l.Name, columns)
					for i, v := range wantFloats {
						require.InDelta(t, v, floats[i], 1e-5*math.Max(1, math.Abs(float64(v))), l.Name)
					}
				})
			}
		}
	}
}

func TestQuantize(t *testing.T) {
	x := []float32{.25, .75, -.25, -.75, 63.5, 64, 1e30, -1e30, .3, -.2, 0, 10.1}
	for len(x) < 100 {
		x = append(x, x[len(x)-12]*1.01)
	}
	asLevels(t, func(l *Level) {
		for _, n := range []int{1, 12, 16, 33, 100} {
			y, floats := make([]int8, n+1), make([]float32, n+1)
			Quantize(y[:n], x[:n], 2)
			FloatsOf(floats[:n], y[:n])
			for i, v := range x[:n] {
				want := max(-127, min(127, math.RoundToEven(float64(v)*2)))
				require.EqualValues(t, want, y[i], "%s: %v", l.Name, v)
				require.EqualValues(t, want, floats[i], l.Name)
			}
			require.Zero(t, y[n])
			require.Zero(t, floats[n])
		}
	})
}

// The right factor may be packed from columns.
func TestPackTransposed(t *testing.T) {
	asLevels(t, func(l *Level) {
		if !HasScores() {
			return
		}
		const rows, k, stride, n = 5, 8, 11, 3
		x, w := randomBytes(rows*k, 1), randomBytes(n*stride, 2)
		var m Bytes
		m.Reset(k, n)
		m.PackTransposed(w, stride)
		size, _ := WordBytes()
		packed, sums := make([]byte, len(x)*size), make([]int32, rows*m.Columns())
		ToWords(packed, x)
		m.Multiply(0, &Lines{Lines: 1, Rows: rows, Row: k * size, Parts: 1, Negative: true}, packed, sums)
		for i := range rows {
			for j := range n {
				var want int32
				for k, v := range w[j*stride:][:k] {
					want += int32(v) * int32(x[i*8+k])
				}
				require.Equal(t, want, sums[i*m.Columns()+j], l.Name)
			}
		}
	})
}

func TestSoftmaxColumns(t *testing.T) {
	asLevels(t, func(l *Level) {
		if !HasScores() {
			return
		}
		for _, rows := range []int{1, 2, 77} {
			n := Columns()
			x, r := make([]int32, rows*n), rand.New(rand.NewPCG(2, 7))
			for i := range x {
				x[i] = int32(r.IntN(2_000_001) - 1_000_000)
			}
			for _, scale := range []float32{1e-6, 3e-5, 1} {
				total := make([]float32, n)
				got := SoftmaxColumns(append([]int32(nil), x...), scale, total)
				for j := range n {
					most, sum := x[j], 0.
					for i := j; i < len(x); i += n {
						most = max(most, x[i])
					}
					for i := j; i < len(x); i += n {
						want := math.Exp(float64(scale) * float64(x[i]-most))
						sum += want
						require.InDelta(t, want, got[i], 3e-7, "%s: %d", l.Name, x[i])
					}
					require.InEpsilon(t, sum, total[j], 1e-6, l.Name)
				}
			}
		}
	})
}
