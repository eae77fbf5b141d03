package main

import (
	"slices"
)

// report is the result of a run; its JSON is for scripts and -compare. Times are in milliseconds
// unless the name has another unit.
type report struct {
	Adapter   string          `json:"adapter"` // the device that computed
	Backend   string          `json:"backend"`
	Kind      string          `json:"kind"`
	Driver    string          `json:"driver"`
	Options   options         `json:"options"`
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
	Encoder     spread  `json:"encoder"`
	Recurrence  spread  `json:"recurrence"`
	// encoder, four recurrences and the raters' labels
	FourPasses spread `json:"four_passes"`
	// With Evidence: a pass that settles around marks, and two of them after new marks, with the
	// raters' labels.
	Settle               spread  `json:"settle,omitzero"`
	Recalibration        spread  `json:"recalibration,omitzero"`
	EncoderDispatches    int     `json:"encoder_dispatches"`
	RecurrenceDispatches int     `json:"recurrence_dispatches"`
	Dispatches           int     `json:"dispatches"` // of four passes
	Bytes                int64   `json:"bytes"`      // of all GPU buffers: plans and variables
	ToF32                *ratios `json:"to_f32,omitempty"`
}

// ratios are ratios of another precision to f32, from runs in turn.
type ratios struct {
	Encoder    spread  `json:"encoder"`
	Recurrence spread  `json:"recurrence"`
	FourPasses spread  `json:"four_passes"`
	Bytes      float64 `json:"bytes"`
}

type trainingTimes struct {
	CompileMS   float64 `json:"compile_ms"`
	PipelinesMS float64 `json:"pipelines_ms"` // without the pipelines that inference has compiled
	Pipelines   int     `json:"pipelines"`
	FirstMS     float64 `json:"first_ms"`
	Step        spread  `json:"step"`
	Dispatches  int     `json:"dispatches"`
	Bytes       int64   `json:"bytes"`
}

// spread summarises n measurements.
type spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	N      int     `json:"n"`
}

func spreadOf(values []float64) spread {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return spread{Median: (s[(n-1)/2] + s[n/2]) / 2, Least: s[0], Most: s[n-1], N: n}
}

// single is the spread of a single measurement.
func single(v float64) spread { return spread{v, v, v, 1} }

// scaled multiplies all values.
func (s spread) scaled(by float64) spread {
	return spread{s.Median * by, s.Least * by, s.Most * by, s.N}
}

// rate is an amount of work divided by the times.
func (s spread) rate(work float64) spread {
	return spread{work / s.Median, work / s.Most, work / s.Least, s.N}
}
