package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// filter sets y[i] to Σ_t window[t] x[i + t stride] for i < n, a multiple of the lanes. It sums
// eight vectors at once, and the remaining vectors one by one.
func (l *level) filter() {
	TEXT("filter"+l.name, NOSPLIT, "func(y, x *float32, n, stride int, window *float32, taps int)")
	y, x, n := argument("y"), argument("x"), argument("n")
	stride, window, taps := argument("stride"), argument("window"), argument("taps")
	SHLQ(U8(2), stride)
	at, w, left := GP64(), GP64(), GP64()
	for _, vectors := range []int{8, 1} {
		begin, tap, next := fmt.Sprintf("begin%d", vectors), fmt.Sprintf("tap%d", vectors), fmt.Sprintf("next%d", vectors)
		Label(begin)
		SUBQ(U32(vectors*l.lanes), n)
		JL(LabelRef(next))
		sums, factor := l.registers(vectors), l.register()
		for _, s := range sums {
			VXORPS(s, s, s)
		}
		MOVQ(x, at)
		MOVQ(window, w)
		MOVQ(taps, left)
		Label(tap)
		VBROADCASTSS(Mem{Base: w}, factor)
		for i, s := range sums {
			VFMADD231PS(l.vector(at, i), factor, s)
		}
		ADDQ(U8(4), w)
		ADDQ(stride, at)
		DECQ(left)
		JNZ(LabelRef(tap))
		for i, s := range sums {
			VMOVUPS(s, l.vector(y, i))
		}
		ADDQ(U32(4*l.lanes*vectors), x)
		ADDQ(U32(4*l.lanes*vectors), y)
		JMP(LabelRef(begin))
		Label(next)
		ADDQ(U32(vectors*l.lanes), n)
	}
	end()
}
