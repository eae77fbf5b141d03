package page

import (
	"context"
	"sync"
	"time"
)

// progressEvery is the least time between two reports of one stage.
const progressEvery = 50 * time.Millisecond

// requests are the page's requests. Their numbers grow, and the host answers them in this order.
type requests struct {
	interrupts chan struct{} // holds a value after a message came

	mu        sync.Mutex
	begun     int                // the request that began last
	stop      context.CancelFunc // ends the request that runs; nil: none runs
	cancelled map[int]bool       // requests that wait and must not begin
}

func newRequests() requests {
	return requests{interrupts: make(chan struct{}, 1), cancelled: map[int]bool{}}
}

// Cancel ends one request, whether it runs or waits.
func (r *requests) Cancel(request int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if request > r.begun {
		r.cancelled[request] = true
	} else if request == r.begun && r.stop != nil {
		r.stop()
	}
}

// begin returns the context of a request. Cancel ends it, and has ended it already if the request
// was cancelled while it waited. The caller calls end.
func (r *requests) begin(request int) (ctx context.Context, end func()) {
	ctx, stop := context.WithCancel(context.Background())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop, r.begun = stop, request
	if r.cancelled[request] {
		delete(r.cancelled, request)
		stop()
	}
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stop = nil
		stop()
	}
}

// Interrupt says that a message came. From now on Waiting reports it.
func (r *requests) Interrupt() {
	select {
	case r.interrupts <- struct{}{}:
	default:
	}
}

// whileIdle returns when done is closed, when ctx ends, or when a message waits.
func (r *requests) whileIdle(ctx context.Context, done <-chan struct{}, waiting func() bool) {
	select {
	case <-r.interrupts: // the message may have been answered already
	default:
	}
	if waiting() {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	case <-r.interrupts:
	}
}

// paced returns a function that calls tell at most every progressEvery for one stage. It always
// reports the end of a stage.
func (s *system) paced(tell func(stage string, done, total int)) func(stage string, done, total int) {
	last, lastStage := time.Time{}, ""
	return func(stage string, done, total int) {
		if stage == lastStage && done < total && s.now().Sub(last) < progressEvery {
			return
		}
		last, lastStage = s.now(), stage
		tell(stage, done, total)
	}
}
