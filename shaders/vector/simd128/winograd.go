package main

// The transforms of shaders/vector/winograd.go, for its points 0, ±a and ±b.
func (m *module) winograd() {
	const a, b = 3. / 4, 3. / 2
	m.transform("winogradInput", 6, func(t *transform, x []*variable) []value {
		less := func(sum, x value, factor float64) value { return t.keep(m.madd(x, constant(-factor), sum)) }
		d, e := less(x[4], x[2], b*b), less(x[3], x[1], b*b)
		f, g := less(x[4], x[2], a*a), less(x[3], x[1], a*a)
		outer := func(x0, x2, x4 value) value {
			return m.madd(x2, constant(-(a*a + b*b)), m.madd(x0, constant(a*a*b*b), x4))
		}
		return []value{
			outer(x[0], x[2], x[4]), m.madd(e, constant(a), d), m.madd(e, constant(-a), d),
			m.madd(g, constant(b), f), m.madd(g, constant(-b), f), outer(x[1], x[3], x[5]),
		}
	})
	m.transform("winogradSums", 6, func(t *transform, x []*variable) []value {
		d, e, f, g := t.keep(add(x[1], x[2])), t.keep(sub(x[1], x[2])), t.keep(add(x[3], x[4])), t.keep(sub(x[3], x[4]))
		both := func(x, y value, a, b float64, sum value) value {
			return m.madd(y, constant(b), m.madd(x, constant(a), sum))
		}
		return []value{
			add(add(x[0], d), f), m.madd(g, constant(b), mul(e, constant(a))),
			m.madd(f, constant(b*b), mul(d, constant(a*a))), both(e, g, a*a*a, b*b*b, x[5]),
		}
	})
	m.transform("winogradWeights", 3, func(t *transform, x []*variable) []value {
		const ofA, ofB = 1 / (2 * a * a * (a*a - b*b)), 1 / (2 * b * b * (b*b - a*a))
		even := func(of, a float64) value {
			return t.keep(m.madd(x[2], constant(of*a*a), mul(x[0], constant(of))))
		}
		d, e, f, g := even(ofA, a), t.keep(mul(x[1], constant(ofA*a))), even(ofB, b), t.keep(mul(x[1], constant(ofB*b)))
		return []value{mul(x[0], constant(1/(a*a*b*b))), add(d, e), sub(d, e), add(f, g), sub(f, g), x[2]}
	})
}

// transform is a function that is being written.
type transform struct {
	*function
	kept int
	all  []*variable
}

// keep computes a value once.
func (t *transform) keep(v value) value {
	if t.kept == len(t.all) {
		t.all = append(t.all, t.local(v128))
	}
	t.all[t.kept].set(v)
	t.kept++
	return t.all[t.kept-1]
}

// transform writes a function with the parameters of vector.transform. Distances are in elements.
func (m *module) transform(name string, from int, results func(t *transform, x []*variable) []value) {
	f := m.function(name)
	y, yStep, yNext := f.parameter(i32), f.parameter(i32), f.parameter(i32)
	x, xStep, xNext, n, count := f.parameter(i32), f.parameter(i32), f.parameter(i32), f.parameter(i32), f.parameter(i32)
	at, to, left := f.local(i32), f.local(i32), f.local(i32)
	taken := make([]*variable, from)
	for i := range taken {
		taken[i] = f.local(v128)
	}
	for _, elements := range []*variable{yStep, yNext, xStep, xNext, n} {
		elements.set(leftBy(elements, 2))
	}
	yNext.set(minus(yNext, n))
	xNext.set(minus(xNext, n))
	t := &transform{function: f}
	f.repeat(count, 1, func() {
		left.set(n)
		f.repeat(left, bytesOfVector, func() {
			at.set(x)
			to.set(y)
			for _, v := range taken {
				v.set(load(at, 0))
				at.set(plus(at, xStep))
			}
			for _, v := range results(t, taken) {
				f.store(to, 0, v)
				to.set(plus(to, yStep))
			}
			x.set(plus(x, integer(bytesOfVector)))
			y.set(plus(y, integer(bytesOfVector)))
		})
		x.set(plus(x, xNext))
		y.set(plus(y, yNext))
	})
}
