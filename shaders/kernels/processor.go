package kernels

import (
	"sync"
	"sync/atomic"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/vector"
)

// What the float32 bodies that stand in NAME_processor.go have in common.

// Room is memory for what a piece of a dispatch computes, kept for the next.
type Room struct {
	Rows, Sums []float32
	Bytes      []byte
	Integers   []int32
	Matrix     vector.Matrix
	Wrapped    vector.Matrix // of memory that is not its own
	Columns    [3][vector.MaxColumns]float32
	Words      vector.Bytes
	Lines      vector.Lines
	Finish     vector.Sums
}

var rooms = sync.Pool{New: func() any { return new(Room) }}

func TakeRoom() *Room { return rooms.Get().(*Room) }

// OfColumns is room for three values of each column of a panel: 0 at first.
func (r *Room) OfColumns() (a, b, c []float32) {
	n := vector.Columns()
	clear(r.Columns[:])
	return r.Columns[0][:n], r.Columns[1][:n], r.Columns[2][:n]
}

func (r *Room) Leave() { rooms.Put(r) }

// InRooms calls begin and then finish for each of 0 … n-1, with one room for both. begin makes that
// many calls, and finish finds their results in the room. If there is a crew, its threads compute
// the calls of some pieces and this thread computes the others. If a thread does not end a piece,
// this thread computes the whole piece.
func InRooms(n, calls int, split gpu.Split, begin func(i int, room *Room, calls *vector.Calls), finish func(i int, room *Room)) {
	var crew *vector.Crew
	if n > 1 && calls <= vector.MostCalls {
		crew = vector.TakeCrew()
	}
	if crew == nil {
		split(n, func(from, to int) {
			room := TakeRoom()
			defer room.Leave()
			for i := from; i < to; i++ {
				begin(i, room, nil)
				finish(i, room)
			}
		})
		return
	}
	type piece struct {
		i     int
		room  *Room
		calls *vector.Calls
	}
	var flying []piece // the oldest first
	land := func() {
		p := flying[0]
		flying = flying[1:]
		if !crew.Finish(p.calls, p.room) {
			p.room = TakeRoom() // the other is no longer ours
			begin(p.i, p.room, nil)
		}
		finish(p.i, p.room)
		p.room.Leave()
	}
	split(n, func(from, to int) {
		for i := from; i < to; i++ {
			p := piece{i, TakeRoom(), crew.Calls()}
			for ; p.calls == nil && len(flying) > 0; p.calls = crew.Calls() {
				land()
			}
			begin(i, p.room, p.calls)
			if p.calls == nil {
				finish(i, p.room)
				p.room.Leave()
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

// Each calls f for 0 … n-1 in pieces, and says whether it did for all: a run that ends leaves some
// out.
func Each(n int, split gpu.Split, f func(i int)) bool {
	var done atomic.Int64
	split(n, func(from, to int) {
		for i := from; i < to; i++ {
			f(i)
		}
		done.Add(int64(to - from))
	})
	return int(done.Load()) == n
}

// RoomFor is room for n, whose values mean nothing.
func RoomFor[T any](room *[]T, n int) []T {
	if cap(*room) < n {
		*room = make([]T, n)
	}
	return (*room)[:n]
}
