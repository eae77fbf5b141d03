package shaders

import (
	"sync"
	"sync/atomic"

	"mrprism/internal/gpu"
	"mrprism/internal/vector"
)

// What the float32 bodies that stand in NAME_processor.go have in common.

// room is memory for what a piece of a dispatch computes, kept for the next.
type room struct {
	rows, sums []float32
	bytes      []byte
	integers   []int32
	matrix     vector.Matrix
	wrapped    vector.Matrix // of memory that is not its own
	columns    [3][vector.MaxColumns]float32
	words      vector.Bytes
	lines      vector.Lines
	finish     vector.Sums
}

var rooms = sync.Pool{New: func() any { return new(room) }}

func takeRoom() *room { return rooms.Get().(*room) }

// ofColumns is room for three values of each column of a panel: 0 at first.
func (r *room) ofColumns() (a, b, c []float32) {
	n := vector.Columns()
	clear(r.columns[:])
	return r.columns[0][:n], r.columns[1][:n], r.columns[2][:n]
}

func (r *room) leave() { rooms.Put(r) }

// each calls f for 0 … n-1 in pieces, and says whether it did for all: a run that ends leaves some
// out.
func each(n int, split gpu.Split, f func(i int)) bool {
	var done atomic.Int64
	split(n, func(from, to int) {
		for i := from; i < to; i++ {
			f(i)
		}
		done.Add(int64(to - from))
	})
	return int(done.Load()) == n
}

// roomFor is room for n, whose values mean nothing.
func roomFor[T any](room *[]T, n int) []T {
	if cap(*room) < n {
		*room = make([]T, n)
	}
	return (*room)[:n]
}
