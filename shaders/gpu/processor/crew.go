package processor

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// crew are goroutines that share the pieces of each dispatch with the calling goroutine. Hundreds
// of dispatches follow each other within a few microseconds, less than the system needs to wake a
// thread. Members therefore look for the next dispatch in a loop for a while before they sleep.
type crew struct {
	busy     sync.Mutex
	members  int
	piece    func(i int)
	state    atomic.Uint64 // dispatches so far, pieces of the current one, and pieces taken
	left     atomic.Int64  // pieces not yet done
	sleeping atomic.Int64
	wake     chan struct{}
}

// sharedCrew serves all devices in Go.
var sharedCrew = &crew{wake: make(chan struct{}, mostMembers)}

const (
	mostMembers = 1024
	// restless is how long a member looks for a dispatch before it sleeps. After every `looks`
	// looks it lets other goroutines use its thread.
	restless = 100 * time.Microsecond
	looks    = 100
)

// The bits of state: 16 count dispatches, 16 the pieces of the current one, and 32 the pieces
// taken.
const (
	dispatchUnit = 1 << 48
	countUnit    = 1 << 32
)

// do calls piece(0) … piece(count-1) on as many threads as the process may use. It returns false
// if another device uses the crew.
func (c *crew) do(count, threads int, piece func(i int)) bool {
	if !c.busy.TryLock() {
		return false
	}
	defer c.busy.Unlock()
	for ; c.members < min(threads-1, mostMembers); c.members++ {
		go c.member(c.state.Load() / dispatchUnit)
	}
	c.piece = piece
	c.left.Store(int64(count))
	dispatch := c.state.Load()/dispatchUnit + 1
	c.state.Store(dispatch*dispatchUnit + uint64(count)*countUnit)
	for range min(c.sleeping.Load(), int64(count-1)) {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	c.work()
	for i := 1; c.left.Load() > 0; i++ {
		if i%looks == 0 {
			runtime.Gosched()
		}
	}
	c.piece = nil
	return true
}

// work computes pieces until all are taken.
func (c *crew) work() {
	for c.open(c.state.Load()) {
		taken := c.state.Add(1) - 1
		if !c.open(taken) {
			return
		}
		c.piece(int(taken % countUnit))
		c.left.Add(-1)
	}
}

// open says whether there are pieces to take.
func (c *crew) open(state uint64) bool { return state%countUnit < state%dispatchUnit/countUnit }

// member works on all dispatches after number done.
func (c *crew) member(done uint64) {
	for {
		done = c.awaitDispatch(done)
		c.work()
	}
}

// awaitDispatch waits until there is another dispatch than number seen.
func (c *crew) awaitDispatch(seen uint64) uint64 {
	since := time.Now()
	for i := 1; ; i++ {
		if now := c.state.Load() / dispatchUnit; now != seen {
			return now
		}
		if i%looks > 0 {
			continue
		}
		runtime.Gosched()
		if time.Since(since) < restless {
			continue
		}
		c.sleeping.Add(1)
		if c.state.Load()/dispatchUnit == seen {
			<-c.wake
		}
		c.sleeping.Add(-1)
		since = time.Now()
	}
}
