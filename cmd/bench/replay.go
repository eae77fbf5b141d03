package main

import (
	"context"
	"slices"
	"time"

	"mrprism/internal/gpu"
)

// Commands are timed in recordings of many copies, so that submitting and waiting are shared among so many that they hardly count.
const (
	replayTime = 20 * time.Millisecond // of one recording, at least
	mostCopies = 1024
)

// replay times a command that has been prepared: milliseconds a run, of so many repeats, one after the other on the same buffers.
func replay(ctx context.Context, d gpu.Device, c gpu.Command, repeats int) (spread, error) {
	wait := gpu.Range{Buffer: c.Clear, Dst: make([]byte, 4)}
	if c.Program != nil {
		wait.Buffer = c.Arguments[len(c.Arguments)-1]
	}
	for copies := 1; ; {
		recording, err := d.Record(slices.Repeat([]gpu.Command{c}, copies))
		if err != nil {
			return spread{}, err
		}
		once := func() (ms float64, err error) {
			start := time.Now()
			if err = d.Run(ctx, recording); err == nil {
				err = d.Read(ctx, wait)
			}
			return since(start), err
		}
		took, err := once() // what was not run before is slower
		if err == nil && copies > 1 {
			took, err = once()
		}
		enough := took >= milliseconds(replayTime) || copies == mostCopies
		var times []float64
		for i := 0; i < repeats && enough && err == nil; i++ {
			took, err = once()
			times = append(times, took/float64(copies))
		}
		recording.Release()
		if err != nil || enough {
			return spreadOf(times), err
		}
		more := 1.5 * milliseconds(replayTime) / max(took, 0.01)
		copies = min(mostCopies, max(2*copies, int(float64(copies)*more)))
	}
}

// since is in milliseconds.
func since(start time.Time) float64 { return milliseconds(time.Since(start)) }

func milliseconds(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1e6 }
