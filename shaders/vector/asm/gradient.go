package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// expGradients replaces every x (rows, 2 lanes) by w = e^(scale x + shift) and every d by
// scale w (d − delta). shift and delta are by column, or by row.
func (l *level) expGradients(c constants) {
	for _, columns := range []bool{true, false} {
		name := "expGradientRows" + l.name
		if columns {
			name = "expGradientColumns" + l.name
		}
		TEXT(name, NOSPLIT, "func(x, d *float32, rows int, scale float32, shift, delta *float32)")
		x, d, rows, shift, delta := argument("x"), argument("d"), argument("rows"), argument("shift"), argument("delta")
		c := c.inRegisters(l)
		scale := l.everywhere("scale")
		shifts, deltas := l.registers(2), l.registers(2)
		if columns {
			for i := range 2 {
				VMOVUPS(l.vector(shift, i), shifts[i])
				VMOVUPS(l.vector(delta, i), deltas[i])
			}
		}
		Label("row")
		for i := range 2 {
			v, of := l.register(), l.register()
			x, d := l.vector(x, i), l.vector(d, i)
			if columns {
				VMOVUPS(shifts[i], v)
			} else {
				VBROADCASTSS(Mem{Base: shift}, v)
				VBROADCASTSS(Mem{Base: delta}, deltas[i])
			}
			VFMADD231PS(x, scale, v)
			l.exp(c, v)
			VMOVUPS(v, x)
			VMOVUPS(d, of)
			VSUBPS(deltas[i], of, of)
			VMULPS(scale, v, v)
			VMULPS(v, of, of)
			VMOVUPS(of, d)
		}
		ADDQ(U32(8*l.lanes), x)
		ADDQ(U32(8*l.lanes), d)
		if !columns {
			ADDQ(U8(4), shift)
			ADDQ(U8(4), delta)
		}
		DECQ(rows)
		JNZ(LabelRef("row"))
		end()
	}
}
