package main

import (
	"context"
	"fmt"
	"strings"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders"
)

// kernelTimes are the dispatches of one program with one shape in one part of the network. Each is
// replayed alone on the network's buffers: small tensors come from a cache more often than in the
// network.
type kernelTimes struct {
	Part       string  `json:"part"`  // encoder, one recurrence, rater labels, training step
	Name       string  `json:"name"`  // of kernel and variant
	Shape      string  `json:"shape"` // for people
	Dispatches int     `json:"count"` // in one run of the part
	Time       spread  `json:"ms"`    // of one dispatch, with its fixed cost
	GFLOP      float64 `json:"gflop"` // of one dispatch, as shaders.Work counts
	GB         float64 `json:"gb"`    // of all tensors of a dispatch, each once
	Adds       float64 `json:"adds"`  // reached share of the device's multiply-adds, 0..1
	// Ceiling: the larger of Adds and the reached share of bandwidth; above 1 from a cache
	Ceiling float64 `json:"ceiling"`
}

// kernels measures the commands of a part, equal commands once. It spoils the results of the
// network.
func (r *report) kernels(ctx context.Context, d gpu.Device, part string, list tensor.Commands, repeats int, tell func(string)) error {
	commands, bytes := list.Commands, list.Bytes
	type key struct {
		program *gpu.Program
		shape   string
		bytes   int64
	}
	var order []key
	counts, first, work := map[key]int{}, map[key]gpu.Command{}, map[key]float64{}
	for i, c := range commands {
		k, operations := key{shape: "of zeros", bytes: bytes[i]}, 0.0
		if c.Program != nil {
			k.program = c.Program
			k.shape, operations = shaders.Work(c)
		}
		if counts[k]++; counts[k] == 1 {
			order = append(order, k)
			first[k], work[k] = c, operations
		}
	}
	tell(fmt.Sprintf("%s: %d kernels and shapes", part, len(order)))
	for _, k := range order {
		t := kernelTimes{Part: part, Name: "clear", Shape: k.shape, Dispatches: counts[k], GFLOP: work[k] / 1e9, GB: float64(k.bytes) / 1e9}
		if k.program != nil {
			t.Name = k.program.Name
		}
		var err error
		if t.Time, err = replay(ctx, d, first[k], repeats); err != nil {
			return fmt.Errorf("%s %s: %w", t.Name, t.Shape, err)
		}
		t.Adds, t.Ceiling = r.Ceilings.shares(t)
		r.Kernels = append(r.Kernels, t)
	}
	return nil
}

// shares are the reached share of the multiply-adds, and the larger of that and of the bandwidth's.
func (c *ceilings) shares(t kernelTimes) (adds, ceiling float64) {
	arithmetic := c.Arithmetic.Most
	if c.Int8.Most > 0 && strings.Contains(t.Name, "int8") {
		arithmetic = c.Int8.Most
	}
	adds = 1e3 * t.GFLOP / arithmetic / t.Time.Median
	return adds, max(adds, 1e3*t.GB/c.Memory.Most/t.Time.Median)
}
