//go:build !js

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"mrprism/cmd/bench/measure"
	"mrprism/internal/output/table"
)

// pause is a pause in which the threads of one peer stop looking for work.
const pause = 50 * time.Millisecond

// peer computes a part of the network: our program or another runtime, in this process or another.
type peer interface {
	ask(ctx context.Context, j job) answer
}

// match compares our program with another runtime. Both compute the same part of the network on the
// same image, in turn.
type match struct {
	Part       string         `json:"part"`
	OursName   string         `json:"ours_name"`
	TheirsName string         `json:"theirs_name"`
	Ours       measure.Spread `json:"ours"`   // ms, from the image to all results in memory
	Theirs     measure.Spread `json:"theirs"` // ms
	// ours/theirs of the medians, with the range of neighbouring runs
	Ratio measure.Spread `json:"ratio"`
	// the largest difference, relative to values above 1; for a step, of loss and norms
	Difference float64 `json:"difference"`
	Agreement  float64 `json:"agreement"` // limit of Difference
}

// Sums of float32 in another order may differ by agreement. From tooFar on, networks differ.
const agreement, tooFar = 1e-4, 1e-2

// report is the result.
type report struct {
	Options measure.Options `json:"options"`
	Matches []match         `json:"matches"`
}

// matches compares both parts and then times them. With an error it returns the finished parts.
func matches(ctx context.Context, o measure.Options, ours, theirs peer, oursName, theirsName string, tell func(string)) (out []match, err error) {
	for _, part := range []string{encoderAlone, wholeNetwork} {
		tell(part + ": comparing with " + theirsName)
		x := match{Part: part, OursName: oursName, TheirsName: theirsName, Agreement: agreement}
		ask := func(p peer, values bool) answer {
			a := p.ask(ctx, job{part, values})
			if a.Error != "" && err == nil {
				err = fmt.Errorf("%s, %s: %s", part, map[bool]string{true: oursName, false: theirsName}[p == ours], a.Error)
			}
			return a
		}
		a, b := ask(ours, true), ask(theirs, true) // this also warms both up
		if err == nil {
			x.Difference, err = furthest(a.Values, b.Values)
		}
		if err != nil {
			return out, err
		}
		run := func(p peer) func() (float64, error) {
			return func() (float64, error) { return ask(p, false).MS, err }
		}
		if err := x.time(o.Repeats, func(i int) { tell(fmt.Sprintf("%s: run %d of %d beside %s", part, i+1, o.Repeats, theirsName)) }, run(ours), run(theirs)); err != nil {
			return out, err
		}
		out = append(out, x)
	}
	return out, nil
}

// time times runs of both peers in turn. Each returns the milliseconds of a run.
func (m *match) time(repeats int, begin func(i int), ours, theirs func() (float64, error)) error {
	var times, theirTimes []float64
	for i := range repeats {
		begin(i)
		for _, peer := range []struct {
			run   func() (float64, error)
			times *[]float64
		}{{ours, &times}, {theirs, &theirTimes}} {
			time.Sleep(pause)
			ms, err := peer.run()
			if err != nil {
				return err
			}
			*peer.times = append(*peer.times, ms)
		}
	}
	m.Ours, m.Theirs, m.Ratio = measure.SpreadOf(times), measure.SpreadOf(theirTimes), measure.RatiosOf(times, theirTimes)
	m.Ratio.Median = m.Ours.Median / m.Theirs.Median
	return nil
}

// furthest is the largest difference between results of the same names.
func furthest(ours, theirs map[string][]float32) (float64, error) {
	most := 0.0
	for name, values := range ours {
		if len(theirs[name]) != len(values) {
			return 0, fmt.Errorf("output %s has %d values here and %d there", name, len(values), len(theirs[name]))
		}
		scale := 1.0
		for _, v := range values {
			scale = max(scale, math.Abs(float64(v)))
		}
		for i, v := range values {
			d := math.Abs(float64(v)-float64(theirs[name][i])) / scale
			if !(d < tooFar) {
				return 0, fmt.Errorf("output %s, value %d is %v here and %v there: not the same network", name, i, v, theirs[name][i])
			}
			most = max(most, d)
		}
	}
	if len(ours) != len(theirs) {
		return 0, fmt.Errorf("%d outputs here and %d there", len(ours), len(theirs))
	}
	return most, nil
}

// table prints the matches.
func (r *report) table(out io.Writer) error {
	t := table.New(2, 0)
	t.Line("network      %s\nin turn      ours, theirs, ours, theirs ...\n", r.Options.Network())
	t.Line("part\tours ms\ttheirs ms\tratio\tfrom\tto\tof\tdiffer by\tours\ttheirs")
	for _, m := range r.Matches {
		remark := ""
		if m.Difference > m.Agreement {
			remark = " (!)"
		}
		t.Line("%s\t%s\t%s\t%s\t%s\t%s\t%d\t%.1g%s\t%s\t%s", m.Part, measure.Digits(m.Ours.Median), measure.Digits(m.Theirs.Median),
			measure.Digits(m.Ratio.Median), measure.Digits(m.Ratio.Least), measure.Digits(m.Ratio.Most), m.Ratio.N, m.Difference, remark, m.OursName, m.TheirsName)
	}
	return t.Print(out)
}
