package measure

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
)

// kernelTimes are the dispatches of one program with one shape in one part of the network. Each is
// replayed alone on the network's buffers, so that small tensors come from a cache more often than
// in the network.
type kernelTimes struct {
	Part       string  `json:"part"`                  // encoder, one recurrence, rater labels, one pass around marks, training step
	Name       string  `json:"name"`                  // of kernel and variant
	Shape      string  `json:"shape"`                 // for people
	Dispatches int     `json:"count"`                 // in one run of the part
	Time       Spread  `json:"ms"`                    // of one dispatch, with its fixed cost
	InPlace    float64 `json:"in_place_ms,omitempty"` // of one dispatch among the others, by the device's clock
	GFLOP      float64 `json:"gflop"`                 // of one dispatch, as shaders.Work counts
	GB         float64 `json:"gb"`                    // of all tensors of a dispatch, each counted once
	Adds       float64 `json:"adds"`                  // reached share of the device's multiply-adds, 0..1
	// The larger of Adds and the reached share of the bandwidth; above 1 from a cache.
	Ceiling float64 `json:"ceiling"`
}

// kernels measures the commands of a part, equal commands once. It spoils the results of the
// network.
func (r *Report) kernels(ctx context.Context, d gpu.Device, part string, list tensor.Commands, repeats int, tell func(string)) error {
	commands, bytes := list.Commands, list.Bytes
	type key struct {
		program *gpu.Program
		shape   string
		bytes   int64
	}
	var order []key
	counts, first, work := map[key]int{}, map[key]gpu.Command{}, map[key]float64{}
	of := make([]key, len(commands))
	for i, c := range commands {
		k, operations := key{shape: "of zeros", bytes: bytes[i]}, 0.0
		if c.Program != nil {
			k.program = c.Program
			k.shape, operations = shaders.Work(c)
		}
		of[i] = k
		if counts[k]++; counts[k] == 1 {
			order = append(order, k)
			first[k], work[k] = c, operations
		}
	}
	tell(fmt.Sprintf("%s: %d kernels and shapes", part, len(order)))
	spans, err := r.timeline(ctx, d, part, commands, repeats)
	if err != nil {
		return fmt.Errorf("%s: %w", part, err)
	}
	inPlace := map[key]float64{}
	for i, span := range spans {
		inPlace[of[i]] += milliseconds(span.End - span.Begin)
	}
	for _, k := range order {
		t := kernelTimes{Part: part, Name: "clear", Shape: k.shape, Dispatches: counts[k], GFLOP: work[k] / 1e9, GB: float64(k.bytes) / 1e9}
		t.InPlace = inPlace[k] / float64(counts[k])
		if k.program != nil {
			t.Name = k.program.Name
		}
		if t.Time, err = replay(ctx, d, first[k], repeats); err != nil {
			return fmt.Errorf("%s %s: %w", t.Name, t.Shape, err)
		}
		t.Adds, t.Ceiling = r.Ceilings.shares(t)
		r.Kernels = append(r.Kernels, t)
	}
	return nil
}

// timeline is one run of a part on the device's clock, the fastest of several.
type timeline struct {
	Part  string  `json:"part"`
	All   float64 `json:"ms"`      // from the first dispatch's begin to the last one's end
	Busy  float64 `json:"busy_ms"` // in dispatches
	Count int     `json:"count"`   // of dispatches
}

// timeline runs a part on a device that is Timed, and adds its fastest run to the report. Without a
// clock it returns nothing.
func (r *Report) timeline(ctx context.Context, d gpu.Device, part string, commands []gpu.Command, repeats int) (fastest []gpu.Span, err error) {
	clock, ok := d.(gpu.Timed)
	if !ok || !d.Info().HasFeature(gpu.Timestamps) {
		return nil, nil
	}
	best := timeline{All: math.Inf(1)}
	for range repeats {
		spans, err := clock.Spans(ctx, commands)
		if err != nil {
			return nil, err
		}
		run, begin, end := timeline{Part: part}, time.Duration(math.MaxInt64), time.Duration(0)
		for _, s := range spans {
			if s != (gpu.Span{}) {
				begin, end = min(begin, s.Begin), max(end, s.End)
				run.Busy += milliseconds(s.End - s.Begin)
				run.Count++
			}
		}
		if run.All = milliseconds(end - begin); run.All < best.All {
			best, fastest = run, spans
		}
	}
	r.Timelines = append(r.Timelines, best)
	return fastest, nil
}

// shares returns the reached share of multiply-adds, and the larger of it and the bandwidth's.
func (c *ceilings) shares(t kernelTimes) (adds, ceiling float64) {
	arithmetic := c.Arithmetic.Most
	if c.Int8.Most > 0 && strings.Contains(t.Name, "int8") {
		arithmetic = c.Int8.Most
	}
	adds = 1e3 * t.GFLOP / arithmetic / t.Time.Median
	return adds, max(adds, 1e3*t.GB/c.Memory.Most/t.Time.Median)
}

// A command is timed in a recording of many copies, which share the time of submitting and waiting.
const (
	mostCopies = 1024
	latencies  = 4                      // shortest recording, in latencies
	mostWait   = 100 * time.Millisecond // largest latency: browsers call hidden pages seldom
)

var replayTime = 20 * time.Millisecond // shortest recording; tests, which time nothing, take less

// measureLatency returns the time from the end of a command until the program knows of it, since
// browsers look for results at intervals. It is the least time of a few empty reads.
func measureLatency(ctx context.Context, d gpu.Device) (time.Duration, error) {
	buffers, err := d.Allocate(ctx, []gpu.BufferSpec{{Label: "latency", Type: gpu.U32, Elements: 1}})
	if err != nil {
		return 0, err
	}
	defer buffers[0].Release()
	least := mostWait
	for range 4 {
		start := time.Now()
		if err := d.Read(ctx, gpu.Range{Buffer: buffers[0], Dst: make([]byte, 4)}); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start))
	}
	return least, nil
}

// recorded is a recording of copies of a command, one after the other on the same buffers.
type recorded struct {
	device    gpu.Device
	recording gpu.Recording
	copies    int
	wait      gpu.Range
	latency   float64 // milliseconds
}

// newRecorded records a prepared command on a device with a latency. It also runs the recording,
// because the first run is slower.
func newRecorded(ctx context.Context, d gpu.Device, c gpu.Command, latency time.Duration) (*recorded, error) {
	r := &recorded{device: d, latency: milliseconds(latency), wait: gpu.Range{Buffer: c.Clear, Dst: make([]byte, 4)}}
	if c.Program != nil {
		r.wait.Buffer = c.Arguments[len(c.Arguments)-1]
	}
	enough := max(milliseconds(replayTime), latencies*r.latency)
	for r.copies = 1; ; {
		var err error
		if r.recording, err = d.Record(slices.Repeat([]gpu.Command{c}, r.copies)); err != nil {
			return nil, err
		}
		_, err = r.time(ctx)
		ms := 0.0
		if err == nil {
			ms, err = r.time(ctx)
		}
		if err != nil {
			r.recording.Release()
			return nil, err
		}
		took := ms * float64(r.copies)
		if took >= enough || r.copies == mostCopies {
			return r, nil
		}
		r.recording.Release()
		more := 1.5 * enough / max(took, 0.01)
		r.copies = min(mostCopies, max(2*r.copies, int(float64(r.copies)*more)))
	}
}

// time runs the recording and returns milliseconds for a copy. It subtracts the latency, but at
// most half of the time.
func (r *recorded) time(ctx context.Context) (float64, error) {
	start := time.Now()
	err := r.device.Run(ctx, r.recording)
	if err == nil {
		err = r.device.Read(ctx, r.wait)
	}
	took := milliseconds(time.Since(start))
	return (took - min(r.latency, took/2)) / float64(r.copies), err
}

// replay times a prepared command: milliseconds for a copy, over a number of recordings.
func replay(ctx context.Context, d gpu.Device, c gpu.Command, repeats int) (Spread, error) {
	latency, err := measureLatency(ctx, d)
	if err != nil {
		return Spread{}, err
	}
	r, err := newRecorded(ctx, d, c, latency)
	if err != nil {
		return Spread{}, err
	}
	defer r.recording.Release()
	var times []float64
	for range repeats {
		ms, err := r.time(ctx)
		if err != nil {
			return Spread{}, err
		}
		times = append(times, ms)
	}
	return SpreadOf(times), nil
}

// milliseconds is t in milliseconds, with fractions.
func milliseconds(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1e6 }

// since is the time since start in milliseconds.
func since(start time.Time) float64 { return milliseconds(time.Since(start)) }

// Timed is the time that f takes, in milliseconds.
func Timed(ctx context.Context, f func(context.Context) error) (ms float64, err error) {
	start := time.Now()
	err = f(ctx)
	return since(start), err
}
