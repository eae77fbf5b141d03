package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fixedConstants are the numbers of bytes.go.
func fixedConstants() constants {
	return newConstants("int8_", float("most", 1<<23), float("least", -1<<23), number{"half", 128},
		number{"smallest", 0xFFFFFF81}, float("mostSteps", 127), float("leastSteps", -127), number{"zero", 0x80808080})
}

// dots computes start (2 lanes) plus the products of 32-bit words of a (rows, parts, k) and b
// (parts, k, 2 lanes). A word has four bytes, unsigned in a, or two 16-bit integers. row and part
// are the distances between rows and parts of a in bytes.
func (l *level) dots(rows int) {
	TEXT(fmt.Sprintf("dots%sx%d", l.name, rows), NOSPLIT, "func(k, parts, part int, a *byte, row int, b *byte, start, c *int32, stride int)")
	start := argument("start")
	sums := l.registers(2 * rows)
	l.move(l.vector(start, 0), sums[0])
	l.move(l.vector(start, 1), sums[1])
	for i := 2; i < len(sums); i++ {
		l.move(sums[i%2], sums[i])
	}
	k, parts, part, row := argument("k"), argument("parts"), argument("part"), argument("row")
	a := everyThird(argument("a"), row, rows)
	b, words := argument("b"), GP64()
	MOVQ(k, words)
	SHLQ(U8(2), words)
	SUBQ(words, part) // from the end of a part to the next one
	Label("part")
	MOVQ(k, words)
	Label("term")
	left, right, x, products := l.register(), l.register(), l.register(), l.register()
	l.move(l.vector(b, 0), left)
	l.move(l.vector(b, 1), right)
	for r := range rows {
		VPBROADCASTD(ofRow(a, row, r), x)
		for i, w := range []reg.VecVirtual{left, right} {
			if l.lanes == 16 {
				VPDPBUSD(w, x, sums[2*r+i])
			} else {
				VPMADDWD(w, x, products)
				VPADDD(products, sums[2*r+i], sums[2*r+i])
			}
		}
	}
	ADDQ(U32(8*l.lanes), b)
	for _, a := range a {
		ADDQ(U8(4), a)
	}
	DECQ(words)
	JNZ(LabelRef("term"))
	for _, a := range a {
		ADDQ(part, a)
	}
	DECQ(parts)
	JNZ(LabelRef("part"))
	c, stride := argument("c"), argument("stride")
	SHLQ(U8(2), stride)
	l.eachVector(c, stride, rows, func(i int, at Mem) { l.move(sums[i], at) })
	end()
}

// Fields of finishing in finish_int8.go.
const (
	finishSums   = 8 * iota
	finishStride // elements
	finishY      // int8 or float32
	finishStep   // elements
	finishRows
	finishColumns // a multiple of the lanes
	finishBy
	finishStart     // int32 or float32
	finishResidual  // 0: none
	finishResidual8 // 0: none
	finishResidualBy
	finishShortcut // 0: none
	finishShortcutBy
	finishShift
	finishReLU
)

// finish finishes sums, as vector.finishing describes, to int8 or floats. The outer loop goes over
// vectors of columns, the inner loop over rows.
func (l *level) finish(c constants, fixed bool) {
	kind := "Floats"
	if fixed {
		kind = "Fixed"
	}
	TEXT("finish"+kind+l.name, NOSPLIT, "func(p *byte)")
	p := argument("p")
	field := func(disp int) Mem { return Mem{Base: p, Disp: disp} }
	pointer := func(disp int) reg.GPVirtual {
		r := GP64()
		MOVQ(field(disp), r)
		return r
	}
	shift, least := XMM(), l.register()
	VMOVQ(field(finishShift), shift)
	VPXOR(least.AsX(), least.AsX(), least.AsX())
	CMPQ(field(finishReLU), U8(0))
	JNE(LabelRef("begin"))
	bound := uint32(0x80000000)
	if !fixed {
		bound = math.Float32bits(float32(math.Inf(-1)))
	}
	word := GP32()
	MOVL(U32(bound), word)
	VMOVD(word, least.AsX())
	VPBROADCASTD(least.AsX(), least)
	Label("begin")
	column, columns := GP64(), pointer(finishColumns)
	XORQ(column, column)
	by, start, residualBy, shortcutBy := l.register(), l.register(), l.register(), l.register()
	Label("column")
	CMPQ(column, columns)
	JGE(LabelRef("end"))
	at := func(disp int, to reg.VecVirtual) { VMOVUPS(Mem{Base: pointer(disp), Index: column, Scale: 4}, to) }
	at(finishBy, by)
	at(finishStart, start)
	at(finishResidualBy, residualBy)
	at(finishShortcutBy, shortcutBy)
	sums, y, rows := pointer(finishSums), pointer(finishY), pointer(finishRows)
	LEAQ(Mem{Base: sums, Index: column, Scale: 4}, sums)
	size := uint8(4)
	if fixed {
		size = 1
	}
	LEAQ(Mem{Base: y, Index: column, Scale: size}, y)
	stride, step := pointer(finishStride), pointer(finishStep)
	SHLQ(U8(2), stride)
	residual, residual8, shortcut := pointer(finishResidual), pointer(finishResidual8), pointer(finishShortcut)
	place := GP64() // index of the row in y, residual and shortcut
	MOVQ(column, place)
	Label("row")
	v, t := l.register(), l.register()
	l.move(Mem{Base: sums}, v)
	VPSRAD(shift, v, v)
	VCVTDQ2PS(v, v)
	toFixed := func(v reg.VecVirtual) {
		VMINPS(c["most"], v, v)
		VMAXPS(c["least"], v, v)
		VCVTPS2DQ(v, v)
	}
	if fixed {
		VMULPS(by, v, v)
		toFixed(v)
		VPADDD(start, v, v)
	} else {
		VFMADD213PS(start, by, v)
	}
	addScaled := func(by reg.VecVirtual) {
		if fixed {
			VMULPS(by, t, t)
			toFixed(t)
			VPADDD(t, v, v)
		} else {
			VFMADD231PS(t, by, v)
		}
	}
	TESTQ(residual, residual)
	JZ(LabelRef("noResidual"))
	VMOVUPS(Mem{Base: residual, Index: place, Scale: 4}, t)
	addScaled(residualBy)
	Label("noResidual")
	TESTQ(residual8, residual8)
	JZ(LabelRef("noResidual8"))
	VPMOVSXBD(Mem{Base: residual8, Index: place, Scale: 1}, t)
	VCVTDQ2PS(t, t)
	addScaled(residualBy)
	Label("noResidual8")
	if fixed {
		VPMAXSD(least, v, v)
	} else {
		VMAXPS(v, least, v) // with a NaN the result is the first argument
	}
	TESTQ(shortcut, shortcut)
	JZ(LabelRef("noShortcut"))
	VMOVUPS(Mem{Base: shortcut, Index: place, Scale: 4}, t)
	addScaled(shortcutBy)
	Label("noShortcut")
	if fixed {
		VPADDD(c["half"], v, v)
		VPSRAD(U8(8), v, v)
		VPMAXSD(c["smallest"], v, v)
		l.storeBytes(v, Mem{Base: y})
		ADDQ(step, y)
	} else {
		VMOVUPS(v, Mem{Base: y})
		LEAQ(Mem{Base: y, Index: step, Scale: 4}, y)
	}
	ADDQ(stride, sums)
	ADDQ(step, place)
	DECQ(rows)
	JNZ(LabelRef("row"))
	ADDQ(U8(l.lanes), column)
	JMP(LabelRef("column"))
	Label("end")
	end()
}

// storeBytes stores integers as int8. It clamps those above 127, and overwrites v.
func (l *level) storeBytes(v reg.VecVirtual, to Mem) {
	if l.lanes == 16 {
		VPMOVSDB(v, to)
		return
	}
	high := XMM()
	VPACKSSDW(v, v, v)
	VEXTRACTI128(U8(1), v, high)
	VPACKSSWB(v.AsX(), v.AsX(), v.AsX())
	VPACKSSWB(high, high, high)
	VPUNPCKLDQ(high, v.AsX(), v.AsX())
	VMOVQ(v.AsX(), to)
}

// convert writes a function that computes n elements of one slice from those of another. n is a
// multiple of turn. toSize and fromSize are the sizes of elements in bytes. begin, if not nil,
// loads further parameters.
func (l *level) convert(name, parameters string, turn, toSize, fromSize int, begin func(), do func(to, from Mem)) {
	TEXT(name+l.name, NOSPLIT, parameters)
	to, from, n := argument("to"), argument("from"), argument("n")
	if begin != nil {
		begin()
	}
	TESTQ(n, n)
	JZ(LabelRef("end"))
	Label("turn")
	do(Mem{Base: to}, Mem{Base: from})
	ADDQ(U32(turn*toSize), to)
	ADDQ(U32(turn*fromSize), from)
	SUBQ(U32(turn), n)
	JNZ(LabelRef("turn"))
	Label("end")
	end()
}

func (l *level) conversions(c constants) {
	var factor reg.VecVirtual
	load := func() { factor = l.everywhere("factor") }
	l.convert("quantize", "func(to *int8, from *float32, n int, factor float32)", l.lanes, 1, 4, load, func(to, from Mem) {
		v := l.register()
		VMULPS(from, factor, v)
		VMINPS(c["mostSteps"], v, v)
		VMAXPS(c["leastSteps"], v, v)
		VCVTPS2DQ(v, v)
		l.storeBytes(v, to)
	})
	l.convert("floats", "func(to *float32, from *int8, n int)", l.lanes, 4, 1, nil, func(to, from Mem) {
		v := l.register()
		VPMOVSXBD(from, v)
		VCVTDQ2PS(v, v)
		VMOVUPS(v, to)
	})
	if l.lanes == 16 {
		l.convert("words", "func(to *byte, from *int8, n int)", 64, 1, 1, nil, func(to, from Mem) {
			v := l.register()
			l.move(from, v)
			VPXORD(c["zero"], v, v)
			l.move(v, to)
		})
		return
	}
	l.convert("words", "func(to *byte, from *int8, n int)", 16, 2, 1, nil, func(to, from Mem) {
		v := l.register()
		VPMOVSXBW(from, v)
		l.move(v, to)
	})
}

// softmaxConstants are the ends of exponents, the number that turns a whole exponent into that of
// a float32, and the coefficients of a polynomial for 2^x, |x| ≤ ½.
func softmaxConstants() constants {
	return newConstants("softmax_", float("least", -125), float("most", 125), float("exponent", 3<<22+127), float("c0", 1), float("c1", 0.69314694), float("c2", 0.2402212),
		float("c3", 0.05550713), float("c4", 0.009675541), float("c5", 0.0013276472))
}

// softmax replaces every 32-bit integer x (rows, 2 lanes) by the float32
// 2^(scale (x − the largest of its column)), and adds up the results by column.
func (l *level) softmax(c constants) {
	TEXT("softmax"+l.name, NOSPLIT, "func(x *int32, rows int, scale float32, total *float32)")
	x, rows := argument("x"), argument("rows")
	scale := l.everywhere("scale")
	most, totals := l.registers(2), l.registers(2)
	for i, m := range most {
		l.move(l.vector(x, i), m)
		VXORPS(totals[i], totals[i], totals[i])
	}
	from, left := GP64(), GP64()
	MOVQ(x, from)
	MOVQ(rows, left)
	Label("row")
	for i, m := range most {
		VPMAXSD(l.vector(from, i), m, m)
	}
	ADDQ(U32(8*l.lanes), from)
	DECQ(left)
	JNZ(LabelRef("row"))
	Label("power")
	for i, m := range most {
		v, n, whole, e := l.register(), l.register(), l.register(), l.register()
		l.move(l.vector(x, i), v)
		VPSUBD(m, v, v)
		VCVTDQ2PS(v, v)
		VMULPS(scale, v, v)
		VMAXPS(c["least"], v, v)
		VCVTPS2DQ(v, n)
		VCVTDQ2PS(n, whole)
		VSUBPS(whole, v, v)
		l.move(c["c5"], e)
		for _, name := range []string{"c4", "c3", "c2", "c1", "c0"} {
			VFMADD213PS(c[name], v, e)
		}
		VPSLLD(U8(23), n, n)
		VPADDD(n, e, e)
		VMOVUPS(e, l.vector(x, i))
		VADDPS(e, totals[i], totals[i])
	}
	ADDQ(U32(8*l.lanes), x)
	DECQ(rows)
	JNZ(LabelRef("power"))
	total := argument("total")
	for i, t := range totals {
		VMOVUPS(t, l.vector(total, i))
	}
	end()
}
