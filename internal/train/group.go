package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"mrprism/shaders/gpu"
	"mrprism/shaders/ranks"
)

// group is the ranks of a run, and the time that they cost. A nil group is one rank.
type group struct {
	ranks.Ranks
	waiting time.Duration // since the last call of waited
}

func newGroup(r ranks.Ranks) *group {
	if r == nil {
		return nil
	}
	return &group{Ranks: r}
}

// Mean is Ranks.Mean; it counts the time for which the run waits.
func (g *group) Mean(values []float32) (wait func() error) {
	end := g.Ranks.Mean(values)
	return func() error {
		began := time.Now()
		defer func() { g.waiting += time.Since(began) }()
		return end()
	}
}

// waited is the time in seconds since the last call for which the run waited for other ranks.
func (g *group) waited() float64 {
	if g == nil {
		return 0
	}
	defer func() { g.waiting = 0 }()
	return g.waiting.Seconds()
}

// average replaces the loss and the terms of a step by their means over the ranks.
func (g *group) average(names []string, now *Report) error {
	if g == nil {
		return nil
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	values := []float32{float32(now.Loss)}
	for _, name := range names {
		values = append(values, float32(now.Terms[name]))
	}
	if err := g.Mean(values)(); err != nil {
		return err
	}
	now.Loss = float64(values[0])
	for i, name := range names {
		now.Terms[name] = float64(values[i+1])
	}
	return nil
}

// decide ends the run if the context has ended or patience is out. If one rank has to end, all
// ranks end after the same step.
func (t *Trainer) decide(ctx context.Context) error {
	ends := ctx.Err() != nil || t.outOfPatience()
	if t.group != nil {
		wish := []float32{0}
		if ends {
			wish[0] = 1
		}
		if err := t.group.Ranks.Mean(wish)(); err != nil { // its time is part of no step
			return err
		}
		ends = wish[0] > 0
	}
	t.ended = ends
	return nil
}

// stranger is what a rank tells the others first: where it runs, its clock, and the values that
// have to be the same on all ranks.
type stranger struct {
	Host  string
	Clock time.Time
	Same  map[string]string
}

// ErrDiffer means that ranks were started with different choices.
var ErrDiffer = errors.New("cannot train together")

// mostApart is how much clocks may differ. Checkpoints, logs and -hours use the clock of one rank.
const mostApart = 5 * time.Second

// introduce returns an error if ranks differ in programs, options, devices or clocks.
func (o Options) introduce(info gpu.Info) error {
	if o.Ranks != nil {
		o.tell(fmt.Sprintf("%d ranks, with %d of the %d batches of a step each", o.size(), o.batches(), o.accumulate()))
	}
	return o.requireSame(map[string]string{"version": o.Commit, "options": o.fingerprint(), "device": computedOn(info)})
}

// agree returns an error if ranks have read different images, or begin with different weights.
func (t *Trainer) agree(ctx context.Context) error {
	if t.group == nil {
		return nil
	}
	images, table := t.images(), crc64.MakeTable(crc64.ECMA)
	sum := uint64(0)
	for _, c := range t.cases {
		sum = c.Sum(sum)
	}
	variables := t.state()
	values, err := t.set.Read(ctx, variables...)
	if err != nil {
		return err
	}
	weights := uint64(0)
	for _, v := range values {
		for _, x := range v {
			b := math.Float32bits(x)
			weights = crc64.Update(weights, table, []byte{byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24)})
		}
	}
	return t.Options.requireSame(map[string]string{
		"images": fmt.Sprintf("%s, their content %016x", images, sum), "split": t.Split(),
		"beginning": fmt.Sprintf("step %d, variables %016x", t.step, weights),
	})
}

// requireSame returns an error if a value differs that has to be the same on all ranks.
func (o Options) requireSame(same map[string]string) error {
	if o.Ranks == nil {
		return nil
	}
	if _, err := o.Ranks.Gather(nil); err != nil { // all ranks pass this at the same moment
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "a host without a name"
	}
	text, err := json.Marshal(stranger{host, time.Now(), same})
	if err != nil {
		return err
	}
	gathered, err := o.Ranks.Gather(text)
	if err != nil {
		return err
	}
	all := make([]stranger, len(gathered))
	for i, text := range gathered {
		if err := json.Unmarshal(text, &all[i]); err != nil {
			return fmt.Errorf("rank %d runs another program: %w", i, err)
		}
	}
	return differ(all)
}

// differ is an error that names the first rank that differs from rank 0, and in what.
func differ(all []stranger) error {
	first := all[0]
	for i, s := range all[1:] {
		var lines []string
		for _, what := range slices.Sorted(maps.Keys(first.Same)) {
			had, has := first.Same[what], s.Same[what]
			switch {
			case had == has:
			case what == "options":
				lines = append(lines, differences(had, has, "here", "there"))
			default:
				lines = append(lines, fmt.Sprintf("  %s: here %q, there %q", what, had, has))
			}
		}
		if apart := s.Clock.Sub(first.Clock).Abs(); apart > mostApart {
			lines = append(lines, fmt.Sprintf("  clock: there it is %v off", apart.Round(time.Second)))
		}
		if len(lines) > 0 {
			return fmt.Errorf("rank 0 on %s and rank %d on %s %w:\n%s\nStart the same program with the same flags on all, with the same data in view and clocks that are set",
				first.Host, i+1, s.Host, ErrDiffer, strings.Join(lines, "\n"))
		}
	}
	return nil
}
