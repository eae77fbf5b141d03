package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose writes or adds the transpose of x (rows, columns), in blocks of 8 × 4 or 4 × 8, as
// far as there are whole blocks. Two blocks of 4 × 4 are side by side in the halves of four
// vectors. Eight interleavings transpose both.
func transpose(rows, columns int) {
	TEXT(fmt.Sprintf("transpose%dx%d", rows, columns), NOSPLIT, "func(y *float32, to int, x *float32, from, rows, columns int, add bool)")
	y, to, x, from := argument("y"), argument("to"), argument("x"), argument("from")
	count, width := argument("rows"), argument("columns")
	SHLQ(U8(2), to)
	SHLQ(U8(2), from)
	add := Load(Param("add"), GP8())
	Label("rows")
	SUBQ(U8(uint8(rows)), count)
	JL(LabelRef("end"))
	in, out, left := everyThird(x, from, rows), everyThird(y, to, columns), GP64()
	for _, all := range [][]reg.Register{in, out} { // x and y themselves stay
		moving := GP64()
		MOVQ(all[0], moving)
		all[0] = moving
	}
	MOVQ(width, left)
	SUBQ(U8(uint8(columns)), left)
	JL(LabelRef("next"))
	Label("columns")
	v := make([]reg.VecVirtual, 4)
	for i := range v {
		v[i] = YMM()
		if rows == 4 {
			VMOVUPS(ofRow(in, from, i), v[i])
		} else {
			VMOVUPS(ofRow(in, from, i), v[i].AsX())
			VINSERTF128(U8(1), ofRow(in, from, i+4), v[i], v[i])
		}
	}
	v = interleaved(v)
	TESTB(add, add)
	JZ(LabelRef("store"))
	for i := range v {
		if columns == 4 {
			VADDPS(ofRow(out, to, i), v[i], v[i])
		} else {
			there := YMM()
			VMOVUPS(ofRow(out, to, i), there.AsX())
			VINSERTF128(U8(1), ofRow(out, to, i+4), there, there)
			VADDPS(there, v[i], v[i])
		}
	}
	Label("store")
	for i := range v {
		if columns == 4 {
			VMOVUPS(v[i], ofRow(out, to, i))
		} else {
			VMOVUPS(v[i].AsX(), ofRow(out, to, i))
			VEXTRACTF128(U8(1), v[i], ofRow(out, to, i+4))
		}
	}
	for _, a := range in {
		ADDQ(U8(uint8(4*columns)), a)
	}
	step := GP64()
	MOVQ(to, step)
	SHLQ(U8(map[int]uint8{4: 2, 8: 3}[columns]), step)
	for _, a := range out {
		ADDQ(step, a)
	}
	SUBQ(U8(uint8(columns)), left)
	JGE(LabelRef("columns"))
	Label("next")
	step = GP64()
	MOVQ(from, step)
	SHLQ(U8(map[int]uint8{4: 2, 8: 3}[rows]), step)
	ADDQ(step, x)
	ADDQ(U8(uint8(4*rows)), y)
	JMP(LabelRef("rows"))
	Label("end")
	end()
}

// interleaved returns the columns of the 4 × 4 blocks in the halves of four rows.
func interleaved(v []reg.VecVirtual) []reg.VecVirtual {
	pairs, all := make([]reg.VecVirtual, 4), make([]reg.VecVirtual, 4)
	for i := range pairs {
		pairs[i], all[i] = YMM(), YMM()
	}
	VUNPCKLPS(v[1], v[0], pairs[0])
	VUNPCKHPS(v[1], v[0], pairs[1])
	VUNPCKLPS(v[3], v[2], pairs[2])
	VUNPCKHPS(v[3], v[2], pairs[3])
	VUNPCKLPD(pairs[2], pairs[0], all[0])
	VUNPCKHPD(pairs[2], pairs[0], all[1])
	VUNPCKLPD(pairs[3], pairs[1], all[2])
	VUNPCKHPD(pairs[3], pairs[1], all[3])
	return all
}
