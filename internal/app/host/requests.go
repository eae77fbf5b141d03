package host

import (
	"context"
	"sync"
	"time"
)

// progressEvery is the least time between two reports of one stage.
const progressEvery = 50 * time.Millisecond

// requests are the page's questions. Their numbers grow, and they are answered in that order.
type requests struct {
	interrupts chan struct{} // has one where a message came

	mu        sync.Mutex
	begun     int                // the request that was begun last
	stop      context.CancelFunc // ends the one that runs; nil: none does
	cancelled map[int]bool       // those that wait and are not to begin
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

// begin returns the context of one request, which Cancel ends. It has ended already if the request
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

// Interrupt says that a message came, which from now on Waiting reports.
func (r *requests) Interrupt() {
	select {
	case r.interrupts <- struct{}{}:
	default:
	}
}

// whileIdle returns when done is closed, when ctx ends, or when a message waits.
func (r *requests) whileIdle(ctx context.Context, done <-chan struct{}, waiting func() bool) {
	select {
	case <-r.interrupts: // of a message that may have been answered
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

// paced returns tell, not called more often for one stage than a page can show. The end of a stage
// is always told.
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
