package main

import (
	"maps"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// constants are the numbers for e^x of elements.go, each in sixteen lanes. A level with enough
// registers holds them there: as operands in memory they take more time than the arithmetic.
type constants map[string]Op

func newConstants() constants {
	c := constants{}
	c.add("bias", 127)
	for _, number := range []struct {
		name  string
		value float32
	}{
		{"least", -87}, {"log2e", math.Log2E}, {"round", 3 << 22}, {"high", -0.693359375}, {"low", 2.12194440e-4},
		{"c6", 1. / 720}, {"c5", 1. / 120}, {"c4", 1. / 24}, {"c3", 1. / 6}, {"c2", 1. / 2}, {"c1", 1},
	} {
		c.add(number.name, math.Float32bits(number.value))
	}
	return c
}

// held loads the constants, if there are 32 registers.
func (c constants) held(l *level) constants {
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

func (c constants) add(name string, bits uint32) { c.addTo("exp_"+name, name, bits) }

// addTo adds a constant. symbol is its name in the assembly.
func (c constants) addTo(symbol, name string, bits uint32) {
	c[name] = GLOBL(symbol, RODATA|NOPTR)
	for lane := range 16 {
		DATA(4*lane, U32(bits))
	}
}

// exp replaces x, at most 88, by e^x. A NaN stays.
func (l *level) exp(c constants, x reg.VecVirtual) {
	shifted, n, e := l.register(), l.register(), l.register()
	limit := l.register()
	VMOVUPS(c["least"], limit)
	VMAXPS(x, limit, x) // with a NaN the result is the first argument
	VMOVUPS(c["round"], shifted)
	VFMADD231PS(c["log2e"], x, shifted)
	VSUBPS(c["round"], shifted, n)
	VFMADD231PS(c["high"], n, x)
	VFMADD231PS(c["low"], n, x)
	VMOVUPS(c["c6"], e)
	for _, name := range []string{"c5", "c4", "c3", "c2", "c1", "c1"} {
		VFMADD213PS(c[name], x, e)
	}
	VPADDD(c["bias"], shifted, shifted)
	VPSLLD(U8(23), shifted, shifted)
	VMULPS(shifted, e, x)
}

// expColumns replaces every x (rows, 2 lanes) by e^(scale x + shift of its column) and adds the
// results to total.
func (l *level) expColumns(c constants) {
	TEXT("expColumns"+l.name, NOSPLIT, "func(x *float32, rows int, scale float32, shift, total *float32)")
	Pragma("noescape")
	x, rows := Load(Param("x"), GP64()), Load(Param("rows"), GP64())
	shift, total := Load(Param("shift"), GP64()), Load(Param("total"), GP64())
	c = c.held(l)
	scale := l.argument("scale")
	shifts, totals := l.registers(2), l.registers(2)
	for i := range 2 {
		VMOVUPS(Mem{Base: shift, Disp: 4 * l.lanes * i}, shifts[i])
		VMOVUPS(Mem{Base: total, Disp: 4 * l.lanes * i}, totals[i])
	}
	TESTQ(rows, rows)
	JZ(LabelRef("end"))
	Label("row")
	for i := range 2 {
		v := l.register()
		VMOVUPS(shifts[i], v)
		VFMADD231PS(Mem{Base: x, Disp: 4 * l.lanes * i}, scale, v)
		l.exp(c, v)
		VMOVUPS(v, Mem{Base: x, Disp: 4 * l.lanes * i})
		VADDPS(v, totals[i], totals[i])
	}
	ADDQ(U32(8*l.lanes), x)
	DECQ(rows)
	JNZ(LabelRef("row"))
	Label("end")
	for i := range 2 {
		VMOVUPS(totals[i], Mem{Base: total, Disp: 4 * l.lanes * i})
	}
	VZEROUPPER()
	RET()
}

// argument loads a number into all lanes.
func (l *level) argument(name string) reg.VecVirtual {
	at, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := l.register()
	VBROADCASTSS(at.Addr, v)
	return v
}

// maxOfColumns computes the largest value of each column of x (rows, 2 lanes), four rows at a time.
// With one row at a time each maximum would wait for the one before. rows is a multiple of four.
func (l *level) maxOfColumns() {
	TEXT("maxOfColumns"+l.name, NOSPLIT, "func(most, x *float32, rows int)")
	Pragma("noescape")
	most, x, rows := Load(Param("most"), GP64()), Load(Param("x"), GP64()), Load(Param("rows"), GP64())
	at := func(i int) Mem { return Mem{Base: x, Disp: 4 * l.lanes * i} }
	largest := l.registers(8)
	for i, v := range largest {
		VMOVUPS(at(i), v)
	}
	JMP(LabelRef("next"))
	Label("rows")
	for i, v := range largest {
		VMAXPS(at(i), v, v)
	}
	Label("next")
	ADDQ(U32(4*l.lanes*len(largest)), x)
	SUBQ(U8(4), rows)
	JNZ(LabelRef("rows"))
	for i, v := range largest[2:] {
		VMAXPS(v, largest[i%2], largest[i%2])
	}
	for i, v := range largest[:2] {
		VMOVUPS(v, Mem{Base: most, Disp: 4 * l.lanes * i})
	}
	VZEROUPPER()
	RET()
}
