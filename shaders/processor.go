package shaders

import "math"

// What the float32 bodies have in common that stand in NAME_processor.go: a matrix product in registers, and an exponential. Slices are cut
// so that the compiler sees every index within its bounds; Go has no vectors, in WebAssembly least of all.

// columns is a matrix of k rows, four columns after four: element [c k + r] is row r of columns 4c … 4c+3, beyond the last 0.
type columns [][4]float32

// newColumns makes room for a matrix (k, n).
func newColumns(k, n int) columns { return make(columns, ceil(n, 4)*k) }

// pack sets columns 4c … 4c+3 of rows row … row+rows-1 of a matrix (k, n) from w (rows, n), which are stride elements apart.
func (m columns) pack(c, k, row, rows int, w []float32, n, stride int) {
	to := m[c*k+row:][:rows]
	if last := n - 4*c; last < 4 {
		for i := range to {
			copy(to[i][:last], w[i*stride+4*c:])
		}
		return
	}
	for i := range to {
		to[i] = [4]float32(w[i*stride+4*c:])
	}
}

// times gives sums[r] = rows[r] times the matrix, for rows of k elements; sums has as many rows, each of the matrix's columns. Two rows
// times four columns are eight sums, which fit into registers with what they are made of.
func (m columns) times(rows [][]float32, sums []float32) {
	k := len(rows[0])
	width := len(m) / k * 4
	for c := 0; 4*c < width; c++ {
		for r := 0; r < len(rows); r += 2 {
			second := min(r+1, len(rows)-1)
			a := rows[r]
			b, w := rows[second][:len(a)], m[c*k:][:len(a)]
			var s0, s1, s2, s3, t0, t1, t2, t3 float32
			for i, x := range a {
				v, y := &w[i], b[i]
				v0, v1, v2, v3 := v[0], v[1], v[2], v[3]
				s0 += x * v0
				t0 += y * v0
				s1 += x * v1
				t1 += y * v1
				s2 += x * v2
				t2 += y * v2
				s3 += x * v3
				t3 += y * v3
			}
			*(*[4]float32)(sums[r*width+4*c:]) = [4]float32{s0, s1, s2, s3}
			*(*[4]float32)(sums[second*width+4*c:]) = [4]float32{t0, t1, t2, t3}
		}
	}
}

// exponentials replaces every x by e^x, within three units of its last place for x in -87…88; further out it stays what it is there.
//
// e^x = 2^n e^r with n = round(x / log 2), so that |r| ≤ log 2 / 2, where Taylor's series up to r⁶ / 6! is off by 1.2e-7 at most. Adding 1.5·2²³
// leaves n in the last bits of a float32.
func exponentials(values []float32) {
	const (
		round       = 3 << 22
		high, low   = 0.693359375, -2.12194440e-4 // log 2 in two parts, so that n high is exact
		least, most = -87, 88
	)
	for i, x := range values {
		if x < least {
			x = least
		}
		if x > most {
			x = most
		}
		shifted := x*math.Log2E + round
		n := shifted - round
		r := x - n*high - n*low
		e := 1 + r*(1+r*(1./2+r*(1./6+r*(1./24+r*(1./120+r*(1./720))))))
		values[i] = e * math.Float32frombits((math.Float32bits(shifted)+127)<<23)
	}
}
