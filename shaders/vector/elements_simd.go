//go:build goexperiment.simd && amd64

package vector

import "simd/archsimd"

// vectors says whether slices are computed in vectors of eight, with AVX2. Wider vectors gain
// little, because memory takes most of the time.
func vectors() bool { return Current().elements }

// moreVectors says the same for functions that pages do not need. usesVectors does so for a
// function with this first slice, and is false if the slice is nil.
func moreVectors() bool { return vectors() }

func usesVectors(first []float32) bool { return first != nil && moreVectors() }

type eight = archsimd.Float32x8

func broadcast(v float32) eight { return archsimd.BroadcastFloat32x8(v) }

// load and store take up to eight elements.
func load(x []float32) eight {
	if len(x) >= 8 {
		return archsimd.LoadFloat32x8((*[8]float32)(x))
	}
	return archsimd.LoadFloat32x8SlicePart(x)
}

func store(v eight, x []float32) {
	if len(x) >= 8 {
		v.Store((*[8]float32)(x))
		return
	}
	v.StoreSlicePart(x)
}

// Each function clears the upper halves of the vectors at its end. Otherwise every instruction of
// Go's own arithmetic waits for the one before it that wrote to its register.

func addVectors(y, x []float32) {
	for i := 0; i < len(y); i += 8 {
		store(load(y[i:]).Add(load(x[i:])), y[i:])
	}
	archsimd.ClearAVXUpperBits()
}

// finishRowsVectors finishes columns that are a multiple of eight.
func finishRowsVectors(rows, columns int, y []float32, stride int, x []float32, from int, f *Finish) {
	var zero eight
	scale, shift, residual, relu := f.Scale, f.Shift, f.Residual, f.ReLU
	for i := range rows {
		to, x := y[i*stride:][:columns], x[i*from:][:columns]
		var r []float32
		if residual != nil {
			r = residual[i*f.Stride:][:columns]
		}
		for j := 0; j < columns; j += 8 {
			v := load8(x[j:])
			if scale != nil {
				v = v.MulAdd(load8(scale[j:]), load8(shift[j:]))
			} else if shift != nil {
				v = v.Add(load8(shift[j:]))
			}
			if r != nil {
				v = v.Add(load8(r[j:]))
			}
			if relu {
				v = zero.Max(v) // with a NaN Max returns the second argument
			}
			v.Store((*[8]float32)(to[j:]))
		}
	}
	archsimd.ClearAVXUpperBits()
}

// load8 loads eight elements of at least eight.
func load8(x []float32) eight { return archsimd.LoadFloat32x8((*[8]float32)(x)) }

func addScaledVectors(y, x []float32, s float32) {
	factor := broadcast(s)
	for i := 0; i < len(y); i += 8 {
		store(factor.MulAdd(load(x[i:]), load(y[i:])), y[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func addProductsVectors(y, a, b []float32) {
	for i := 0; i < len(y); i += 8 {
		store(load(a[i:]).MulAdd(load(b[i:]), load(y[i:])), y[i:])
	}
	archsimd.ClearAVXUpperBits()
}

// filterVectors filters the elements that assembly leaves.
func filterVectors(y, x []float32, stride int, window []float32) {
	for i := 0; i < len(y); i += 8 {
		var sum eight
		for t, w := range window {
			sum = broadcast(w).MulAdd(load(x[i+t*stride:]), sum)
		}
		store(sum, y[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func multiplyVectors(y, x []float32) {
	for i := 0; i < len(y); i += 8 {
		store(load(y[i:]).Mul(load(x[i:])), y[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func addSquaresVectors(squares, x, mean []float32) {
	for i := 0; i < len(squares); i += 8 {
		d := load(x[i:]).Sub(load(mean[i:]))
		store(d.MulAdd(d, load(squares[i:])), squares[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func takeLargerVectors(y, x []float32) {
	for i := 0; i < len(y); i += 8 {
		largest, v := load(y[i:]), load(x[i:])
		store(v.Merge(largest, largerOrNaN(v, largest)), y[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func largerOrNaN(v, than eight) archsimd.Mask32x8 { return than.Less(v).Or(v.NotEqual(v)) }

func placeLargerVectors(y, places, x []float32, place float32) {
	at := broadcast(place)
	for i := 0; i < len(y); i += 8 {
		largest, v := load(y[i:]), load(x[i:])
		larger := largerOrNaN(v, largest)
		store(v.Merge(largest, larger), y[i:])
		store(at.Merge(load(places[i:]), larger), places[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func reluVectors(x []float32) {
	var zero eight
	for i := 0; i < len(x); i += 8 {
		v := load(x[i:])
		store(zero.Merge(v, v.Less(zero)), x[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func relu6Vectors(x []float32) {
	var zero eight
	six := broadcast(6)
	for i := 0; i < len(x); i += 8 {
		store(six.Min(zero.Max(load(x[i:]))), x[i:]) // with a NaN both return the second argument
	}
	archsimd.ClearAVXUpperBits()
}

// total adds up the elements of a vector.
func total(v eight) float32 {
	var each [8]float32
	v.Store(&each)
	archsimd.ClearAVXUpperBits()
	return (each[0] + each[4]) + (each[1] + each[5]) + ((each[2] + each[6]) + (each[3] + each[7]))
}

func sumVectors(x []float32) float32 {
	var sum eight
	for i := 0; i < len(x); i += 8 {
		sum = sum.Add(load(x[i:]))
	}
	return total(sum)
}

func dotVectors(a, b []float32) float32 {
	var sum eight
	for i := 0; i < len(a); i += 8 {
		sum = load(a[i:]).MulAdd(load(b[i:]), sum)
	}
	return total(sum)
}

// layerNormVectors is LayerNorm for rows of a multiple of eight. Vectors and Go's own arithmetic
// are in separate loops.
func layerNormVectors(y, x, scale, bias []float32, eps float32, mean, r []float32) {
	n := len(scale)
	for i := range mean {
		x := x[i*n:][:n]
		var sum, squares eight
		for j := 0; j < n; j += 8 {
			sum = sum.Add(load8(x[j:]))
		}
		m := together(sum) / float32(n)
		middle := broadcast(m)
		for j := 0; j < n; j += 8 {
			d := load8(x[j:]).Sub(middle)
			squares = d.MulAdd(d, squares)
		}
		mean[i], r[i] = m, together(squares)
	}
	archsimd.ClearAVXUpperBits()
	for i := range r {
		r[i] = deviations(r[i]/float32(n), eps)
	}
	for i := range mean {
		x, y := x[i*n:][:n], y[i*n:][:n]
		m, s := broadcast(mean[i]), broadcast(r[i])
		for j := 0; j < n; j += 8 {
			v := load8(x[j:]).Sub(m).Mul(s).MulAdd(load8(scale[j:]), load8(bias[j:]))
			v.Store((*[8]float32)(y[j:]))
		}
	}
	archsimd.ClearAVXUpperBits()
}

// together is the sum of the lanes, computed in vectors. spread is that sum in all lanes.
func together(v eight) float32 { return fourths(v).GetElem(0) }
func spread(v eight) eight     { return fourths(v).Broadcast1To8() }

func fourths(v eight) archsimd.Float32x4 {
	four := v.GetLo().Add(v.GetHi())
	two := four.AddPairs(four)
	return two.AddPairs(two)
}

func expVectors(x []float32, scale, shift float32) {
	a, b := broadcast(scale), broadcast(shift)
	for i := 0; i < len(x); i += 8 {
		store(expOf(a.MulAdd(load(x[i:]), b)), x[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func logVectors(x []float32) {
	for i := 0; i < len(x); i += 8 {
		store(logOf(load(x[i:])), x[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func logLikelihoodVectors(y, q, label []float32) {
	one := broadcast(1)
	for i := 0; i < len(y); i += 8 {
		v, t := load(q[i:]), load(label[i:])
		unmarked := one.Sub(t).Mul(logOf(one.Sub(v)))
		store(t.MulAdd(logOf(v), unmarked), y[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func sigmoidVectors(x []float32) {
	var zero eight
	one := broadcast(1)
	for i := 0; i < len(x); i += 8 {
		store(one.Div(one.Add(expOf(zero.Sub(load(x[i:]))))), x[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func geluVectors(x []float32) {
	for i := 0; i < len(x); i += 8 {
		v := load(x[i:])
		p, _ := phiOf(v)
		store(v.Mul(p), x[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func addGELUGradientVectors(dx, dy, x []float32) {
	bellOf := broadcast(normal)
	for i := 0; i < len(x); i += 8 {
		v := load(x[i:])
		p, bell := phiOf(v)
		slope := v.Mul(bellOf).MulAdd(bell, p)
		store(slope.MulAdd(load(dy[i:]), load(dx[i:])), dx[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func expColumnsVectors(x []float32, scale float32, shift, total []float32) {
	n, a := len(shift), broadcast(scale)
	for j := 0; j < n; j += 8 {
		b, sum := load(shift[j:]), load(total[j:])
		for i := j; i < len(x); i += n {
			e := expOf(a.MulAdd(load(x[i:]), b))
			store(e, x[i:])
			sum = sum.Add(e)
		}
		store(sum, total[j:])
	}
	archsimd.ClearAVXUpperBits()
}

func maxOfColumnsVectors(most, x []float32) {
	n := len(most)
	for j := 0; j < n; j += 8 {
		m := load(x[j:])
		for i := j + n; i < len(x); i += n {
			m = m.Max(load(x[i:]))
		}
		store(m, most[j:])
	}
	archsimd.ClearAVXUpperBits()
}

func addWhereVectors(y, x, places []float32, place float32) {
	var zero eight
	here := broadcast(place)
	for i := 0; i < len(y); i += 8 {
		v := load(x[i:]).Merge(zero, load(places[i:]).Equal(here))
		store(load(y[i:]).Add(v), y[i:])
	}
	archsimd.ClearAVXUpperBits()
}
