package shaders

import (
	"sync"

	"mrprism/internal/vector"
)

// What the float32 bodies that stand in NAME_processor.go have in common.

// room is memory for what a piece of a dispatch computes, kept for the next.
type room struct {
	rows, sums []float32
	matrix     vector.Matrix
}

var rooms = sync.Pool{New: func() any { return new(room) }}

func takeRoom() *room { return rooms.Get().(*room) }

func (r *room) leave() { rooms.Put(r) }

// roomFor is room for n, whose values mean nothing.
func roomFor(room *[]float32, n int) []float32 {
	if cap(*room) < n {
		*room = make([]float32, n)
	}
	return (*room)[:n]
}
