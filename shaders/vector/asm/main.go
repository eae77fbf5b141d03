// Command asm writes the assembly of package vector, above all its matrix products: the compiler
// keeps too few sums in registers. "go generate ./shaders/vector" runs it. Arguments escape, but
// their memory is on the heap anyway: go:noescape would change nothing.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// level is a set of instructions. A block has two vectors of columns and up to rows rows. Its sums,
// two vectors of the right factor and two of the left one fit into the registers.
type level struct {
	name        string
	lanes, rows int
	register    func() reg.VecVirtual
}

func main() {
	c, fixed, powers, tiles := expConstants(), fixedConstants(), softmaxConstants(), winogradConstants()
	masks = newMasks()
	for _, l := range []level{
		{"AVX2", 8, 6, YMM},
		{"AVX512", 16, 12, ZMM},
	} {
		for rows := 1; rows <= l.rows; rows++ {
			l.product(rows)
			l.dots(rows)
		}
		l.expColumns(powers)
		l.expGradients(c)
		l.maxOfColumns()
		l.finishRows(2)
		l.finishRows(1)
		l.finish(fixed, true)
		l.finish(fixed, false)
		l.conversions(fixed)
		l.softmax(powers)
		l.windows()
		l.winograd(tiles)
		if l.lanes == 8 {
			l.elements(c, elementConstants())
		} else {
			l.attend(powers, 4)
		}
	}
	filter()
	layerNorm()
	transpose(8, 4)
	transpose(4, 8)
	Generate()
}

// move loads or stores integers.
func (l *level) move(from, to Op) {
	if l.lanes == 16 {
		VMOVDQU32(from, to)
	} else {
		VMOVDQU(from, to)
	}
}

// vector is the address of a vector, i vectors after base.
func (l *level) vector(base reg.Register, i int) Mem { return Mem{Base: base, Disp: 4 * l.lanes * i} }

// argument loads an integer or a pointer, base and length load those of a slice, and everywhere
// loads a number into all lanes.
func argument(name string) reg.Register { return Load(Param(name), GP64()) }
func base(name string) reg.Register     { return Load(Param(name).Base(), GP64()) }
func length(name string) reg.Register   { return Load(Param(name).Len(), GP64()) }

func (l *level) everywhere(name string) reg.VecVirtual { return everywhere(l.register(), name) }

func everywhere(v reg.VecVirtual, name string) reg.VecVirtual {
	at, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(at.Addr, v)
	return v
}

// end ends a function.
func end() {
	VZEROUPPER()
	RET()
}

// registers allocates n registers.
func (l *level) registers(n int) []reg.VecVirtual {
	all := make([]reg.VecVirtual, n)
	for i := range all {
		all[i] = l.register()
	}
	return all
}

// eachVector calls do for every vector of c, row by row.
func (l *level) eachVector(c, stride reg.Register, rows int, do func(i int, at Mem)) {
	to := GP64()
	MOVQ(c, to)
	for r := range rows {
		do(2*r, l.vector(to, 0))
		do(2*r+1, l.vector(to, 1))
		if r < rows-1 {
			ADDQ(stride, to)
		}
	}
}

// everyThird returns the addresses of every third row. ofRow adds one or two rows to them.
func everyThird(a, row reg.Register, rows int) []reg.Register {
	all := []reg.Register{a}
	for r := 3; r < rows; r += 3 {
		next := GP64()
		LEAQ(Mem{Base: all[len(all)-1], Index: row, Scale: 2}, next)
		ADDQ(row, next)
		all = append(all, next)
	}
	return all
}

// ofRow is the address of a row's element.
func ofRow(a []reg.Register, row reg.Register, r int) Mem {
	at := Mem{Base: a[r/3]}
	if r%3 > 0 {
		at.Index, at.Scale = row, uint8(r%3)
	}
	return at
}

// product is c (rows, 2 lanes) = or += a (rows, k) times b (k, 2 lanes).
func (l *level) product(rows int) {
	TEXT(fmt.Sprintf("product%sx%d", l.name, rows), NOSPLIT, "func(k int, a *float32, row, step int, b, c *float32, stride int, add bool)")
	k, first, row, step := argument("k"), argument("a"), argument("row"), argument("step")
	b, c, stride := argument("b"), argument("c"), argument("stride")
	SHLQ(U8(2), row)
	SHLQ(U8(2), step)
	SHLQ(U8(2), stride)
	a := everyThird(first, row, rows)
	sums := l.registers(2 * rows)
	add := Load(Param("add"), GP8())
	TESTB(add, add)
	JZ(LabelRef("zero"))
	l.eachVector(c, stride, rows, func(i int, at Mem) { VMOVUPS(at, sums[i]) })
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
	VMOVUPS(l.vector(b, 0), left)
	VMOVUPS(l.vector(b, 1), right)
	x := []reg.VecVirtual{l.register(), l.register()}
	for r := range rows {
		VBROADCASTSS(ofRow(a, row, r), x[r%2])
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
	l.eachVector(c, stride, rows, func(i int, at Mem) { VMOVUPS(sums[i], at) })
	end()
}
