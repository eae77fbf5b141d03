package vector

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// digest is that of everyResult, on every machine.
const digest = "92924528afc8cb7d587f8b5efc1b7524826059c5aea41478d911c1ee4fe25732"

// Every exact level gives the same bits, those of every other machine: signs of zeros, infinities
// and all but which NaN a NaN is.
func TestLevelsGiveTheSameBits(t *testing.T) {
	before := Current()
	defer Use(before)
	Use(plain)
	want := everyResult()
	hash := sha256.New()
	for _, r := range want {
		for _, v := range r.values {
			require.NoError(t, binary.Write(hash, binary.LittleEndian, canonical(v)))
		}
	}
	assert.Equal(t, digest, fmt.Sprintf("%x", hash.Sum(nil)))
	asLevels(t, func(l *Level) {
		if l.Name == "SIMD128" {
			require.False(t, l.Exact)
			return
		}
		require.True(t, l.Exact, "this machine's fused multiply-add")
		for i, r := range everyResult() {
			differ, first := 0, ""
			for j, v := range r.values {
				if w := want[i].values[j]; canonical(v) != canonical(w) {
					if differ++; differ == 1 {
						first = fmt.Sprintf("%v (%x) at %d, not %v (%x)", v, canonical(v), j, w, canonical(w))
					}
				}
			}
			assert.Zero(t, differ, "%s, %s: %s", l.Name, r.name, first)
		}
	})
}

func canonical(v float32) uint32 {
	if v != v {
		return 0x7FC00000
	}
	return math.Float32bits(v)
}

type result struct {
	name   string
	values []float32
}

// odd are n numbers from sums of bits, the same on every machine, one in eight of them an end of
// float32's range, beside 0 or half-way; those of few are not.
func odd(n int, seed uint64, few bool) []float32 {
	r, x := rand.New(rand.NewPCG(seed, 7)), make([]float32, n)
	ends := []uint32{0, 1 << 31, 1, 1<<31 | 1, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800001, 0xB3800000, 0x42B00000, 0xC2AE0000}
	for i := range x {
		x[i] = float32(r.Uint32()>>8)*0x1p-22 - float32(r.Uint32()>>8)*0x1p-22
		if r.Uint32()%8 == 0 {
			x[i] = float32(r.Uint32()%5) / 2
		}
		if !few && r.Uint32()%8 == 0 {
			x[i] = math.Float32frombits(ends[r.IntN(len(ends))])
		}
	}
	return x
}

// everyResult is what the functions for inference give.
func everyResult() (all []result) {
	add := func(name string, values []float32) { all = append(all, result{name, values}) }
	fixed := func(name string, values []int8) {
		y := make([]float32, len(values))
		for i, v := range values {
			y[i] = float32(v)
		}
		add(name, y)
	}
	for i, few := range []bool{true, false} {
		seed := uint64(10 * i)
		name := func(s string, parameters ...any) string { return fmt.Sprint(s, few, parameters) }
		var m Matrix
		const rows, k, n = 13, 300, 37
		m.Reset(k, n)
		for p := range m.Panels() {
			m.Pack(p, 0, k, odd(k*n, seed+1, few), n)
		}
		sums := make([]float32, rows*m.Stride())
		for range 2 {
			m.Multiply(rows, odd(rows*k, seed+2, few), k, 1, sums, m.Stride(), sums[0] != 0)
		}
		y := odd(rows*n, seed+3, few)
		FinishRows(rows, n, y, n, sums, m.Stride(), &Finish{})
		add(name("product"), y)
		for which := range 16 {
			f := Finish{ReLU: which&1 != 0}
			if which&2 != 0 {
				f.Residual, f.Stride = odd(rows*n, seed+4, few), n
			}
			if which&4 != 0 {
				f.Shift = odd(n, seed+5, few)
				if which&8 != 0 {
					f.Scale = odd(n, seed+6, few)
				}
			}
			x, y := odd(rows*n, seed+7, few), make([]float32, rows*n)
			FinishRows(rows, n, y, n, x, n, &f)
			add(name("FinishRows", which), y)
			FinishRows(rows, n-2, x, n-2, x, n, &f)
			add(name("FinishRows in place", which), x)
		}
		for _, n := range []int{1, 4, 7, 8, 21, 600} {
			x, a, b := odd(n, seed+1, few), odd(n, seed+2, few), odd(n, seed+3, few)
			for what, do := range []func(y []float32){
				func(y []float32) { Add(y, a) }, func(y []float32) { AddScaled(y, a, 1./3) }, func(y []float32) { AddProducts(y, a, b) },
				func(y []float32) { Multiply(y, a) }, func(y []float32) { TakeLarger(y, a) }, ReLU, ReLU6, Sigmoid, GELU, Log[float32],
				func(y []float32) { Exp(y, .7, -.1) }, func(y []float32) { LogLikelihood(y, a, b) },
				func(y []float32) { Filter(y, odd(n+2, seed+3, few), 1, []float32{.1, 0, .7}) },
				func(y []float32) { y[0] = Sum(y) }, func(y []float32) { y[0] = Dot(y, a) },
			} {
				y := append([]float32(nil), x...)
				do(y)
				add(name("elements", n, what), y)
			}
			q := make([]int8, n)
			Quantize(q, odd(n, seed+4, true), 40.3)
			fixed(name("Quantize", n), q)
			mean := make([]float32, 2)
			y, r := make([]float32, 2*n), make([]float32, 2)
			LayerNorm(y, odd(2*n, seed+5, few), a, b, 1e-5, mean, r)
			add(name("LayerNorm", n), append(append(y, mean...), r...))
			w := Windows{
				Channels: n, Positions: 5, Taps: [2]int{2, 3}, YStep: n, XStep: n, XTap: [2]int{9 * n, n}, WeightTap: [2]int{3 * n, n},
				Y: odd(5*n, 1, few), X: odd(20*n, seed+6, few), Weights: odd(6*n, seed+7, few), Start: a, Least: 0, Most: 6,
			}
			w.Sum()
			add(name("Windows", n), w.Y)
		}
		for w, sizes := range winogradSizes {
			const n, count = 24, 3
			y := make([]float32, sizes[1]*count*n)
			Winograd(w).Transform(y, Steps{count * n, n}, odd(sizes[0]*count*n, seed+8, few), Steps{count * n, n}, n, count)
			add(name("Winograd", w), y)
		}
		const keys, wide = 9, MaxColumns // of panels side by side
		columns, x := Columns(), odd(keys*wide, seed+9, few)
		shift, total, most, integers := odd(wide, seed+1, few), make([]float32, wide), make([]float32, wide), make([]float32, keys*wide)
		for first := 0; first < wide; first += columns {
			panel, whole := make([]float32, keys*columns), make([]int32, keys*columns)
			eachRow := func(do func(panel, all int)) {
				for row := range keys {
					do(row*columns, row*wide+first)
				}
			}
			eachRow(func(p, a int) {
				copy(panel[p:][:columns], x[a:])
				for i := range columns {
					whole[p+i] = int32(uint32(a+i)*2654435761) >> 9
				}
			})
			MaxOfColumns(most[first:][:columns], panel)
			ExpColumns(panel, 5, shift[first:][:columns], total[first:][:columns])
			eachRow(func(p, a int) { copy(x[a:], panel[p:][:columns]) })
			powers := SoftmaxColumns(whole, 1e-5, panel[:columns])
			eachRow(func(p, a int) { copy(integers[a:], powers[p:][:columns]) })
		}
		add(name("ExpColumns"), x)
		add(name("ExpColumns' total"), total)
		add(name("SoftmaxColumns"), integers)
		if few { // with NaNs, which of them counts differs
			add("MaxOfColumns", most)
		}
		for _, columns := range []int{4, 12, 36} {
			for j, f := range finishes(columns) {
				s := Sums{Sums: make([]int32, 3*columns), Stride: columns, Rows: 3, Columns: columns, Step: columns, Residual: odd(3*columns, seed+1, true), Shortcut: odd(3*columns, seed+2, true)}
				for i := range s.Sums {
					s.Sums[i] = int32(uint32(i)*2654435761) >> (i % 24)
				}
				for i := range f.By {
					f.By[i], f.Start[i], f.ResidualBy[i] = odd(1, uint64(i), true)[0], float32(i)/3, float32(i)/7
				}
				y, q := make([]float32, 3*columns), make([]int8, 3*columns)
				f.ToFloats(y, &s)
				f.ToFixed(q, &s)
				add(name("ToFloats", columns, j), y)
				fixed(name("ToFixed", columns, j), q)
			}
		}
	}
	return all
}
