package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// report is what a run found; its JSON is for scripts. Times are milliseconds.
type report struct {
	Adapter   string          `json:"adapter"` // what really computed
	Backend   string          `json:"backend"`
	Kind      string          `json:"kind"`
	Driver    string          `json:"driver"`
	Options   options         `json:"options"`
	Inference *inferenceTimes `json:"inference"`
	Training  *trainingTimes  `json:"training,omitempty"`
}

type inferenceTimes struct {
	CompileMS            float64 `json:"compile_ms"` // graphs, memory, pipelines, bind groups, from nothing
	FirstMS              float64 `json:"first_ms"`   // encoder and four recurrences, the first time
	Encoder              spread  `json:"encoder"`
	Recurrence           spread  `json:"recurrence"`
	FourPasses           spread  `json:"four_passes"` // encoder and four recurrences
	EncoderDispatches    int     `json:"encoder_dispatches"`
	RecurrenceDispatches int     `json:"recurrence_dispatches"`
	Bytes                int64   `json:"bytes"` // of GPU buffers: plans and variables
}

type trainingTimes struct {
	CompileMS  float64 `json:"compile_ms"`
	FirstMS    float64 `json:"first_ms"`
	Step       spread  `json:"step"`
	Dispatches int     `json:"dispatches"`
	Bytes      int64   `json:"bytes"`
}

// spread is of n times in milliseconds.
type spread struct {
	Median float64 `json:"median_ms"`
	Least  float64 `json:"least_ms"`
	Most   float64 `json:"most_ms"`
	N      int     `json:"n"`
}

func spreadOf(ms []float64) spread {
	s := slices.Sorted(slices.Values(ms))
	n := len(s)
	return spread{Median: (s[(n-1)/2] + s[n/2]) / 2, Least: s[0], Most: s[n-1], N: n}
}

// table writes the report for people.
func (r *report) table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	o := r.Options
	values := "random weights"
	if o.Weights != "" {
		values = "weights " + o.Weights
	}
	fmt.Fprintf(out, "computed by  %s [%s, %s] %s\n", r.Adapter, r.Backend, r.Kind, r.Driver)
	fmt.Fprintf(out, "network      %s, %d raters, %d classes, %d×%d pixels, %s\n\n", o.Config, o.Raters, o.Classes, o.Side, o.Side, values)
	line("ms\tmedian\tleast\tmost\tof")
	row := func(name string, s spread) { line("%s\t%.1f\t%.1f\t%.1f\t%d", name, s.Median, s.Least, s.Most, s.N) }
	i := r.Inference
	row("encoder", i.Encoder)
	row("one recurrence", i.Recurrence)
	row("four passes, warm", i.FourPasses)
	line("four passes, the first time\t%.1f", i.FirstMS)
	line("compile\t%.1f", i.CompileMS)
	if t := r.Training; t != nil {
		row(fmt.Sprintf("training step, batch %d", o.Batch), t.Step)
		line("training step, the first\t%.1f", t.FirstMS)
		line("training step, compile\t%.1f", t.CompileMS)
	}
	line("\t")
	line("dispatches\tencoder %d, one recurrence %d", i.EncoderDispatches, i.RecurrenceDispatches)
	line("GPU buffers\t%s", mebibytes(i.Bytes))
	if t := r.Training; t != nil {
		line("training step\t%d dispatches, %s of GPU buffers", t.Dispatches, mebibytes(t.Bytes))
	}
	return w.Flush()
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
