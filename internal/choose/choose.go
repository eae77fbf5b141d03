package choose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime"
	"runtime/debug"
	"strings"

	"mrprism/internal/gpu"
)

// Memory is where what was found stays from run to run. What it cannot keep is measured again.
type Memory interface {
	Get(key string) (text []byte, err error) // nil: nothing is there
	Put(key string, text []byte) error
}

// pair is what was compared: with another driver, version of the program or number of threads it is
// another.
type pair struct {
	Backend   string `json:"backend"`
	Adapter   string `json:"adapter"`
	Driver    string `json:"driver"`
	Processor string `json:"processor"` // with its vectors
	Threads   int    `json:"threads"`
	Program   string `json:"program"` // MrPrism's version
}

// record is what is remembered of a pair.
type record struct {
	pair
	Times
	Failures int `json:"failures,omitempty"` // measurements that were begun and gave no times
}

// mostFailures: what failed so often is not measured again.
const mostFailures = 2

// errFailed is that of a measurement which is not tried again.
var errFailed = errors.New("it could not be measured")

// With gives the function by which device.Options.Compare is to compare: it measures what the
// memory does not know.
func With(memory Memory) func(ctx context.Context, adapter, processor gpu.Device) (ratio float64, err error) {
	return func(ctx context.Context, adapter, processor gpu.Device) (float64, error) {
		p := pairOf(adapter.Info(), processor.Info())
		r := record{pair: p}
		if text, err := memory.Get(p.key()); err == nil && text != nil {
			var there record
			if json.Unmarshal(text, &there) == nil && there.pair == p {
				r = there
			}
		}
		if r.Failures >= mostFailures {
			return 0, errFailed
		}
		if r.AdapterMS > 0 && r.ProcessorMS > 0 {
			return r.Ratio(), nil
		}
		keep := func() {
			if text, err := json.MarshalIndent(r, "", "  "); err == nil {
				_ = memory.Put(p.key(), append(text, '\n')) // where nothing can be kept it is measured again
			}
		}
		r.Failures++ // until it has not: a driver may take the program with it
		keep()
		times, err := Measure(ctx, adapter, processor)
		if ctx.Err() != nil { // the user's wish, and no failure
			r.Failures--
			keep()
			return 0, ctx.Err()
		}
		if err == nil {
			r.Times, r.Failures = times, 0
			keep()
		}
		if err != nil {
			return 0, err
		}
		return times.Ratio(), nil
	}
}

func pairOf(adapter, processor gpu.Info) pair {
	return pair{adapter.Backend, adapter.Adapter, adapter.Driver, processor.Adapter, runtime.GOMAXPROCS(0), version()}
}

// key names the pair in a memory, without the program's version: another version's record is
// replaced.
func (p pair) key() string {
	p.Program = ""
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v", p)
	return fmt.Sprintf("faster-%016x", h.Sum64())
}

// commit is set by the Makefile: -ldflags "-X mrprism/internal/choose.commit=…".
var commit string

// version is that of the program, as far as its build knows it.
func version() string {
	revision := commit
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return strings.TrimSpace(revision + " " + runtime.Version())
}
