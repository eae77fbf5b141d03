package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// winogradConstants are the factors of winograd.go's transforms, for its points 0, ±a and ±b.
func winogradConstants() (all [3]constants) {
	const a, b = 3. / 4, 3. / 2
	const ofA, ofB = 1 / (2 * a * a * (a*a - b*b)), 1 / (2 * b * b * (b*b - a*a))
	for i, list := range [][]number{
		{float("a", a), float("aa", a*a), float("b", b), float("bb", b*b), float("aabb", a*a*b*b), float("sum", a*a+b*b)},
		{float("a", a), float("aa", a*a), float("aaa", a*a*a), float("b", b), float("bb", b*b), float("bbb", b*b*b)},
		{float("1", 1/(a*a*b*b)), float("a", ofA), float("aa", ofA*a), float("aaa", ofA*a*a),
			float("b", ofB), float("bb", ofB*b), float("bbb", ofB*b*b)},
	} {
		all[i] = newConstants(fmt.Sprintf("winograd%d_", i), list...)
	}
	return all
}

// winograd writes the transforms of winograd.go.
func (l *level) winograd(c [3]constants) {
	do := func(instruction func(...Op), a, b Op) Op {
		to := l.register()
		instruction(b, a, to)
		return to
	}
	add := func(a, b Op) Op { return do(VADDPS, a, b) }
	sub := func(a, b Op) Op { return do(VSUBPS, a, b) }
	mul := func(a, b Op) Op { return do(VMULPS, a, b) }
	plus := func(sum, factor, a Op) Op { return l.fused(VFMADD231PS, sum, factor, a) }
	less := func(sum, factor, a Op) Op { return l.fused(VFNMADD231PS, sum, factor, a) }
	l.transform(c[0], "Input", 6, 6, func(c constants, x []Op) []Op {
		d, e := less(x[4], c["bb"], x[2]), less(x[3], c["bb"], x[1])
		f, g := less(x[4], c["aa"], x[2]), less(x[3], c["aa"], x[1])
		return []Op{
			less(plus(x[4], c["aabb"], x[0]), c["sum"], x[2]), plus(d, c["a"], e), less(d, c["a"], e),
			plus(f, c["b"], g), less(f, c["b"], g), less(plus(x[5], c["aabb"], x[1]), c["sum"], x[3]),
		}
	})
	l.transform(c[1], "Sums", 6, 4, func(c constants, x []Op) []Op {
		d, e, f, g := add(x[1], x[2]), sub(x[1], x[2]), add(x[3], x[4]), sub(x[3], x[4])
		return []Op{
			add(add(x[0], d), f), plus(mul(e, c["a"]), c["b"], g),
			plus(mul(d, c["aa"]), c["bb"], f), plus(plus(x[5], c["aaa"], e), c["bbb"], g),
		}
	})
	l.transform(c[2], "Weights", 3, 6, func(c constants, x []Op) []Op {
		d, e := plus(mul(x[0], c["a"]), c["aaa"], x[2]), mul(x[1], c["aa"])
		f, g := plus(mul(x[0], c["b"]), c["bbb"], x[2]), mul(x[1], c["bb"])
		return []Op{mul(x[0], c["1"]), add(d, e), sub(d, e), add(f, g), sub(f, g), x[2]}
	})
}

// fused is sum plus or minus factor a.
func (l *level) fused(instruction func(...Op), sum, factor, a Op) Op {
	to := l.register()
	VMOVAPS(sum, to)
	instruction(factor, a, to)
	return to
}

// transform writes a transform of `from` vectors to `to` vectors.
func (l *level) transform(c constants, name string, from, to int, results func(c constants, x []Op) []Op) {
	TEXT("winograd"+name+l.name, NOSPLIT, "func(y *float32, yStep, yNext int, x *float32, xStep, xNext, n, count int)")
	y, yStep, yNext := argument("y"), argument("yStep"), argument("yNext")
	x, xStep, xNext, n, count := argument("x"), argument("xStep"), argument("xNext"), argument("n"), argument("count")
	for _, elements := range []reg.Register{yStep, yNext, xStep, xNext, n} {
		SHLQ(U8(2), elements)
	}
	SUBQ(n, yNext)
	SUBQ(n, xNext)
	in, out, left := everyThird(x, xStep, from), everyThird(y, yStep, to), GP64()
	c = c.inRegisters(l)
	move := func(xBy, yBy Op) {
		for _, a := range in {
			ADDQ(xBy, a)
		}
		for _, a := range out {
			ADDQ(yBy, a)
		}
	}
	Label("block")
	MOVQ(n, left)
	Label("vector")
	taken, size := make([]Op, from), U8(uint8(4*l.lanes))
	for i := range taken {
		v := l.register()
		VMOVUPS(ofRow(in, xStep, i), v)
		taken[i] = v
	}
	for i, v := range results(c, taken) {
		VMOVUPS(v, ofRow(out, yStep, i))
	}
	move(size, size)
	SUBQ(size, left)
	JNZ(LabelRef("vector"))
	move(xNext, yNext)
	DECQ(count)
	JNZ(LabelRef("block"))
	end()
}
