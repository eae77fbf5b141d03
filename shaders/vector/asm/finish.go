package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// finishRows computes y = max(floor, x scale + shift + residual) for rows of one or two vectors.
// stride, from and residualStride are the distances between rows of y, x and residual in elements.
// scale and shift have one row.
func (l *level) finishRows(vectors int) {
	TEXT(fmt.Sprintf("finishRows%sx%d", l.name, vectors), NOSPLIT,
		"func(rows int, y *float32, stride int, x *float32, from int, scale, shift, residual *float32, residualStride int, floor float32)")
	rows := argument("rows")
	follow := func(slice, stride string) (at, step reg.Register) {
		at, step = argument(slice), argument(stride)
		SHLQ(U8(2), step)
		return at, step
	}
	y, stride := follow("y", "stride")
	x, from := follow("x", "from")
	residual, residualStride := follow("residual", "residualStride")
	scales, shifts := l.registers(vectors), l.registers(vectors)
	scale, shift := argument("scale"), argument("shift")
	for i := range vectors {
		VMOVUPS(l.vector(scale, i), scales[i])
		VMOVUPS(l.vector(shift, i), shifts[i])
	}
	floor := l.everywhere("floor")
	Label("row")
	for i := range vectors {
		v := l.register()
		VMOVUPS(l.vector(x, i), v)
		VFMADD213PS(shifts[i], scales[i], v)
		VADDPS(l.vector(residual, i), v, v)
		VMAXPS(v, floor, v) // with a NaN the result is the first argument
		VMOVUPS(v, l.vector(y, i))
	}
	ADDQ(stride, y)
	ADDQ(from, x)
	ADDQ(residualStride, residual)
	DECQ(rows)
	JNZ(LabelRef("row"))
	end()
}
