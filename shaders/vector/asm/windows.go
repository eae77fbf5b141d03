package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Fields of windows in windows.go.
const (
	windowsY     = 8 * iota
	windowsStart // 0: none
	windowsX
	windowsWeights
	windowsYStep // bytes, like all distances
	windowsStartStep
	windowsXStep
	windowsPositions
	windowsDone     // positions
	windowsChannels // bytes, a multiple of the lanes
	windowsRows     // of taps
	windowsColumns
	windowsXColumn
	windowsWeightColumn
	windowsXRow
	windowsWeightRow
	windowsLeast
	windowsMost = windowsLeast + 4
)

// mostPositions times two vectors of channels are eight sums, which hide the time of an addition.
const mostPositions = 4

// windows writes the function that computes the sums of vector.windows, and counts down its
// positions. It computes up to four positions at once, one or two vectors of channels at a time.
func (l *level) windows() {
	TEXT("windows"+l.name, NOSPLIT, "func(p *byte)")
	p := argument("p")
	field := func(disp int) Mem { return Mem{Base: p, Disp: disp} }
	least, most := l.register(), l.register()
	VBROADCASTSS(field(windowsLeast), least)
	VBROADCASTSS(field(windowsMost), most)
	for positions := mostPositions; positions > 0; positions-- {
		group, next := fmt.Sprintf("group%d", positions), fmt.Sprintf("next%d", positions)
		Label(group)
		CMPQ(field(windowsPositions), U8(positions))
		JL(LabelRef(next))
		channels := GP64() // channels done so far
		XORQ(channels, channels)
		for vectors := 2; vectors > 0; vectors-- {
			block, done := fmt.Sprintf("block%dx%d", positions, vectors), fmt.Sprintf("done%dx%d", positions, vectors)
			size := 4 * l.lanes * vectors
			Label(block)
			rest := GP64()
			MOVQ(field(windowsChannels), rest)
			SUBQ(channels, rest)
			CMPQ(rest, U32(size))
			JL(LabelRef(done))
			l.windowsBlock(p, channels, positions, vectors, least, most)
			ADDQ(U32(size), channels)
			JMP(LabelRef(block))
			Label(done)
		}
		SUBQ(U8(positions), field(windowsPositions))
		ADDQ(U8(positions), field(windowsDone))
		JMP(LabelRef(group))
		Label(next)
	}
	end()
}

// windowsBlock sums some vectors of channels of some positions.
func (l *level) windowsBlock(p, channels reg.Register, positions, vectors int, least, most reg.VecVirtual) {
	field := func(disp int) Mem { return Mem{Base: p, Disp: disp} }
	label := func(name string) string { return fmt.Sprintf("%s%dx%d", name, positions, vectors) }
	pointer := func(disp int) reg.GPVirtual {
		r := GP64()
		MOVQ(field(disp), r)
		return r
	}
	sums, weights := l.registers(positions*vectors), l.registers(vectors)
	ofPosition := func(slice, distance int) (at, step reg.GPVirtual) {
		at, step = pointer(windowsDone), pointer(distance)
		IMULQ(step, at)
		ADDQ(field(slice), at)
		ADDQ(channels, at)
		return at, step
	}
	each := func(slice, distance int, do func(sum reg.VecVirtual, at Mem)) {
		at, step := ofPosition(slice, distance)
		for i := range positions {
			for v := range vectors {
				do(sums[i*vectors+v], l.vector(at, v))
			}
			if i < positions-1 {
				ADDQ(step, at)
			}
		}
	}
	CMPQ(field(windowsStart), U8(0))
	JE(LabelRef(label("zero")))
	each(windowsStart, windowsStartStep, func(sum reg.VecVirtual, at Mem) { VMOVUPS(at, sum) })
	JMP(LabelRef(label("begin")))
	Label(label("zero"))
	for _, s := range sums {
		VXORPS(s, s, s)
	}
	Label(label("begin"))
	rows := pointer(windowsRows)
	TESTQ(rows, rows)
	JZ(LabelRef(label("end")))
	first, step := ofPosition(windowsX, windowsXStep)
	weight := pointer(windowsWeights)
	ADDQ(channels, weight)
	x := everyThird(first, step, positions)
	xColumn, weightColumn := pointer(windowsXColumn), pointer(windowsWeightColumn)
	Label(label("row"))
	columns := pointer(windowsColumns)
	Label(label("tap"))
	for v, w := range weights {
		VMOVUPS(l.vector(weight, v), w)
	}
	for i := range positions {
		for v, w := range weights {
			at := ofRow(x, step, i)
			at.Disp = 4 * l.lanes * v
			VFMADD231PS(at, w, sums[i*vectors+v])
		}
	}
	for _, x := range x {
		ADDQ(xColumn, x)
	}
	ADDQ(weightColumn, weight)
	DECQ(columns)
	JNZ(LabelRef(label("tap")))
	for _, x := range x {
		ADDQ(field(windowsXRow), x)
	}
	ADDQ(field(windowsWeightRow), weight)
	DECQ(rows)
	JNZ(LabelRef(label("row")))
	Label(label("end"))
	each(windowsY, windowsYStep, func(sum reg.VecVirtual, at Mem) {
		VMAXPS(sum, least, sum) // with a NaN the result is the first argument
		VMINPS(sum, most, sum)
		VMOVUPS(sum, at)
	})
}
