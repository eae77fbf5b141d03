package vector

import (
	"math"
	"runtime"
	"unsafe"
)

// Calls are the calls of a piece of work. If Calls is nil, each call computes at once. Otherwise a
// thread of the Crew computes them later. Their arguments must then be on the heap and must not
// change before the piece is finished, and nobody else may read their results.
type Calls struct{ slot, count int }

// MultiplyPart is Matrix.MultiplyPart.
func (c *Calls) MultiplyPart(m *Matrix, part Part, a Left, sums []float32, stride int, add bool) {
	if c == nil || a.Lines*a.Rows == 0 || part.Terms == 0 {
		m.MultiplyPart(part, a, sums, stride, add)
		return
	}
	adds := int32(0)
	if add {
		adds = 1
	}
	c.call(callMultiply, address(m.data), int32(m.k), int32(part.First), int32(part.Terms), int32(part.Panel), int32(part.Panels),
		address(a.Values), int32(a.Lines), int32(a.Rows), int32(a.Line), int32(a.Row), int32(a.Step),
		address(sums), int32(stride), adds, int32(m.level.terms))
}

// Multiply is Matrix.Multiply.
func (c *Calls) Multiply(m *Matrix, rows int, a []float32, row, step int, sums []float32, stride int, add bool) {
	c.MultiplyPart(m, Part{0, m.k, 0, m.Panels()}, Left{a, 1, rows, 0, row, step}, sums, stride, add)
}

func (c *Calls) ExpColumns(x []float32, scale float32, shift, total []float32) {
	if c == nil {
		ExpColumns(x, scale, shift, total)
		return
	}
	c.call(callExp, address(x), address(shift), address(total), int32(len(x)/len(shift)), int32(math.Float32bits(scale)))
}

// Crew are threads that compute in Go's memory, if that is shared. In WebAssembly Go itself has
// only one thread. site/worker/vectors.js starts and runs the crew.
type Crew struct {
	flying int // pieces published and not finished
	slots  [mostFlying]struct {
		calls Calls
		state int
		holds any
	}
}

// The states of a slot.
const (
	free = iota
	flying
	late // nobody waits for the piece any more, but a thread may still write its results
)

// MostCalls is the largest number of calls of a piece.
const MostCalls = 36

// site/worker/vectors.js has the same numbers. They are the places on the board for waiting pieces,
// finished pieces and calls, and the numbers of functions.
const (
	mostFlying = 32
	boardQueue = 8
	boardDone  = boardQueue + mostFlying
	boardCalls = boardDone + mostFlying
	callWords  = 17
	slotWords  = 1 + MostCalls*callWords

	callMultiply, callExp = 0, 1
)

// board is where threads find their work.
var board [boardCalls + mostFlying*slotWords]int32

var (
	crew  Crew
	busy  bool // the crew is taken
	asked bool // startCrew was called
)

// threads is the number of threads that are ready. The first call starts them.
func threads() int {
	if !asked {
		asked = true
		startCrew(&board[0])
	}
	return int(readyCrew())
}

// TakeCrew returns the crew, to one caller at a time; nil if there are no threads.
func TakeCrew() *Crew {
	if busy || runtime.GOOS != "js" || Current() == plain || threads() == 0 {
		return nil
	}
	busy = true
	return &crew
}

// Leave returns the crew. All pieces must be finished.
func (c *Crew) Leave() { busy = false }

// Calls returns room for a piece. nil means that enough pieces are unfinished: finish the oldest
// first.
func (c *Crew) Calls() *Calls {
	if c.flying >= min(mostFlying, piecesOfThread*(threads()+1)) {
		return nil
	}
	for i := range c.slots {
		s := &c.slots[i]
		if s.state == late && donePiece(int32(i)) != 0 {
			s.state, s.holds = free, nil
		}
		if s.state == free {
			s.calls = Calls{slot: i}
			return &s.calls
		}
	}
	return nil
}

// piecesOfThread is the number of waiting pieces that keeps a thread at work.
const piecesOfThread = 4

// Publish lets threads compute a piece.
func (c *Crew) Publish(calls *Calls) {
	board[boardCalls+calls.slot*slotWords] = int32(calls.count)
	c.slots[calls.slot].state = flying
	c.flying++
	publishPiece(int32(calls.slot))
}

// Finish waits for a piece, and computes other pieces meanwhile. It returns false if the thread
// that has the piece is late or dead. The piece's results are then invalid, and the crew keeps
// holds, the memory of the piece, as long as the thread may write to it.
func (c *Crew) Finish(calls *Calls, holds any) bool {
	s := &c.slots[calls.slot]
	c.flying--
	if finishPiece(int32(calls.slot)) == 0 {
		s.state, s.holds = late, holds
		return false
	}
	s.state = free
	return true
}

// call adds a call to the piece.
func (c *Calls) call(function int32, words ...int32) {
	if c.count == MostCalls {
		panic("vector: a piece of too many calls")
	}
	to := board[boardCalls+c.slot*slotWords+1+c.count*callWords:][:callWords]
	to[0] = function
	copy(to[1:], words)
	c.count++
}

// address is the address of a slice, in WebAssembly's 32 bits.
func address(x []float32) int32 { return int32(uintptr(unsafe.Pointer(unsafe.SliceData(x)))) }
