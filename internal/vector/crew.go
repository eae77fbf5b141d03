package vector

import (
	"math"
	"runtime"
	"unsafe"
)

// Calls are what a piece of work computes, one call after the other: at once where it is nil, else
// when a thread of the Crew comes to it. What they work on then lies on the heap, is not changed
// before the piece is finished, and what they write is read by nobody else.
type Calls struct{ slot, count int }

// MultiplyPart is that of m.
func (c *Calls) MultiplyPart(m *Matrix, part Part, a Left, sums []float32, stride int, add bool) {
	if c == nil || a.Lines*a.Rows == 0 || part.Terms == 0 {
		m.MultiplyPart(part, a, sums, stride, add)
		return
	}
	adds := int32(0)
	if add {
		adds = 1
	}
	c.call(callMultiply, at(m.data), int32(m.k), int32(part.First), int32(part.Terms), int32(part.Panel), int32(part.Panels),
		at(a.Values), int32(a.Lines), int32(a.Rows), int32(a.Line), int32(a.Row), int32(a.Step),
		at(sums), int32(stride), adds, int32(m.level.terms))
}

// Multiply is that of m, by all of it.
func (c *Calls) Multiply(m *Matrix, rows int, a []float32, row, step int, sums []float32, stride int, add bool) {
	c.MultiplyPart(m, Part{0, m.k, 0, m.Panels()}, Left{a, 1, rows, 0, row, step}, sums, stride, add)
}

func (c *Calls) MaxOfColumns(most, x []float32) {
	if c == nil {
		MaxOfColumns(most, x)
		return
	}
	c.call(callMax, at(x), at(most), int32(len(x)/len(most)))
}

func (c *Calls) AddScaled(y, x []float32, s float32) {
	if c == nil {
		AddScaled(y, x, s)
		return
	}
	c.call(callAddScaled, at(y), at(x), int32(len(y)), int32(math.Float32bits(s)))
}

func (c *Calls) ExpColumns(x []float32, scale float32, shift, total []float32) {
	if c == nil {
		ExpColumns(x, scale, shift, total)
		return
	}
	c.call(callExp, at(x), at(shift), at(total), int32(len(x)/len(shift)), int32(math.Float32bits(scale)))
}

// Crew are threads that compute beside the only one that Go has in WebAssembly, on its memory, where
// that is shared. site/vectors.js starts and runs them.
type Crew struct {
	flying int // pieces handed out and not finished
	slots  [mostFlying]struct {
		calls Calls
		state int
		holds any
	}
}

// Of a slot.
const (
	free = iota
	flying
	late // its piece was given up; a thread may still write what that writes
)

// MostCalls is the most that a piece may have.
const MostCalls = 8

// What site/vectors.js knows too: of board, the numbers where pieces in waiting stand, which of them
// are done and what they call; and the calls.
const (
	mostFlying = 32
	boardQueue = 8
	boardDone  = boardQueue + mostFlying
	boardCalls = boardDone + mostFlying
	callWords  = 17
	slotWords  = 1 + MostCalls*callWords

	callMultiply, callMax, callAddScaled, callExp = 0, 1, 2, 3
)

// board is where threads find what to do.
var board [boardCalls + mostFlying*slotWords]int32

var (
	crew Crew
	busy bool // somebody has taken it
)

// TakeCrew gives the threads beside this one, to one at a time; nil where there are none.
func TakeCrew() *Crew {
	if busy || runtime.GOOS != "js" || Current() == plain || threads() == 0 {
		return nil
	}
	busy = true
	return &crew
}

// Leave gives them back, when all pieces are finished.
func (c *Crew) Leave() { busy = false }

// Calls is room for a piece, or nil where enough are under way: the oldest is to be finished first.
func (c *Crew) Calls() *Calls {
	if c.flying >= min(mostFlying, piecesOfThread*(threads()+1)) {
		return nil
	}
	for i := range c.slots {
		s := &c.slots[i]
		if s.state == late && isDone(i) {
			s.state, s.holds = free, nil
		}
		if s.state == free {
			s.calls = Calls{slot: i}
			return &s.calls
		}
	}
	return nil
}

// piecesOfThread keep threads at work while this one prepares more.
const piecesOfThread = 4

// Publish hands a piece out.
func (c *Crew) Publish(calls *Calls) {
	board[boardCalls+calls.slot*slotWords] = int32(calls.count)
	c.slots[calls.slot].state = flying
	c.flying++
	publish(calls.slot)
}

// Finish waits for a piece, and computes others meanwhile. It is false where a thread took it that
// is late, or has died: then what the piece would have written means nothing, and holds, its memory,
// is kept as long as that thread may write there.
func (c *Crew) Finish(calls *Calls, holds any) bool {
	s := &c.slots[calls.slot]
	c.flying--
	if !finish(calls.slot) {
		s.state, s.holds = late, holds
		return false
	}
	s.state = free
	return true
}

// call adds one.
func (c *Calls) call(function int32, words ...int32) {
	if c.count == MostCalls {
		panic("vector: a piece of too many calls")
	}
	to := board[boardCalls+c.slot*slotWords+1+c.count*callWords:][:callWords]
	to[0] = function
	copy(to[1:], words)
	c.count++
}

// at is where a slice lies, in WebAssembly's 32 bits.
func at(x []float32) int32 { return int32(uintptr(unsafe.Pointer(unsafe.SliceData(x)))) }
