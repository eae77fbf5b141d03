package shaders

import "mrprism/internal/gpu"

// The processor multiplies three values of x by a weight at once: they lie in one int64, 21 bits apart, and so do their sums, as long as each stays
// within ±2^20, which it does for 64 products of 127 by 127.
const (
	abreast      = 3 // positions
	apart        = 21
	mostProducts = 64
)

// conv2dInt8Fast is a matrix product: what positions see of x, all taps in a row, times the weights.
func conv2dInt8Fast(p *conv2dInt8Params, a []gpu.Array32, split gpu.Split) {
	p.eachPhase(func(q *conv2dParams) {
		seen, inputs, outputs := q.taps()*int(q.Inputs), int(q.Inputs), int(q.Outputs)
		positions := q.pixels()
		split(ceil(positions, abreast), func(from, to int) {
			room, x, sums := make([]int8, seen), make([]int64, seen), make([][abreast]int32, outputs)
			for first := abreast * from; first < min(abreast*to, positions); first += abreast {
				count := min(abreast, positions-first)
				clear(x)
				for i := range count {
					for j, v := range sees(q, first+i, a[0].B, room) {
						x[j] += int64(v) << (apart * i)
					}
				}
				clear(sums)
				for tap := range q.taps() {
					for k := 0; k < inputs; k += mostProducts {
						addProducts(sums, x[tap*inputs+k:][:min(mostProducts, inputs-k)], a[1].B[(q.weightAt(tap)*inputs+k)*outputs:])
					}
				}
				for i := range count {
					to := q.destination(first+i) * outputs
					for n := range sums {
						finishInt8(p, to+n, n, sums[n][i], a)
					}
				}
			}
		})
	})
}

// addProducts adds to sums (Cout) the products of x, of at most mostProducts channels, with their weights (…, Cout, 4), four channels after four.
func addProducts(sums [][abreast]int32, x []int64, weights []int8) {
	stride := 4 * len(sums)
	for n := 0; n < len(sums); n += 4 {
		var s0, s1, s2, s3 int64
		w := weights[4*n:]
		for x := x; len(x) >= 4; x = x[4:] {
			v := (*[16]int8)(w) // four outputs
			x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
			s0 += x0*int64(v[0]) + x1*int64(v[1]) + x2*int64(v[2]) + x3*int64(v[3])
			s1 += x0*int64(v[4]) + x1*int64(v[5]) + x2*int64(v[6]) + x3*int64(v[7])
			s2 += x0*int64(v[8]) + x1*int64(v[9]) + x2*int64(v[10]) + x3*int64(v[11])
			s3 += x0*int64(v[12]) + x1*int64(v[13]) + x2*int64(v[14]) + x3*int64(v[15])
			if len(w) > stride {
				w = w[stride:]
			}
		}
		to := (*[4][abreast]int32)(sums[n:])
		addParted(&to[0], s0)
		addParted(&to[1], s1)
		addParted(&to[2], s2)
		addParted(&to[3], s3)
	}
}

// addParted adds the three numbers that are in s.
func addParted(to *[abreast]int32, s int64) {
	const above = 64 - apart
	first := s << above >> above
	s = (s - first) >> apart
	second := s << above >> above
	to[0] += int32(first)
	to[1] += int32(second)
	to[2] += int32((s - second) >> apart)
}
