package main

import (
	"maps"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// These return a register with eight results. An operand is a register or a constant in memory.
var (
	add, sub, mul, div = binary(VADDPS), binary(VSUBPS), binary(VMULPS), binary(VDIVPS)
	subIntegers        = binary(VPSUBD)
	maximum, minimum   = binary(VMAXPS), binary(VMINPS) // with a NaN: the second operand

	equal, less, atMost, unequal = compare(0), compare(1), compare(2), compare(4)
)

func binary(do func(...Op)) func(a, b Op) Op {
	return func(a, b Op) Op {
		v := YMM()
		do(b, held(a), v)
		return v
	}
}

func compare(how uint8) func(a, b Op) Op {
	return binary(func(o ...Op) { VCMPPS(U8(how), o[0], o[1], o[2]) })
}

// held is v in a register.
func held(v Op) Op {
	if _, memory := v.(Mem); memory {
		return copied(v)
	}
	return v
}

func copied(v Op) Op {
	r := YMM()
	VMOVUPS(v, r)
	return r
}

// mulAdd is a b + c, rounded once.
func mulAdd(a, b, c Op) Op {
	v := copied(a)
	VFMADD213PS(c, held(b), v)
	return v
}

// where is yes where the mask is set, and otherwise no.
func where(mask, yes, no Op) Op {
	v := YMM()
	VBLENDVPS(mask, yes, held(no), v)
	return v
}

// shift shifts integers by the bits of a float32's fraction.
func shift(do func(...Op), v Op) Op {
	r := YMM()
	do(U8(23), v, r)
	return r
}

// The function that is being written.
var (
	pointers, indices map[string]reg.Register // an address, and the index of the next eight elements
	values            constants               // by name: numbers in all lanes
	at, left          reg.Register            // the index in most slices, and the elements left
	column, row       reg.Register            // the index in slices of one row, and their length
	mask              Op                      // of the last elements; nil: all eight
	masks             Mem
)

func address(slice string) Mem { return Mem{Base: pointers[slice], Index: indices[slice], Scale: 4} }

// of is eight elements of a slice, or a number.
func of(name string) Op {
	if pointers[name] == nil {
		return values[name]
	}
	return held(load(address(name)))
}

// put writes eight elements of a slice.
func put(slice string, v Op) { store(v, address(slice)) }

// load is the eight elements at an address.
func load(at Mem) Op {
	if mask == nil {
		return at
	}
	v := YMM()
	VMASKMOVPS(at, mask, v)
	return v
}

func store(v Op, at Mem) {
	if mask == nil {
		VMOVUPS(v, at)
	} else {
		VMASKMOVPS(v, mask, at)
	}
}

// function begins a function of slices as long as the first one, and numbers. It returns the first
// slice. Slices after a semicolon have one row, and the others rows as long, of a multiple of eight
// elements.
func function(c constants, name, parameters, result string) (first string) {
	TEXT(name+"Vectors", NOSPLIT, "func("+strings.Replace(parameters, ";", ",", 1)+")"+result)
	names, numbers, _ := strings.Cut(parameters, " []float32")
	names, ofRow, hasRows := strings.Cut(names, "; ")
	pointers, indices, values = map[string]reg.Register{}, map[string]reg.Register{}, maps.Clone(c)
	add := func(names string) (index, count reg.Register) {
		index = GP64()
		XORQ(index, index)
		for i, name := range strings.Split(names, ", ") {
			pointers[name], indices[name] = base(name), index
			if i == 0 {
				count = length(name)
			}
		}
		return index, count
	}
	mask, column = nil, nil
	at, left = add(names)
	if hasRows {
		column, row = add(ofRow)
	}
	for _, name := range strings.Fields(strings.NewReplacer(",", "", "float32", "").Replace(numbers)) {
		values[name] = everywhere(YMM(), name)
	}
	first, _, _ = strings.Cut(names, ", ")
	return first
}

// turns runs do for eight elements at a time, and with a mask for the last ones.
func turns(do func()) {
	JMP(LabelRef("next"))
	Label("turn")
	do()
	ADDQ(U8(8), at)
	if column != nil {
		ADDQ(U8(8), column)
		CMPQ(column, row)
		JNE(LabelRef("next"))
		XORQ(column, column)
	}
	Label("next")
	SUBQ(U8(8), left)
	JGE(LabelRef("turn"))
	if column == nil {
		ADDQ(U8(8), left)
		JZ(LabelRef("end"))
		mask = maskOf(left)
		do()
	}
	Label("end")
}

// maskOf is the mask of n elements, below eight. It changes n.
func maskOf(n reg.Register) Op {
	table, m := GP64(), YMM()
	LEAQ(masks, table)
	NEGQ(n)
	VMOVUPS(Mem{Base: table, Index: n, Scale: 4, Disp: 32}, m)
	return m
}

// newMasks has the mask of eight elements, and then the mask of none.
func newMasks() Mem {
	m := GLOBL("masks", RODATA|NOPTR)
	for lane := range 16 {
		DATA(4*lane, U32(uint32(lane/8)-1))
	}
	return m
}

// each writes a function that sets the first slice to do.
func each(c constants, name, parameters string, do func() Op) {
	first := function(c, name, parameters, "")
	turns(func() { put(first, do()) })
	end()
}

// fold writes a function that returns the sum of all lanes. do adds eight elements to a sum.
func fold(c constants, name, parameters string, do func(sum Op) Op) {
	function(c, name, parameters, " float32")
	sum := YMM()
	VXORPS(sum, sum, sum)
	turns(func() { VMOVUPS(do(sum), sum) })
	Store(together(sum), ReturnIndex(0))
	end()
}

// together is the sum of eight lanes, in the first.
func together(sum reg.VecVirtual) reg.VecVirtual {
	half := XMM()
	VEXTRACTF128(U8(1), sum, half)
	VADDPS(half, sum.AsX(), half)
	VHADDPS(half, half, half)
	VHADDPS(half, half, half)
	return half
}

// layerNorm writes LayerNorm of rows of n elements, a multiple of eight.
func layerNorm() {
	TEXT("layerNormRows", NOSPLIT, "func(y, x, scale, bias *float32, rows, n int, eps float32, mean, r *float32)")
	y, x, scale, bias, rows, n := argument("y"), argument("x"), argument("scale"), argument("bias"), argument("rows"), argument("n")
	means, deviations, at, one := argument("mean"), argument("r"), GP64(), GP64()
	eps, count, first := XMM(), XMM(), XMM()
	Load(Param("eps"), eps)
	VXORPS(count, count, count)
	VCVTSI2SSQ(n, count, count)
	SHLQ(U8(2), n)
	MOVQ(U32(1), one)
	VXORPS(first, first, first)
	VCVTSI2SSQ(one, first, first)
	row := func(label string, do func(x Mem)) {
		XORQ(at, at)
		Label(label)
		do(Mem{Base: x, Index: at, Scale: 1})
		ADDQ(U8(32), at)
		CMPQ(at, n)
		JNE(LabelRef(label))
	}
	Label("row")
	sum, mean, r, d := YMM(), YMM(), YMM(), YMM()
	VXORPS(sum, sum, sum)
	row("sum", func(x Mem) { VADDPS(x, sum, sum) })
	m := together(sum)
	VDIVSS(count, m, m)
	VMOVSS(m, Mem{Base: means})
	VBROADCASTSS(m, mean)
	VXORPS(sum, sum, sum)
	row("squares", func(x Mem) {
		VMOVUPS(x, d)
		VSUBPS(mean, d, d)
		VFMADD231PS(d, d, sum)
	})
	v := together(sum)
	VDIVSS(count, v, v)
	VADDSS(eps, v, v)
	VSQRTSS(v, v, v)
	VDIVSS(v, first, v)
	VMOVSS(v, Mem{Base: deviations})
	VBROADCASTSS(v, r)
	row("result", func(x Mem) {
		VMOVUPS(x, d)
		VSUBPS(mean, d, d)
		VMULPS(r, d, d)
		VMOVUPS(Mem{Base: bias, Index: at, Scale: 1}, sum)
		VFMADD231PS(Mem{Base: scale, Index: at, Scale: 1}, d, sum)
		VMOVUPS(sum, Mem{Base: y, Index: at, Scale: 1})
	})
	for _, a := range []reg.Register{x, y} {
		ADDQ(n, a)
	}
	for _, a := range []reg.Register{means, deviations} {
		ADDQ(U8(4), a)
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
	end()
}
