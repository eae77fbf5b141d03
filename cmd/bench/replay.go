package main

import (
	"context"
	"time"

	"mrprism/internal/gpu"
	"mrprism/internal/tune"
)

// replay times a command that has been prepared: milliseconds a run, of so many repeats, one after the other on the same buffers.
func replay(ctx context.Context, d gpu.Device, c gpu.Command, repeats int) (spread, error) {
	latency, err := tune.Latency(ctx, d)
	if err != nil {
		return spread{}, err
	}
	r, err := tune.NewReplay(ctx, d, c, latency)
	if err != nil {
		return spread{}, err
	}
	defer r.Release()
	var times []float64
	for range repeats {
		ms, err := r.Time(ctx)
		if err != nil {
			return spread{}, err
		}
		times = append(times, ms)
	}
	return spreadOf(times), nil
}

// since is in milliseconds.
func since(start time.Time) float64 { return tune.Milliseconds(time.Since(start)) }

// timed is how long f took.
func timed(ctx context.Context, f func(context.Context) error) (ms float64, err error) {
	start := time.Now()
	err = f(ctx)
	return since(start), err
}
