package main

// These functions multiply int8 in words, see bytes.go, and finish sums. A word has two 16-bit
// integers, or with the relaxed instructions four bytes. The fields of Go's structures have eight
// bytes each, and are numbered in their order.

// field loads a number from a structure of the Go program.
func field(from value, number int) code {
	return apply(append(code{0x28, 2}, unsigned(8*number)...), from)
}

// flag is field for a bool.
func flag(from value, number int) code {
	return apply(append(code{0x2D, 0}, unsigned(8*number)...), from)
}

// Fields of vector.Lines.
const (
	linesLines = iota
	linesLine
	linesRows
	linesRow
	linesParts
	linesPart
	linesNegative
)

// dots writes the function that sets sums (rows of all lines, 8) to start (8) plus the products of
// words of a (rows, parts, k) and b (parts, k, 8).
//
// The relaxed product of bytes is exact if the bytes of one factor are 0 … 127. Negative bytes need
// a second way: a product in which they are 0, plus the product of their opposites with the
// opposite of b.
type dots struct {
	*function
	negative                 bool      // the second way
	k, lines, a, b, start, c *variable // parameters
	row, parts, skip, begin  *variable // skip: from the end of a part to the next one
	left                     [mostRows]*variable
	fromB, part, count, x    *variable
	right, first, opposite   [mostVectors]*variable
	less, more               *variable // the negative bytes of x, negated, and the others
	sums                     [mostRows][mostVectors]*variable
}

func (m *module) dots() {
	f := m.function("dots")
	d := &dots{function: f, k: f.parameter(i32), lines: f.parameter(i32), a: f.parameter(i32), b: f.parameter(i32),
		start: f.parameter(i32), c: f.parameter(i32)}
	local := func() *variable { return f.local(i32) }
	d.row, d.parts, d.skip, d.begin, d.fromB, d.part, d.count = local(), local(), local(), local(), local(), local(), local()
	line, rows := local(), local()
	d.x = f.local(v128)
	for v := range d.right {
		d.right[v], d.first[v], d.opposite[v] = f.local(v128), f.local(v128), f.local(v128)
		d.first[v].set(load(d.start, v*bytesOfVector))
	}
	for r := range d.left {
		d.left[r] = f.local(i32)
		for v := range d.sums[r] {
			d.sums[r][v] = f.local(v128)
		}
	}
	d.row.set(field(d.lines, linesRow))
	d.parts.set(field(d.lines, linesParts))
	d.skip.set(minus(field(d.lines, linesPart), leftBy(d.k, 2)))
	line.set(field(d.lines, linesLines))
	rowsOfLine := func() {
		f.while(atLeast(rows, integer(mostRows)), func() {
			d.block(mostRows)
			rows.set(minus(rows, integer(mostRows)))
		})
		f.repeat(rows, 1, func() { d.block(1) }) // rare
	}
	f.repeat(line, 1, func() {
		rows.set(field(d.lines, linesRows))
		d.begin.set(d.a)
		if m.relaxed {
			d.negative, d.less, d.more = true, f.local(v128), f.local(v128)
			f.when(flag(d.lines, linesNegative), rowsOfLine)
			d.negative = false
			f.otherwise(rowsOfLine)
		} else {
			rowsOfLine()
		}
		d.a.set(plus(d.a, field(d.lines, linesLine)))
	})
}

// block writes the code of a block of rows, and goes on to the next block.
func (d *dots) block(rows int) {
	for r := range rows {
		d.left[r].set(d.begin)
		d.begin.set(plus(d.begin, d.row))
		for v, first := range d.first {
			d.sums[r][v].set(first)
		}
	}
	d.fromB.set(d.b)
	d.part.set(d.parts)
	d.repeat(d.part, 1, func() {
		d.count.set(d.k)
		d.repeat(d.count, 1, func() { d.term(rows) })
		for _, left := range d.left[:rows] {
			left.set(plus(left, d.skip))
		}
	})
	for r, row := range d.sums[:rows] {
		for v, sum := range row {
			d.store(d.c, (r*mostVectors+v)*bytesOfVector, sum)
		}
	}
	d.c.set(plus(d.c, integer(rows*mostVectors*bytesOfVector)))
}

// term adds the products of a word to every sum.
func (d *dots) term(rows int) {
	for v, right := range d.right {
		right.set(load(d.fromB, v*bytesOfVector))
		if d.negative {
			d.opposite[v].set(opposite(right))
		}
	}
	for r, left := range d.left[:rows] {
		d.x.set(splat(left, 0))
		if d.negative {
			d.more.set(mostBytes(d.x, integers(0)))
			d.less.set(subBytes(d.more, d.x))
		}
		for v, right := range d.right {
			switch sum := d.sums[r][v]; {
			case d.negative:
				sum.set(dotBytes(d.opposite[v], d.less, dotBytes(right, d.more, sum)))
			case d.relaxed:
				sum.set(dotBytes(right, d.x, sum))
			default:
				sum.set(addInt(sum, dot(d.x, right)))
			}
		}
		left.set(plus(left, integer(4)))
	}
	d.fromB.set(plus(d.fromB, integer(mostVectors*bytesOfVector)))
}

// negative writes the function that says whether any of n bytes, a multiple of 16, is below 0.
func (m *module) negative() {
	f := m.function("negative", i32)
	from, n := f.parameter(i32), f.parameter(i32)
	all := f.local(v128)
	f.repeat(n, bytesOfVector, func() {
		all.set(or(all, load(from, 0)))
		from.set(plus(from, integer(bytesOfVector)))
	})
	f.emit(signs(all))
}

// Fields of vector.finishing.
const (
	finishSums = iota
	finishStride
	finishY
	finishStep
	finishRows
	finishColumns
	finishBy
	finishStart
	finishResidual
	finishResidual8
	finishResidualBy
	finishShortcut
	finishShortcutBy
	finishShift
	finishReLU
)

// finish writes the function that finishes sums, as vector.finishing describes, to int8 or floats.
// The outer loop goes over columns, four at a time, and the inner loop over rows.
func (m *module) finish(fixed bool) {
	name, size := "finishFloats", 4
	if fixed {
		name, size = "finishFixed", 1
	}
	f := m.function(name)
	p := f.parameter(i32)
	local := func(v value) *variable {
		l := f.local(i32)
		l.set(v)
		return l
	}
	vector := func() *variable { return f.local(v128) }
	of := func(number int) value { return field(p, number) }
	stride, step, shift, relu := local(leftBy(of(finishStride), 2)), local(of(finishStep)), local(of(finishShift)), local(of(finishReLU))
	left, column := local(of(finishColumns)), local(integer(0))
	sums, y, rows, place := f.local(i32), f.local(i32), f.local(i32), f.local(i32)
	residual, residual8, shortcut := local(of(finishResidual)), local(of(finishResidual8)), local(of(finishShortcut))
	by, start, residualBy, shortcutBy, v := vector(), vector(), vector(), vector(), vector()
	addScaled := func(x, by value) {
		if fixed {
			v.set(addInt(v, m.toFixed(mul(x, by))))
		} else {
			v.set(m.madd(x, by, v))
		}
	}
	f.repeat(left, 4, func() {
		ofColumn := func(number int) value { return load(plus(of(number), leftBy(column, 2)), 0) }
		by.set(ofColumn(finishBy))
		start.set(ofColumn(finishStart))
		residualBy.set(ofColumn(finishResidualBy))
		shortcutBy.set(ofColumn(finishShortcutBy))
		sums.set(plus(of(finishSums), leftBy(column, 2)))
		y.set(plus(of(finishY), times(column, integer(size))))
		rows.set(of(finishRows))
		place.set(column)
		f.repeat(rows, 1, func() {
			sum := toFloats(rightInt(load(sums, 0), shift))
			if fixed {
				v.set(addInt(start, m.toFixed(mul(sum, by))))
			} else {
				v.set(m.madd(sum, by, start))
			}
			f.when(residual, func() { addScaled(load(plus(residual, leftBy(place, 2)), 0), residualBy) })
			f.when(residual8, func() { addScaled(fourBytes(plus(residual8, place)), residualBy) })
			f.when(relu, func() {
				if fixed {
					v.set(mostInt(v, integers(0)))
				} else {
					v.set(raise(v, constant(0)))
				}
			})
			f.when(shortcut, func() { addScaled(load(plus(shortcut, leftBy(place, 2)), 0), shortcutBy) })
			if fixed {
				t := mostInt(rightInt(addInt(v, integers(128)), integer(8)), integers(0xFFFFFF81))
				f.storeFirst(y, narrow(t, t, t, t))
			} else {
				f.store(y, 0, v)
			}
			sums.set(plus(sums, stride))
			y.set(plus(y, times(step, integer(size))))
			place.set(plus(place, step))
		})
		column.set(plus(column, integer(4)))
	})
}

// toFixed rounds to nearest even and clamps to ±2²³.
func (m *module) toFixed(v value) value {
	return m.toInts(nearest(raise(lower(v, constant(1<<23)), constant(-1<<23))))
}

// convert writes a function that computes n elements, a multiple of turn, of one slice from those
// of another. toSize and fromSize are the sizes of elements in bytes.
func (m *module) convert(name string, turn, toSize, fromSize int, numbers int, do func(f *function, to, from, number *variable)) {
	f := m.function(name)
	to, from, n := f.parameter(i32), f.parameter(i32), f.parameter(i32)
	var number *variable
	if numbers > 0 {
		given := f.parameter(f32)
		number = f.local(v128)
		number.set(everywhere(given))
	}
	f.repeat(n, turn, func() {
		do(f, to, from, number)
		to.set(plus(to, integer(turn*toSize)))
		from.set(plus(from, integer(turn*fromSize)))
	})
}

func (m *module) conversions() {
	if !m.relaxed {
		m.convert("words", 8, 2, 1, 0, func(f *function, to, from, _ *variable) { f.store(to, 0, eightBytes(from)) })
	}
	m.convert("floats", 8, 4, 1, 0, func(f *function, to, from, _ *variable) {
		f.store(to, 0, fourBytes(from))
		f.store(to, bytesOfVector, fourBytes(plus(from, integer(4))))
	})
	m.convert("quantize", 16, 1, 4, 1, func(f *function, to, from, factor *variable) {
		steps := func(i int) value {
			v := mul(load(from, i*bytesOfVector), factor)
			return m.toInts(nearest(raise(lower(v, constant(127)), constant(-127))))
		}
		f.store(to, 0, narrow(steps(0), steps(1), steps(2), steps(3)))
	})
}

// The coefficients of 2^x, |x| ≤ ½, with the highest power first; see asm/int8.go.
var powers = []float64{0.0013276472, 0.009675541, 0.05550713, 0.2402212, 0.69314694, 1}

// softmax writes the function that replaces every 32-bit integer x (rows, 8) by the float32
// 2^(scale (x − the largest of its column)), and adds up the results by column.
func (m *module) softmax() {
	s := m.slices("softmax", 2, 1) // x, total
	most, total := s.local(v128), s.local(v128)
	at, left := s.local(i32), s.local(i32)
	s.columns(
		func(offset int) {
			most.set(load(s.from[0], offset))
			at.set(plus(s.from[0], integer(offset)))
			left.set(s.count)
			s.repeat(left, 1, func() {
				most.set(mostInt(most, load(at, 0)))
				at.set(plus(at, integer(4*columnsOfPanel)))
			})
			total.set(constant(0))
		},
		func(at *variable) {
			x := toFloats(subInt(load(at, 0), most))
			limited := s.keep(raise(mul(x, s.number(0)), constant(-125)))
			shifted := s.keep(add(limited, constant(round)))
			r := s.keep(sub(limited, sub(shifted, constant(round))))
			e := s.keep(addInt(s.polynomial(r, powers...), leftInt(shifted, 23)))
			s.store(at, 0, e)
			total.set(add(total, e))
		},
		func(offset int) { s.store(s.from[1], offset, total) })
}
