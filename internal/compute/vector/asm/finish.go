package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// finishRows computes y = max(floor, x scale + shift + residual) for rows of 2 lanes. stride, from
// and residualStride are distances of rows, elements. scale and shift have one row.
func (l *level) finishRows() {
	TEXT("finishRows"+l.name, NOSPLIT,
		"func(rows int, y *float32, stride int, x *float32, from int, scale, shift, residual *float32, residualStride int, floor float32)")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	follow := func(slice, stride string) (at, step reg.Register) {
		at, step = Load(Param(slice), GP64()), Load(Param(stride), GP64())
		SHLQ(U8(2), step)
		return at, step
	}
	y, stride := follow("y", "stride")
	x, from := follow("x", "from")
	residual, residualStride := follow("residual", "residualStride")
	vector := func(base reg.Register, i int) Mem { return Mem{Base: base, Disp: 4 * l.lanes * i} }
	scales, shifts := l.registers(2), l.registers(2)
	scale, shift := Load(Param("scale"), GP64()), Load(Param("shift"), GP64())
	for i := range 2 {
		VMOVUPS(vector(scale, i), scales[i])
		VMOVUPS(vector(shift, i), shifts[i])
	}
	floor := l.argument("floor")
	Label("row")
	for i := range 2 {
		v := l.register()
		VMOVUPS(vector(x, i), v)
		VFMADD213PS(shifts[i], scales[i], v)
		VADDPS(vector(residual, i), v, v)
		VMAXPS(v, floor, v) // with a NaN the result is the first argument
		VMOVUPS(v, vector(y, i))
	}
	ADDQ(stride, y)
	ADDQ(from, x)
	ADDQ(residualStride, residual)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
