package tune

import (
	"context"
	"math"
	"slices"
	"time"

	"mrprism/internal/gpu"
)

// Commands are timed in recordings of many copies, so that submitting and waiting are shared among so many that they hardly count.
const (
	ReplayTime = 20 * time.Millisecond // of one recording, at least
	mostCopies = 1024
	latencies  = 4 // of an empty read that a recording takes at least: browsers look for results every so often
)

// Replay is a command that can be timed: copies of it, one after the other on the same buffers.
type Replay struct {
	device    gpu.Device
	recording gpu.Recording
	copies    int
	wait      gpu.Range
	latency   float64 // milliseconds from the end of a command until one knows
}

// NewReplay records a command that has been prepared. It has run when this returns: what was not run before is slower.
func NewReplay(ctx context.Context, d gpu.Device, c gpu.Command) (*Replay, error) {
	r := &Replay{device: d, wait: gpu.Range{Buffer: c.Clear, Dst: make([]byte, 4)}}
	if c.Program != nil {
		r.wait.Buffer = c.Arguments[len(c.Arguments)-1]
	}
	var err error
	if r.latency, err = r.readTime(ctx); err != nil {
		return nil, err
	}
	enough := max(Milliseconds(ReplayTime), latencies*r.latency)
	for r.copies = 1; ; {
		if r.recording, err = d.Record(slices.Repeat([]gpu.Command{c}, r.copies)); err != nil {
			return nil, err
		}
		_, err = r.Time(ctx)
		ms := 0.0
		if err == nil {
			ms, err = r.Time(ctx)
		}
		if err != nil {
			r.Release()
			return nil, err
		}
		took := ms * float64(r.copies)
		if took >= enough || r.copies == mostCopies {
			return r, nil
		}
		r.Release()
		more := 1.5 * enough / max(took, 0.01)
		r.copies = min(mostCopies, max(2*r.copies, int(float64(r.copies)*more)))
	}
}

// readTime is the least of a few empty reads, in milliseconds.
func (r *Replay) readTime(ctx context.Context) (float64, error) {
	least := math.Inf(1)
	for range 3 {
		start := time.Now()
		if err := r.device.Read(ctx, r.wait); err != nil {
			return 0, err
		}
		least = min(least, Milliseconds(time.Since(start)))
	}
	return least, nil
}

// Time runs the recording and returns milliseconds a copy, without the time that reading takes.
func (r *Replay) Time(ctx context.Context) (float64, error) {
	start := time.Now()
	err := r.device.Run(ctx, r.recording)
	if err == nil {
		err = r.device.Read(ctx, r.wait)
	}
	return max(0, Milliseconds(time.Since(start))-r.latency) / float64(r.copies), err
}

// Release returns the recording; the command's buffers are the caller's.
func (r *Replay) Release() { r.recording.Release() }

// Milliseconds with their fractions.
func Milliseconds(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1e6 }
