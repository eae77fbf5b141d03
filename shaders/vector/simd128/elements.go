package main

import "math"

// The formulas of shaders/vector/elements.go.

func (m *module) elements() {
	m.elementwise("add", 2, 0, func(s *slices) { s.set(0, add(s.current(0), s.current(1))) })
	m.elementwise("addScaled", 2, 1, func(s *slices) { s.set(0, m.madd(s.number(0), s.current(1), s.current(0))) })
	m.elementwise("addProducts", 3, 0, func(s *slices) { s.set(0, m.madd(s.current(1), s.current(2), s.current(0))) })
	m.elementwise("takeLarger", 2, 0, func(s *slices) { s.set(0, larger(s.keep(s.current(0)), s.keep(s.current(1)))) })
	m.elementwise("relu", 1, 0, func(s *slices) { s.set(0, raise(s.current(0), constant(0))) })
	m.elementwise("exp", 1, 2, func(s *slices) { s.set(0, s.exp(m.madd(s.number(0), s.current(0), s.number(1)))) })
	m.elementwise("sigmoid", 1, 0, func(s *slices) {
		s.set(0, div(constant(1), add(constant(1), s.exp(sub(constant(0), s.current(0))))))
	})
	m.elementwise("gelu", 1, 0, func(s *slices) {
		x := s.keep(s.current(0))
		phi, _ := s.phi(x)
		s.set(0, mul(x, phi))
	})
	m.elementwise("addGELUGradient", 3, 0, func(s *slices) {
		x := s.keep(s.current(2))
		phi, bell := s.phi(x)
		slope := m.madd(mul(x, constant(normal)), bell, phi)
		s.set(0, m.madd(slope, s.current(1), s.current(0)))
	})
	m.reduce("sum", 1, func(so value, x []value) value { return add(so, x[0]) })
	m.reduce("dot", 2, func(so value, x []value) value { return m.madd(x[0], x[1], so) })
	m.maxOfColumns()
	m.expColumns()
	m.finishRows()
	m.layerNorm()
}

// slices are the slices of a function. The function computes four elements at a time, and the last
// ones one by one. Both ways give the same bits, so that a result does not depend on where a slice
// is cut.
type slices struct {
	*function
	from    []*variable
	count   *variable
	numbers []*variable // in every lane
	one     bool
	kept    []*variable
	used    int
}

// slices begins a function of slices, their length and numbers.
func (m *module) slices(name string, many, numbers int, result ...byte) *slices {
	f := m.function(name, result...)
	s := &slices{function: f}
	for range many {
		s.from = append(s.from, f.parameter(i32))
	}
	s.count = f.parameter(i32)
	var given []*variable
	for range numbers {
		given = append(given, f.parameter(f32))
	}
	for _, v := range given {
		all := f.local(v128)
		all.set(everywhere(v))
		s.numbers = append(s.numbers, all)
	}
	return s
}

// elementwise writes a function that calls do for all elements of slices.
func (m *module) elementwise(name string, many, numbers int, do func(s *slices)) {
	m.slices(name, many, numbers).through(do)
}

func (s *slices) through(do func(s *slices)) {
	for _, width := range []int{4, 1} {
		s.one, s.used = width == 1, 0
		s.while(atLeast(s.count, integer(width)), func() {
			do(s)
			for _, from := range s.from {
				from.set(plus(from, integer(4*width)))
			}
			s.count.set(minus(s.count, integer(width)))
		})
	}
}

// current is the current four elements of a slice, or a single one with zeros after it.
func (s *slices) current(slice int) value {
	if s.one {
		return alone(s.from[slice])
	}
	return load(s.from[slice], 0)
}

func (s *slices) set(slice int, v value) {
	if s.one {
		s.storeFirst(s.from[slice], v)
		return
	}
	s.store(s.from[slice], 0, v)
}

func (s *slices) number(i int) value { return s.numbers[i] }

// keep puts a value into a local for later.
func (s *slices) keep(v value) *variable {
	if s.used == len(s.kept) {
		s.kept = append(s.kept, s.local(v128))
	}
	s.used++
	kept := s.kept[s.used-1]
	kept.set(v)
	return kept
}

// reduce writes a function that returns a sum over the elements; next adds four elements of each
// slice to the sum so far. Sums are in eight lanes, as in the vectors of other processors: two
// vectors, which take turns.
func (m *module) reduce(name string, many int, next func(so value, x []value) value) {
	s := m.slices(name, many, 0, f32)
	sum, other := s.local(v128), s.local(v128) // 0, as locals are
	turn := func(elements int, load func(from *variable) value) {
		x := make([]value, many)
		for i, from := range s.from {
			x[i] = s.keep(load(from))
			from.set(plus(from, integer(4*elements)))
		}
		now := s.keep(next(sum, x))
		sum.set(other)
		other.set(now)
	}
	s.while(atLeast(s.count, integer(4)), func() {
		s.used = 0
		turn(4, func(from *variable) value { return load(from, 0) })
		s.count.set(minus(s.count, integer(4)))
	})
	for rest := 1; rest < 4; rest++ {
		s.when(equal(s.count, integer(rest)), func() {
			s.used = 0
			turn(rest, func(from *variable) value {
				v := constant(0)
				for i := range rest {
					v = loadLane(from, 4*i, v, i)
				}
				return v
			})
		})
	}
	s.emit(together(s.keep(add(sum, other))))
}

// columnsOfPanel is the number of columns of a panel.
const columnsOfPanel = 8

// columns goes through the rows of a panel, four columns at a time. begin gets the place of the
// columns in the other slices, row computes one row, and done ends the columns.
func (s *slices) columns(begin func(offset int), row func(at *variable), done func(offset int)) {
	at, left := s.local(i32), s.local(i32)
	for offset := 0; offset < 4*columnsOfPanel; offset += bytesOfVector {
		s.used = 0
		at.set(plus(s.from[0], integer(offset)))
		left.set(s.count)
		begin(offset)
		s.while(atLeast(left, integer(1)), func() {
			row(at)
			at.set(plus(at, integer(4*columnsOfPanel)))
			left.set(minus(left, integer(1)))
		})
		done(offset)
	}
}

// finishRows writes FinishRows for a multiple of four columns. Strides are in bytes. A nil slice
// has address 0.
func (m *module) finishRows() {
	f := m.function("finishRows")
	rows, columns := f.parameter(i32), f.parameter(i32) // columns in bytes
	y, stride, x, from := f.parameter(i32), f.parameter(i32), f.parameter(i32), f.parameter(i32)
	scale, shift := f.parameter(i32), f.parameter(i32)
	residual, residualStride, relu := f.parameter(i32), f.parameter(i32), f.parameter(i32)
	at, v := f.local(i32), f.local(v128)
	in := func(slice *variable) value { return load(plus(slice, at), 0) }
	f.while(atLeast(rows, integer(1)), func() {
		at.set(integer(0))
		f.while(atLeast(columns, plus(at, integer(bytesOfVector))), func() {
			v.set(in(x))
			f.when(scale, func() { v.set(m.madd(v, in(scale), in(shift))) })
			f.otherwise(func() { f.when(shift, func() { v.set(add(v, in(shift))) }) })
			f.when(residual, func() { v.set(add(v, in(residual))) })
			f.when(relu, func() { v.set(raise(v, constant(0))) })
			f.store(plus(y, at), 0, v)
			at.set(plus(at, integer(bytesOfVector)))
		})
		y.set(plus(y, stride))
		x.set(plus(x, from))
		f.when(residual, func() { residual.set(plus(residual, residualStride)) })
		rows.set(minus(rows, integer(1)))
	})
}

// layerNorm writes LayerNorm for rows of a multiple of eight.
func (m *module) layerNorm() {
	f := m.function("layerNorm")
	rows, columns := f.parameter(i32), f.parameter(i32) // columns in bytes
	y, x, scale, bias := f.parameter(i32), f.parameter(i32), f.parameter(i32), f.parameter(i32)
	mean, r, eps := f.parameter(i32), f.parameter(i32), f.parameter(f32)
	at, n, sum, other, average, off := f.local(i32), f.local(v128), f.local(v128), f.local(v128), f.local(v128), f.local(v128)
	in := func(slice *variable) value { return load(plus(slice, at), 0) }
	through := func(do func()) {
		at.set(integer(0))
		f.while(atLeast(columns, plus(at, integer(bytesOfVector))), func() {
			do()
			at.set(plus(at, integer(bytesOfVector)))
		})
	}
	summed := func(next func(so *variable, offset int)) value { // in eight lanes, as reduce
		sum.set(constant(0))
		other.set(constant(0))
		at.set(integer(0))
		f.while(atLeast(columns, plus(at, integer(2*bytesOfVector))), func() {
			next(sum, 0)
			next(other, bytesOfVector)
			at.set(plus(at, integer(2*bytesOfVector)))
		})
		sum.set(add(sum, other))
		return div(everywhere(together(sum)), n)
	}
	n.set(everywhere(toFloat(quarter(columns))))
	f.while(atLeast(rows, integer(1)), func() {
		average.set(summed(func(so *variable, offset int) { so.set(add(so, load(plus(x, at), offset))) }))
		f.storeFirst(mean, average)
		sum.set(summed(func(so *variable, offset int) {
			off.set(sub(load(plus(x, at), offset), average))
			so.set(m.madd(off, off, so))
		}))
		sum.set(div(constant(1), squareRoot(add(sum, everywhere(eps)))))
		f.storeFirst(r, sum)
		through(func() {
			f.store(plus(y, at), 0, m.madd(mul(sub(in(x), average), sum), in(scale), in(bias)))
		})
		for _, slice := range []*variable{x, y} {
			slice.set(plus(slice, columns))
		}
		for _, slice := range []*variable{mean, r} {
			slice.set(plus(slice, integer(4)))
		}
		rows.set(minus(rows, integer(1)))
	})
}

// maxOfColumns computes the largest value of each column of one or more rows.
func (m *module) maxOfColumns() {
	s := m.slices("maxOfColumns", 2, 0)
	most := s.local(v128)
	s.columns(
		func(offset int) { most.set(load(s.from[0], offset)) },
		func(at *variable) { most.set(raise(most, load(at, 0))) },
		func(offset int) { s.store(s.from[1], offset, most) })
}

// expColumns replaces every x by 2^(scale x + shift of its column), and adds the results to total.
func (m *module) expColumns() {
	s := m.slices("expColumns", 3, 1)
	shift, total := s.local(v128), s.local(v128)
	s.columns(
		func(offset int) {
			shift.set(load(s.from[1], offset))
			total.set(load(s.from[2], offset))
		},
		func(at *variable) {
			x := s.keep(m.madd(s.number(0), load(at, 0), shift))
			n := s.keep(nearest(x))
			p := s.polynomial(s.keep(sub(x, n)), powers...)
			e := s.keep(mul(p, leftInt(add(raise(lower(n, constant(125)), constant(-125)), constant(round+127)), 23)))
			s.store(at, 0, e)
			total.set(add(total, e))
		},
		func(offset int) { s.store(s.from[2], offset, total) })
}

// Numbers for e^x.
const (
	round       = 3 << 22
	high, low   = 0.693359375, -2.12194440e-4
	least, most = -87, 88
)

// exp is e^x.
func (s *slices) exp(x value) value {
	limited := s.keep(lower(raise(x, constant(least)), constant(most)))
	shifted := s.keep(s.madd(limited, constant(math.Log2E), constant(round)))
	n := s.keep(sub(shifted, constant(round)))
	r := s.keep(s.madd(n, constant(-low), s.madd(n, constant(-high), limited)))
	power := leftInt(addInt(shifted, integers(127)), 23)
	return mul(s.polynomial(r, 1./720, 1./120, 1./24, 1./6, 1./2, 1, 1), power)
}

// polynomial has the coefficient of the highest power first.
func (s *slices) polynomial(x value, coefficients ...float64) value {
	sum := value(constant(coefficients[0]))
	for _, c := range coefficients[1:] {
		sum = s.madd(x, sum, constant(c))
	}
	return sum
}

// Numbers for Φ(-|x|).
const (
	tailT  = 0.3275911 / math.Sqrt2
	normal = 0.3989422804014327 // 1/√(2π)
)

// phi is Φ(x) and e^(-x²/2).
func (s *slices) phi(x value) (phi, bell value) {
	bell = s.keep(s.exp(mul(mul(x, x), constant(-.5))))
	t := s.keep(div(constant(1), s.madd(absolute(x), constant(tailT), constant(1))))
	p := s.polynomial(t, 1.061405429, -1.453152027, 1.421413741, -.284496736, .254829592)
	tail := s.keep(mul(mul(mul(p, t), bell), constant(.5)))
	return choose(sub(constant(1), tail), tail, less(constant(0), x)), bell
}
