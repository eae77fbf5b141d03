package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// filter sets y[i] to Σ_t window[t] x[i + t stride]. It sums eight vectors at once, then vectors
// one by one, and the last elements with a mask.
func filter() {
	TEXT("filterVectors", NOSPLIT, "func(y, x []float32, stride int, window []float32)")
	y, n, x := base("y"), length("y"), base("x")
	stride, window, taps := argument("stride"), base("window"), length("window")
	SHLQ(U8(2), stride)
	from, w, rest := GP64(), GP64(), GP64()
	mask = nil
	for part, vectors := range []int{8, 1, 1} {
		label := func(name string) string { return fmt.Sprint(name, part) }
		Label(label("begin"))
		if part < 2 {
			SUBQ(U8(8*vectors), n)
			JL(LabelRef(label("next")))
		} else {
			TESTQ(n, n)
			JZ(LabelRef(label("next")))
			mask = maskOf(n)
		}
		sums, factor := make([]reg.VecVirtual, vectors), YMM()
		for i := range sums {
			sums[i] = YMM()
			VXORPS(sums[i], sums[i], sums[i])
		}
		MOVQ(x, from)
		MOVQ(window, w)
		MOVQ(taps, rest)
		JMP(LabelRef(label("test")))
		Label(label("tap"))
		VBROADCASTSS(Mem{Base: w}, factor)
		for i, s := range sums {
			VFMADD231PS(load(Mem{Base: from, Disp: 32 * i}), factor, s)
		}
		ADDQ(U8(4), w)
		ADDQ(stride, from)
		Label(label("test"))
		SUBQ(U8(1), rest)
		JGE(LabelRef(label("tap")))
		for i, s := range sums {
			store(s, Mem{Base: y, Disp: 32 * i})
		}
		if part < 2 {
			ADDQ(U32(32*vectors), x)
			ADDQ(U32(32*vectors), y)
			JMP(LabelRef(label("begin")))
		}
		Label(label("next"))
		if part < 2 {
			ADDQ(U8(8*vectors), n)
		}
	}
	end()
}
