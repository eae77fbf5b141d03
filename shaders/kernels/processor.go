package kernels

import (
	"sync"
	"sync/atomic"

	"mrprism/shaders/gpu"
	"mrprism/shaders/vector"
)

// Helpers for the float32 bodies in NAME_processor.go.

// Room is memory for one piece of a dispatch. The next piece uses it again.
type Room struct {
	Rows, Sums     []float32
	Seen, Products []float32
	Bytes          []byte
	Integers       []int32
	Matrix         vector.Matrix
	Wrapped        vector.Matrix // a matrix on memory of somebody else
	Columns        [3][vector.MaxColumns]float32
	Words          vector.Bytes
	Lines          vector.Lines
	Finish         vector.Sums
}

var rooms = sync.Pool{New: func() any { return new(Room) }}

// TakeRoom returns a room, which the caller gives back with Leave.
func TakeRoom() *Room { return rooms.Get().(*Room) }

func (r *Room) Leave() { rooms.Put(r) }

// OfColumns returns three slices with a value for each column of a panel. The values are 0.
func (r *Room) OfColumns() (a, b, c []float32) {
	n := vector.Columns()
	clear(r.Columns[:])
	return r.Columns[0][:n], r.Columns[1][:n], r.Columns[2][:n]
}

// InRooms calls begin and then finish for each piece 0 … n-1, with one room for both. begin makes
// `calls` calls, and finish finds their results in the room. If there is a crew, its threads
// compute the calls of some pieces, and this thread those of the others. If a crew's thread does
// not end a piece, this thread computes the whole piece.
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
			p.room = TakeRoom() // the late thread may still write to the other room
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

// Each calls f for 0 … n-1 in pieces. It returns false if some calls are missing, because the run
// was ended.
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

// RoomFor is a slice of n values in room, which grows if it is too small. The values are arbitrary.
func RoomFor[T any](room *[]T, n int) []T {
	if cap(*room) < n {
		*room = make([]T, n)
	}
	return (*room)[:n]
}

// Packing is a matrix of weights that is packed in panels: *vector.Matrix or *vector.Bytes.
type Packing[M any] interface {
	*M
	Holds() bool
	Reset(rows, columns int)
	Panels() int
}

// Packed returns the weights w as a packed matrix (rows, columns). The matrix is kept under a key
// until somebody writes w. If there is none yet, pack fills each panel of a new one.
func Packed[M any, P Packing[M]](w gpu.Array32, key gpu.KeptKey, rows, columns int, split gpu.Split, pack func(m P, panel int)) P {
	kept, fresh := w.Kept.Get(key)
	m, made := kept.(P)
	if fresh && m.Holds() {
		return m
	}
	if !made {
		m = new(M)
	}
	m.Reset(rows, columns)
	if Each(m.Panels(), split, func(panel int) { pack(m, panel) }) {
		w.Kept.Set(key, m)
	}
	return m
}
