// Package tune finds out by timing which variants of the kernels are the fastest on a device, and remembers them for the programs that
// use it. Without it, or switched off, variants are chosen by the kind of device.
package tune

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

// Choices are variants by the key of their kernel with parameters, as tensor.Plan.Alternatives has it.
type Choices map[string]string

// With is the device with these choices in its Info, from which what is compiled for it takes its variants; nil: with none.
func With(d gpu.Device, choices Choices) gpu.Device { return &tuned{d, choices} }

type tuned struct {
	gpu.Device
	choices Choices
}

func (t *tuned) Info() gpu.Info {
	info := t.Device.Info()
	info.Tuned = t.choices
	return info
}

const (
	repeats  = 5    // timings of which the median counts
	gain     = 0.95 // of the time that is taken untuned: what it takes to be chosen instead
	hopeless = 2    // times as long as the fastest so far at once: not timed further
)

// Result is what was measured of the alternatives for one kernel with parameters.
type Result struct {
	tensor.Alternatives
	MS     []float64 // of a dispatch, by variant, medians; 0 where it was hopeless
	Chosen int       // of Variants
}

// Alternatives are what the plans can choose among, each equal kernel with parameters once.
func Alternatives(plans ...*tensor.Plan) []tensor.Alternatives {
	var all []tensor.Alternatives
	for _, p := range plans {
		for _, a := range p.Alternatives() {
			at := slices.IndexFunc(all, func(b tensor.Alternatives) bool { return b.Key == a.Key })
			if at < 0 {
				all = append(all, a)
			} else {
				all[at].Dispatches += a.Dispatches
			}
		}
	}
	return all
}

// Measure times all, on memory of its own: plans are as they were afterwards. tell hears how many have been measured.
func Measure(ctx context.Context, d gpu.Device, all []tensor.Alternatives, tell func(done int)) ([]Result, error) {
	var results []Result
	for i, a := range all {
		tell(i)
		times, err := measure(ctx, d, a)
		if err != nil {
			return nil, fmt.Errorf("tuning %s: %w", a.Key, err)
		}
		r := Result{Alternatives: a}
		r.MS, r.Chosen = choose(times)
		results = append(results, r)
	}
	return results, nil
}

// Chosen are the choices of the results, also those for what is taken untuned.
func Chosen(results []Result) Choices {
	c := Choices{}
	for _, r := range results {
		c[r.Key] = r.Variants[r.Chosen].Variant
	}
	return c
}

// Join adds choices to those that were there; of these, the choices among older sources of the same kernels go.
func Join(there, choices Choices) Choices {
	versions := map[string]string{}
	for key := range choices {
		kernel, version := sources(key)
		versions[kernel] = version
	}
	joined := maps.Clone(choices)
	for key, variant := range there {
		if _, ok := choices[key]; ok {
			continue
		}
		if kernel, version := sources(key); versions[kernel] == "" || versions[kernel] == version {
			joined[key] = variant
		}
	}
	return joined
}

// sources are the kernel and the hash in a key.
func sources(key string) (kernel, version string) {
	kernel, rest, _ := strings.Cut(key, " ")
	version, _, _ = strings.Cut(rest, " ")
	return kernel, version
}

// InTurn runs a whole with the kernels that are chosen untuned and with others, one after the other, so that what slows the machine meanwhile
// slows both: the milliseconds of every round but a first one, which is thrown away. tell hears of each round.
func InTurn(ctx context.Context, untuned, tuned func(context.Context) error, rounds int, tell func(round int)) (before, after []float64, err error) {
	for i := range 1 + rounds {
		tell(i)
		start := time.Now()
		if err := untuned(ctx); err != nil {
			return nil, nil, err
		}
		between := time.Now()
		if err := tuned(ctx); err != nil {
			return nil, nil, err
		}
		if i > 0 {
			before, after = append(before, Milliseconds(between.Sub(start))), append(after, Milliseconds(time.Since(between)))
		}
	}
	return before, after, nil
}

// Faster reports whether the tuned whole is not slower: what is remembered only then.
func Faster(before, after []float64) bool { return median(after) <= median(before) }

// choose gives the medians of the times of each variant, and the fastest; the first unless another gains enough.
func choose(times [][]float64) (medians []float64, chosen int) {
	for _, t := range times {
		if len(t) == 0 {
			medians = append(medians, 0)
			continue
		}
		medians = append(medians, median(t))
	}
	for i, m := range medians {
		if m > 0 && m <= gain*medians[0] && m < medians[chosen] {
			chosen = i
		}
	}
	return medians, chosen
}

func median(times []float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return (sorted[(len(times)-1)/2] + sorted[len(times)/2]) / 2
}

// measure times the variants in turn, so that what slows the machine meanwhile slows all: milliseconds a dispatch, none for the hopeless.
func measure(ctx context.Context, d gpu.Device, a tensor.Alternatives) ([][]float64, error) {
	buffers, err := d.Allocate(ctx, a.Arguments)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, b := range buffers {
			b.Release()
		}
	}()
	replays := make([]*Replay, len(a.Variants))
	defer func() {
		for _, r := range replays {
			if r != nil {
				r.Release()
			}
		}
	}()
	latency, err := Latency(ctx, d)
	if err != nil {
		return nil, err
	}
	fastest := 0.0
	for i, v := range a.Variants {
		if err := d.Prepare(ctx, []*gpu.Program{v.Program}); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Program.Name, err)
		}
		r, err := NewReplay(ctx, d, gpu.Command{Program: v.Program, Params: a.Params, Arguments: buffers, Groups: v.Groups}, latency)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Program.Name, err)
		}
		replays[i] = r
		ms, err := r.Time(ctx)
		if err != nil {
			return nil, err
		}
		if i > 0 && ms > hopeless*fastest {
			r.Release()
			replays[i] = nil
			continue
		}
		if i == 0 || ms < fastest {
			fastest = ms
		}
	}
	times := make([][]float64, len(a.Variants))
	for range repeats {
		for i, r := range replays {
			if r == nil {
				continue
			}
			ms, err := r.Time(ctx)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], ms)
		}
	}
	return times, nil
}
