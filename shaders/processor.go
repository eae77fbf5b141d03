package shaders

import (
	"sync"

	"mrprism/internal/vector"
)

// What the float32 bodies that stand in NAME_processor.go have in common.

// room is memory for what a piece of a dispatch computes, kept for the next.
type room struct {
	rows, sums []float32
	bytes      []byte
	integers   []int32
	matrix     vector.Matrix
	words      vector.Bytes
}

var rooms = sync.Pool{New: func() any { return new(room) }}

func takeRoom() *room { return rooms.Get().(*room) }

func (r *room) leave() { rooms.Put(r) }

// roomFor is room for n, whose values mean nothing.
func roomFor[T any](room *[]T, n int) []T {
	if cap(*room) < n {
		*room = make([]T, n)
	}
	return (*room)[:n]
}
