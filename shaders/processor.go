package shaders

import (
	"sync"
	"sync/atomic"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/vector"
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

// inRooms calls begin for 0 … n-1, each with a room, and then finish with the same. begin makes so
// many calls, whose results finish finds in the room: where there is a crew, its threads compute the
// calls of some pieces, this thread those of others, and all of a piece that a thread does not end.
func inRooms(n, calls int, split gpu.Split, begin func(i int, room *room, calls *vector.Calls), finish func(i int, room *room)) {
	var crew *vector.Crew
	if n > 1 && calls <= vector.MostCalls {
		crew = vector.TakeCrew()
	}
	if crew == nil {
		split(n, func(from, to int) {
			room := takeRoom()
			defer room.leave()
			for i := from; i < to; i++ {
				begin(i, room, nil)
				finish(i, room)
			}
		})
		return
	}
	type piece struct {
		i     int
		room  *room
		calls *vector.Calls
	}
	var flying []piece // the oldest first
	land := func() {
		p := flying[0]
		flying = flying[1:]
		if !crew.Finish(p.calls, p.room) {
			p.room = takeRoom() // the other is no longer ours
			begin(p.i, p.room, nil)
		}
		finish(p.i, p.room)
		p.room.leave()
	}
	split(n, func(from, to int) {
		for i := from; i < to; i++ {
			p := piece{i, takeRoom(), crew.Calls()}
			for ; p.calls == nil && len(flying) > 0; p.calls = crew.Calls() {
				land()
			}
			begin(i, p.room, p.calls)
			if p.calls == nil {
				finish(i, p.room)
				p.room.leave()
				continue
			}
			crew.Publish(p.calls)
			flying = append(flying, p)
		}
	})
	for len(flying) > 0 {
		land()
	}
	crew.Leave()
}

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
