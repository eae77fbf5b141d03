package main

// The block of sums that a product holds in registers: 8 sums, 2 vectors of the right factor, one
// element of the left factor and one product. x86 has 16 registers, and an engine needs some of
// them. With more rows, more columns or several terms in a turn, V8 reaches half to two thirds of
// the speed.
const (
	mostRows      = 4
	mostVectors   = 2
	bytesOfVector = 16
)

// product writes the function that sets c (rows, 8) to a (rows, k) times b (k, 8), or adds that to
// c.
type product struct {
	*function
	k, row, step, b, c, stride, add *variable // parameters; distances in bytes
	start, to                       *variable // start of a block in a; a row in c
	left                            [mostRows]*variable
	fromB, count, x                 *variable
	right                           [mostVectors]*variable
	sums                            [mostRows][mostVectors]*variable
}

func (m *module) product() {
	f := m.function("product")
	p := &product{function: f, k: f.parameter(i32), start: f.parameter(i32), row: f.parameter(i32), step: f.parameter(i32),
		b: f.parameter(i32), c: f.parameter(i32), stride: f.parameter(i32)}
	rows := f.parameter(i32)
	p.add = f.parameter(i32)
	p.to, p.fromB, p.count, p.x = f.local(i32), f.local(i32), f.local(i32), f.local(v128)
	for v := range p.right {
		p.right[v] = f.local(v128)
	}
	for r := range p.left {
		p.left[r] = f.local(i32)
		for v := range p.sums[r] {
			p.sums[r][v] = f.local(v128)
		}
	}
	for _, elements := range []*variable{p.row, p.step, p.stride} {
		elements.set(leftBy(elements, 2))
	}
	f.while(atLeast(rows, integer(mostRows)), func() {
		p.block(mostRows)
		p.start.set(plus(p.start, times(p.row, integer(mostRows))))
		p.c.set(plus(p.c, times(p.stride, integer(mostRows))))
		rows.set(minus(rows, integer(mostRows)))
	})
	for rest := 1; rest < mostRows; rest++ {
		f.when(equal(rows, integer(rest)), func() { p.block(rest) })
	}
}

// pack writes the function that copies rows of 8 columns, stride elements apart, to adjacent rows.
func (m *module) pack() {
	f := m.function("pack")
	to, from, rows, stride := f.parameter(i32), f.parameter(i32), f.parameter(i32), f.parameter(i32)
	stride.set(leftBy(stride, 2))
	f.repeat(rows, 1, func() {
		for v := range mostVectors {
			f.store(to, v*bytesOfVector, load(from, v*bytesOfVector))
		}
		to.set(plus(to, integer(mostVectors*bytesOfVector)))
		from.set(plus(from, stride))
	})
}

// block writes the code of a block of rows.
func (p *product) block(rows int) {
	p.left[0].set(p.start)
	for r := 1; r < rows; r++ {
		p.left[r].set(plus(p.left[r-1], p.row))
	}
	p.when(p.add, func() {
		p.eachSum(rows, func(sum *variable, offset int) { sum.set(load(p.to, offset)) })
	})
	p.otherwise(func() {
		p.eachSum(rows, func(sum *variable, _ int) { sum.set(constant(0)) })
	})
	p.fromB.set(p.b)
	p.count.set(p.k)
	p.repeat(p.count, 1, func() { p.term(rows) })
	p.eachSum(rows, func(sum *variable, offset int) { p.store(p.to, offset, sum) })
}

// term adds a term to every sum.
func (p *product) term(rows int) {
	for v, right := range p.right {
		right.set(load(p.fromB, v*bytesOfVector))
	}
	for r, left := range p.left[:rows] {
		p.x.set(splat(left, 0))
		for v, right := range p.right {
			p.sums[r][v].set(p.madd(p.x, right, p.sums[r][v]))
		}
		left.set(plus(left, p.step))
	}
	p.fromB.set(plus(p.fromB, integer(mostVectors*bytesOfVector)))
}

// eachSum calls do for the sums of rows and their places in c.
func (p *product) eachSum(rows int, do func(sum *variable, offset int)) {
	p.to.set(p.c)
	for _, row := range p.sums[:rows] {
		for v, sum := range row {
			do(sum, v*bytesOfVector)
		}
		p.to.set(plus(p.to, p.stride))
	}
}
