// Package measure times the network, its kernels and a training step on a device, or in a page.
package measure

import (
	"slices"
)

// Report is the result of a run; its JSON is for scripts, and for Compare. Times are in
// milliseconds unless the name has another unit.
type Report struct {
	Adapter   string          `json:"adapter"` // the device that computed
	Backend   string          `json:"backend"`
	Kind      string          `json:"kind"`
	Driver    string          `json:"driver"`
	Options   Options         `json:"options"`
	Ceilings  *ceilings       `json:"ceilings"`
	Inference *inferenceTimes `json:"inference"`
	Training  *trainingTimes  `json:"training,omitempty"`
	Kernels   []kernelTimes   `json:"kernels,omitempty"`
	Timelines []timeline      `json:"timelines,omitempty"`
}

type inferenceTimes struct {
	CompileMS   float64 `json:"compile_ms"`   // graphs, memory, pipelines, bind groups, from nothing
	PipelinesMS float64 `json:"pipelines_ms"` // part of CompileMS
	Pipelines   int     `json:"pipelines"`
	FirstMS     float64 `json:"first_ms"` // four passes, the first time
	Encoder     Spread  `json:"encoder"`
	Recurrence  Spread  `json:"recurrence"`
	// encoder, four recurrences and the raters' labels
	FourPasses Spread `json:"four_passes"`
	// With Evidence: a pass that settles around marks, and two of them after new marks, with the
	// raters' labels.
	Settle               Spread  `json:"settle,omitzero"`
	Recalibration        Spread  `json:"recalibration,omitzero"`
	EncoderDispatches    int     `json:"encoder_dispatches"`
	RecurrenceDispatches int     `json:"recurrence_dispatches"`
	Dispatches           int     `json:"dispatches"` // of four passes
	Bytes                int64   `json:"bytes"`      // of all GPU buffers: plans and variables
	ToF32                *ratios `json:"to_f32,omitempty"`
}

// ratios are ratios of another precision to f32, from runs in turn.
type ratios struct {
	Encoder    Spread  `json:"encoder"`
	Recurrence Spread  `json:"recurrence"`
	FourPasses Spread  `json:"four_passes"`
	Bytes      float64 `json:"bytes"`
}

type trainingTimes struct {
	CompileMS   float64 `json:"compile_ms"`
	PipelinesMS float64 `json:"pipelines_ms"` // without the pipelines that inference has compiled
	Pipelines   int     `json:"pipelines"`
	FirstMS     float64 `json:"first_ms"`
	Step        Spread  `json:"step"`
	Dispatches  int     `json:"dispatches"`
	Bytes       int64   `json:"bytes"`
}

// Spread summarises n measurements.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	N      int     `json:"n"`
}

func SpreadOf(values []float64) Spread {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return Spread{Median: (s[(n-1)/2] + s[n/2]) / 2, Least: s[0], Most: s[n-1], N: n}
}

// single is the spread of a single measurement.
func single(v float64) Spread { return Spread{v, v, v, 1} }

// scaled multiplies all values.
func (s Spread) scaled(by float64) Spread {
	return Spread{s.Median * by, s.Least * by, s.Most * by, s.N}
}

// rate is an amount of work divided by the times.
func (s Spread) rate(work float64) Spread {
	return Spread{work / s.Median, work / s.Most, work / s.Least, s.N}
}
