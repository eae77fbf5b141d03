package shaders

import (
	"mrprism/internal/gpu"
	"mrprism/internal/vector"
)

func conv2dInt8Fast(p *conv2dInt8Params, a []gpu.Array32, split gpu.Split) {
	if vector.HasWords() {
		conv2dInt8Words(p, a, split)
	} else {
		conv2dInt8Plain(p, a, split)
	}
}

// conv2dInt8Words is a matrix product in words of a few inputs.
func conv2dInt8Words(p *conv2dInt8Params, a []gpu.Array32, split gpu.Split) {
	shared := takeRoom()
	defer shared.leave()
	size, zero := vector.WordBytes()
	x := roomFor(&shared.bytes, len(a[0].B)*size)
	split(ceil(len(a[0].B), chunkBytes), func(from, to int) {
		part := a[0].B[from*chunkBytes : min(to*chunkBytes, len(a[0].B))]
		vector.ToWords(x[from*chunkBytes*size:], part)
	})
	finish := newInt8Finish(p, a)
	p.eachPhase(func(q *conv2dParams) {
		outputs, positions := int(q.Outputs), q.pixels()
		weights := q.packedBytes(a[1], split)
		q.Inputs *= uint32(size) // bytes
		seen, rows := q.taps()*int(q.Inputs), vector.Rows()
		split(ceil(positions, rows), func(from, to int) {
			room := takeRoom()
			defer room.leave()
			for first := from * rows; first < min(to*rows, positions); first += rows {
				count := min(rows, positions-first)
				sums := roomFor(&room.integers, count*weights.Stride())
				weights.Multiply(count, seenBy(q, first, count, x, &room.bytes, zero), seen, sums)
				for i := range count {
					finish.row(q.destination(first+i), sums[i*weights.Stride():][:outputs], room, a)
				}
			}
		})
	})
}

// packedBytes is packedWeights of int8.
func (p *conv2dParams) packedBytes(w gpu.Array32, split gpu.Split) *vector.Bytes {
	kept, fresh := w.Kept.Get(p.weightsKey())
	m, made := kept.(*vector.Bytes)
	if fresh && m.Holds() {
		return m
	}
	if !made {
		m = new(vector.Bytes)
	}
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	m.Reset(p.taps()*inputs, outputs)
	if each(m.Panels(), split, func(panel int) {
		for tap := range p.taps() {
			m.Pack(panel, tap*inputs, inputs, w.B[p.weightAt(tap)*inputs*outputs:])
		}
	}) {
		w.Kept.Set(p.weightsKey(), m)
	}
	return m
}

// chunkBytes of x are turned into words at once.
const chunkBytes = 1 << 14

// int8Finish does with sums what the parameters say, for all outputs of a pixel; see finishInt8.
type int8Finish struct {
	*conv2dInt8Params
	by, residualBy, shortcutBy, start []float32 // by output
	fixedStart                        []int32
}

func newInt8Finish(p *conv2dInt8Params, a []gpu.Array32) *int8Finish {
	n := int(p.Outputs)
	f := &int8Finish{p, make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n), make([]int32, n)}
	for i := range n {
		f.by[i], f.residualBy[i], f.shortcutBy[i] = a[int8Scale].F[i]*p.SumFactor, p.ResidualFactor, p.Factor
		switch p.HasBias {
		case 1:
			f.start[i] = a[int8Bias].F[i] * p.Factor
		case scaleAndShift:
			factor := a[int8Bias].F[i]
			f.by[i] *= factor
			f.start[i] = a[int8Bias].F[n+i] * p.Factor
			if p.Adds&3 == addResidualFirst {
				f.residualBy[i] *= factor
			}
		}
		f.fixedStart[i] = vector.ToFixed(f.start[i])
	}
	return f
}

// row finishes the sums of a pixel of y.
func (f *int8Finish) row(pixel int, sums []int32, room *room, a []gpu.Array32) {
	n := len(sums)
	at := func(argument int) []float32 { return a[argument].F[pixel*n:][:n] }
	var residual []float32
	switch {
	case f.Adds&3 != 0 && f.Int8Residual == 1:
		residual = roomFor(&room.rows, n)
		vector.FloatsOf(residual, a[int8Residual].B[pixel*n:][:n])
	case f.Adds&3 != 0:
		residual = at(int8Residual)
	}
	if f.Int8 == 0 {
		y := at(int8Result)
		vector.Floats(y, sums, f.Shift)
		vector.ScaleAndShift(y, f.by, f.start)
		if residual != nil {
			vector.AddProducts(y, residual, f.residualBy)
		}
		if f.Activation != 0 {
			activations[f.Activation-1].fast(y)
		}
		if f.Adds&addShortcut != 0 {
			vector.Add(y, at(int8Shortcut))
		}
		return
	}
	vector.Fixed(sums, sums, f.Shift, f.by, f.fixedStart)
	if residual != nil {
		vector.AddFixed(sums, residual, f.residualBy)
	}
	if f.Activation == activation(reluForward) {
		vector.ReLUFixed(sums)
	}
	if f.Adds&addShortcut != 0 {
		vector.AddFixed(sums, at(int8Shortcut), f.shortcutBy)
	}
	vector.FromFixed(a[int8Result].B[pixel*n:][:n], sums)
}

// The processor multiplies three values of x by a weight at once: they lie in one int64, 21 bits apart, and so do their sums, as long as each stays
// within ±2^20, which it does for 64 products of 127 by 127.
const (
	abreast      = 3 // positions
	apart        = 21
	mostProducts = 64
)

// conv2dInt8Plain is the matrix product without vectors.
func conv2dInt8Plain(p *conv2dInt8Params, a []gpu.Array32, split gpu.Split) {
	p.eachPhase(func(q *conv2dParams) {
		seen, inputs, outputs := q.taps()*int(q.Inputs), int(q.Inputs), int(q.Outputs)
		positions := q.pixels()
		split(ceil(positions, abreast), func(from, to int) {
			room, x, sums := make([]int8, seen), make([]int64, seen), make([][abreast]int32, outputs)
			for first := abreast * from; first < min(abreast*to, positions); first += abreast {
				count := min(abreast, positions-first)
				clear(x)
				for i := range count {
					for j, v := range sees(q, first+i, a[0].B, room, 0) {
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
