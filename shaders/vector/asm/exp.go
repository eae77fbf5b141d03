package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// constants are numbers in memory, each in sixteen lanes. A level with enough registers loads them
// into registers: as operands in memory they take more time than the arithmetic.
type constants map[string]Op

type number struct {
	name string
	bits uint32
}

func float(name string, v float32) number { return number{name, math.Float32bits(v)} }

// newConstants writes constants. Their symbols begin with prefix.
func newConstants(prefix string, numbers ...number) constants {
	c := constants{}
	for _, n := range numbers {
		c[n.name] = GLOBL(prefix+n.name, RODATA|NOPTR)
		for lane := range 16 {
			DATA(4*lane, U32(n.bits))
		}
	}
	return c
}

// expConstants are the numbers for e^x of elements.go.
func expConstants() constants {
	return newConstants("exp_", number{"bias", 127}, float("least", -87), float("most", 88), float("log2e", math.Log2E), float("round", 3<<22),
		float("high", -0.693359375), float("low", 2.12194440e-4), float("c6", 1./720), float("c5", 1./120),
		float("c4", 1./24), float("c3", 1./6), float("c2", 1./2), float("c1", 1))
}

// inRegisters loads the constants into registers, if there are 32.
func (c constants) inRegisters(l *level) constants {
	if l.lanes < 16 {
		return c
	}
	held := constants{}
	for _, name := range slices.Sorted(maps.Keys(c)) { // in a fixed order: the same assembly from every run
		register := l.register()
		VMOVUPS(c[name], register)
		held[name] = register
	}
	return held
}

// exp replaces x by e^x. A NaN stays. With eight lanes x has to be at most 88, and below -87 the
// result is e^-87.
func (l *level) exp(c constants, x Op) {
	n, e := l.register(), l.register()
	shifted := n
	if l.lanes == 16 {
		VMULPS(c["log2e"], x, n)
		VRNDSCALEPS(U8(0), n, n) // to a whole number
	} else {
		limit := l.register()
		VMOVUPS(c["least"], limit)
		VMAXPS(x, limit, x) // with a NaN the result is the first argument
		shifted = l.register()
		VMOVUPS(c["round"], shifted)
		VFMADD231PS(c["log2e"], x, shifted)
		VSUBPS(c["round"], shifted, n)
	}
	VFMADD231PS(c["high"], n, x)
	VFMADD231PS(c["low"], n, x)
	VMOVUPS(c["c6"], e)
	for _, name := range []string{"c5", "c4", "c3", "c2", "c1", "c1"} {
		VFMADD213PS(c[name], x, e)
	}
	if l.lanes == 16 {
		VSCALEFPS(n, e, x)
		return
	}
	VPADDD(c["bias"], shifted, shifted)
	VPSLLD(U8(23), shifted, shifted)
	VMULPS(shifted, e, x)
}

// expColumns replaces every x (rows, 2 lanes) by 2^(scale x + shift of its column) and adds the
// results to total.
func (l *level) expColumns(c constants) {
	TEXT("expColumns"+l.name, NOSPLIT, "func(x *float32, rows int, scale float32, shift, total *float32)")
	x, rows, shift, total := argument("x"), argument("rows"), argument("shift"), argument("total")
	scale, shifts, totals := l.everywhere("scale"), l.registers(2), l.registers(2)
	for i := range 2 {
		VMOVUPS(l.vector(shift, i), shifts[i])
		VMOVUPS(l.vector(total, i), totals[i])
	}
	c = c.inRegisters(l)
	TESTQ(rows, rows)
	JZ(LabelRef("end"))
	Label("row")
	now := l.registers(2)
	for i, v := range now {
		VMOVUPS(shifts[i], v)
		VFMADD231PS(l.vector(x, i), scale, v)
	}
	l.powers(c, now)
	for i, v := range now {
		VMOVUPS(v, l.vector(x, i))
		VADDPS(v, totals[i], totals[i])
	}
	ADDQ(U32(8*l.lanes), x)
	DECQ(rows)
	JNZ(LabelRef("row"))
	Label("end")
	for i := range 2 {
		VMOVUPS(totals[i], l.vector(total, i))
	}
	end()
}

// attend writes attention of heads of some channels, for two vectors of queries, which stay in
// registers, with their sums of values. With more than four channels they do not fit.
func (l *level) attend(c constants, width int) {
	TEXT(fmt.Sprintf("attend%sx%d", l.name, width), NOSPLIT, "func(keys int, k, v *float32, step int, q, y, total *float32)")
	keys, k, v, step, q := argument("keys"), argument("k"), argument("v"), argument("step"), argument("q")
	SHLQ(U8(2), step)
	c = c.inRegisters(l)
	queries, sums, weights, x := l.registers(2*width), l.registers(2*width), l.registers(2), l.register()
	for i, s := range sums {
		VMOVUPS(l.vector(q, i), queries[i])
		VXORPS(s, s, s)
	}
	for _, w := range weights {
		VXORPS(w, w, w)
	}
	Label("key")
	scores := l.registers(2)
	for i := range width {
		VBROADCASTSS(Mem{Base: k, Disp: 4 * i}, x)
		for half, score := range scores {
			if i == 0 {
				VMULPS(queries[half], x, score)
			} else {
				VFMADD231PS(queries[2*i+half], x, score)
			}
		}
	}
	l.powers(c, scores)
	for half, score := range scores {
		VADDPS(score, weights[half], weights[half])
	}
	for i := range width {
		VBROADCASTSS(Mem{Base: v, Disp: 4 * i}, x)
		for half, score := range scores {
			VFMADD231PS(score, x, sums[2*i+half])
		}
	}
	ADDQ(step, k)
	ADDQ(step, v)
	DECQ(keys)
	JNZ(LabelRef("key"))
	y, total := argument("y"), argument("total")
	for i, s := range sums {
		VMOVUPS(s, l.vector(y, i))
	}
	for i, w := range weights {
		VMOVUPS(w, l.vector(total, i))
	}
	end()
}

// powers replaces each x by 2^x, in turn: none waits for another. The exponent's nearest whole
// number is limited to ±125. A NaN stays.
func (l *level) powers(c constants, x []reg.VecVirtual) {
	whole, power := l.registers(len(x)), l.registers(len(x))
	for i, x := range x {
		if l.lanes == 16 {
			VRNDSCALEPS(U8(0), x, whole[i])
		} else {
			VROUNDPS(U8(0), x, whole[i])
		}
	}
	for i, x := range x {
		VSUBPS(whole[i], x, x)
		VMOVAPS(c["c5"], power[i])
	}
	for _, name := range []string{"c4", "c3", "c2", "c1", "c0"} {
		for i, x := range x {
			VFMADD213PS(c[name], x, power[i])
		}
	}
	for i, x := range x {
		if w := whole[i]; l.lanes == 16 {
			const nearerTo0 = 2
			VRANGEPS(U8(nearerTo0), c["most"], w, w)
			VSCALEFPS(w, power[i], x)
		} else {
			VMINPS(c["most"], w, w)
			VMAXPS(c["least"], w, w)
			VADDPS(c["exponent"], w, w)
			VPSLLD(U8(23), w, w)
			VMULPS(w, power[i], x)
		}
	}
}

// maxOfColumns computes the largest value of each column of x (rows, 2 lanes), four rows at a time,
// and at last the last four again. With one row at a time each maximum would wait for the one
// before. rows is at least four.
func (l *level) maxOfColumns() {
	TEXT("maxOfColumns"+l.name, NOSPLIT, "func(most, x *float32, rows int)")
	most, x, rows := argument("most"), argument("x"), argument("rows")
	largest, size := l.registers(8), 8*l.lanes
	for i, v := range largest {
		VMOVUPS(l.vector(x, i), v)
	}
	IMUL3Q(U32(uint32(size)), rows, rows)
	ADDQ(x, rows)
	SUBQ(U32(4*size), rows) // the last four
	Label("rows")
	ADDQ(U32(4*size), x)
	CMPQ(x, rows)
	CMOVQGT(rows, x)
	for i, v := range largest {
		VMAXPS(l.vector(x, i), v, v)
	}
	CMPQ(x, rows)
	JLT(LabelRef("rows"))
	for i, v := range largest[2:] {
		VMAXPS(v, largest[i%2], largest[i%2])
	}
	for i, v := range largest[:2] {
		VMOVUPS(v, l.vector(most, i))
	}
	end()
}
