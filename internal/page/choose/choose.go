package choose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime"

	"mrprism/internal/program/version"
	"mrprism/shaders/gpu"
)

// Memory keeps the times from run to run. If it cannot keep them, they are measured again.
type Memory interface {
	Get(key string) (text []byte, err error) // nil: nothing is kept
	Put(key string, text []byte) error
}

// pair names the two devices whose times are kept. Another driver, number of threads or version of
// the program makes another pair.
type pair struct {
	Backend   string `json:"backend"`
	Adapter   string `json:"adapter"`
	Driver    string `json:"driver"`
	Processor string `json:"processor"` // with its vectors
	Threads   int    `json:"threads"`
	Program   string `json:"program"` // MrPrism's version
}

// record is a pair's entry in the memory.
type record struct {
	pair
	Times
	Failures int `json:"failures,omitempty"` // measurements that were begun and gave no times
}

// mostFailures is how often the measurement of a pair may fail before it is given up.
const mostFailures = 2

var errFailed = errors.New("it could not be measured")

// With returns a function for device.Options.Compare. It measures a pair of devices if the memory
// does not know it.
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
				_ = memory.Put(p.key(), append(text, '\n')) // without it the pair is measured again
			}
		}
		r.Failures++ // before the measurement, since a driver may end the program
		keep()
		times, err := Measure(ctx, adapter, processor)
		if ctx.Err() != nil { // the user ended it: that is no failure
			r.Failures--
			keep()
			return 0, ctx.Err()
		}
		if err != nil {
			return 0, err
		}
		r.Times, r.Failures = times, 0
		keep()
		return times.Ratio(), nil
	}
}

// source is a variable so that tests can replace it.
var source = version.Source()

func pairOf(adapter, processor gpu.Info) pair {
	return pair{adapter.Backend, adapter.Adapter, adapter.Driver, processor.Adapter, runtime.GOMAXPROCS(0), source}
}

// key names the pair in a memory, without the program's version: the next version replaces the
// record.
func (p pair) key() string {
	p.Program = ""
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v", p)
	return fmt.Sprintf("faster-%016x", h.Sum64())
}
