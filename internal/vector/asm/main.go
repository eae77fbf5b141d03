// Command asm writes the matrix products of package vector in assembly: the compiler keeps too few
// sums in registers. "go generate ./internal/vector" runs it.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// level is a set of instructions: a block has two vectors of columns and at most so many rows, whose
// sums, with two vectors of the right factor and two of the left, fit into the registers.
type level struct {
	name, vector string
	lanes, rows  int
	register     func() reg.VecVirtual
}

func main() {
	ConstraintExpr("amd64")
	for _, l := range []level{
		{"AVX2", "eight", 8, 6, YMM},
		{"AVX512", "sixteen", 16, 12, ZMM},
	} {
		for rows := 1; rows <= l.rows; rows++ {
			l.product(rows)
		}
	}
	Generate()
}

// product is c (rows, 2 lanes) = or += a (rows, k) times b (k, 2 lanes).
func (l *level) product(rows int) {
	name := fmt.Sprintf("product%sx%d", l.name, rows)
	TEXT(name, NOSPLIT, "func(k int, a *float32, row, step int, b, c *float32, stride int, add bool)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s sums k products for %d rows of two vectors of %s.", name, rows, l.vector))
	k := Load(Param("k"), GP64())
	a := []reg.Register{Load(Param("a"), GP64())} // of every third row
	row, step := Load(Param("row"), GP64()), Load(Param("step"), GP64())
	b, c, stride := Load(Param("b"), GP64()), Load(Param("c"), GP64()), Load(Param("stride"), GP64())
	SHLQ(U8(2), row)
	SHLQ(U8(2), step)
	SHLQ(U8(2), stride)
	for r := 3; r < rows; r += 3 {
		next := GP64()
		LEAQ(Mem{Base: a[len(a)-1], Index: row, Scale: 2}, next)
		ADDQ(row, next)
		a = append(a, next)
	}
	sums := make([]reg.VecVirtual, 2*rows)
	for i := range sums {
		sums[i] = l.register()
	}
	each := func(do func(i int, at Mem)) { // c's vectors, row by row
		to := GP64()
		MOVQ(c, to)
		for r := range rows {
			do(2*r, Mem{Base: to})
			do(2*r+1, Mem{Base: to, Disp: 4 * l.lanes})
			if r < rows-1 {
				ADDQ(stride, to)
			}
		}
	}
	add := Load(Param("add"), GP8())
	TESTB(add, add)
	JZ(LabelRef("zero"))
	each(func(i int, at Mem) { VMOVUPS(at, sums[i]) })
	JMP(LabelRef("begin"))
	Label("zero")
	for _, s := range sums {
		VXORPS(s, s, s)
	}
	Label("begin")
	TESTQ(k, k)
	JZ(LabelRef("end"))
	Label("term")
	left, right := l.register(), l.register()
	VMOVUPS(Mem{Base: b}, left)
	VMOVUPS(Mem{Base: b, Disp: 4 * l.lanes}, right)
	x := []reg.VecVirtual{l.register(), l.register()}
	for r := range rows {
		at := Mem{Base: a[r/3]}
		if r%3 > 0 {
			at.Index, at.Scale = row, uint8(r%3)
		}
		VBROADCASTSS(at, x[r%2])
		VFMADD231PS(left, x[r%2], sums[2*r])
		VFMADD231PS(right, x[r%2], sums[2*r+1])
	}
	ADDQ(U32(8*l.lanes), b)
	for _, a := range a {
		ADDQ(step, a)
	}
	DECQ(k)
	JNZ(LabelRef("term"))
	Label("end")
	each(func(i int, at Mem) { VMOVUPS(sums[i], at) })
	VZEROUPPER()
	RET()
}
