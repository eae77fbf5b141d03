package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"mrprism/model"
)

// report is what a run found; its JSON is for scripts and -compare. Times are milliseconds where their names do not say otherwise.
type report struct {
	Adapter   string          `json:"adapter"` // what really computed
	Backend   string          `json:"backend"`
	Kind      string          `json:"kind"`
	Driver    string          `json:"driver"`
	Options   options         `json:"options"`
	Ceilings  *ceilings       `json:"ceilings"`
	Inference *inferenceTimes `json:"inference"`
	Training  *trainingTimes  `json:"training,omitempty"`
	Kernels   []kernelTimes   `json:"kernels,omitempty"`
}

type inferenceTimes struct {
	CompileMS            float64 `json:"compile_ms"`   // graphs, memory, pipelines, bind groups, from nothing
	PipelinesMS          float64 `json:"pipelines_ms"` // of that
	Pipelines            int     `json:"pipelines"`
	FirstMS              float64 `json:"first_ms"` // the same, the first time
	Encoder              spread  `json:"encoder"`
	Recurrence           spread  `json:"recurrence"`
	FourPasses           spread  `json:"four_passes"` // encoder, four recurrences and the raters' labels
	EncoderDispatches    int     `json:"encoder_dispatches"`
	RecurrenceDispatches int     `json:"recurrence_dispatches"`
	Dispatches           int     `json:"dispatches"` // of four passes, and of the raters' labels after the last
	Bytes                int64   `json:"bytes"`      // of GPU buffers, all of which live as long as the network: plans and variables
	ToF32                *ratios `json:"to_f32,omitempty"`
}

// ratios are those of another precision to f32, of runs in turn.
type ratios struct {
	Encoder    spread  `json:"encoder"`
	Recurrence spread  `json:"recurrence"`
	FourPasses spread  `json:"four_passes"`
	Bytes      float64 `json:"bytes"`
}

type trainingTimes struct {
	CompileMS   float64 `json:"compile_ms"`
	PipelinesMS float64 `json:"pipelines_ms"` // those that inference has compiled already cost nothing
	Pipelines   int     `json:"pipelines"`
	FirstMS     float64 `json:"first_ms"`
	Step        spread  `json:"step"`
	Dispatches  int     `json:"dispatches"`
	Bytes       int64   `json:"bytes"`
}

// spread is of n measurements.
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

// one is a value that was taken once.
func one(v float64) spread { return spread{v, v, v, 1} }

// scaled multiplies all values.
func (s spread) scaled(by float64) spread {
	return spread{s.Median * by, s.Least * by, s.Most * by, s.N}
}

// rate is so much work in each of the times.
func (s spread) rate(work float64) spread {
	return spread{work / s.Median, work / s.Most, work / s.Least, s.N}
}

// figure is one line of a report.
type figure struct {
	name, unit string
	spread
}

// figures are all but the kernels.
func (r *report) figures() []figure {
	const ms = "ms"
	c, i := r.Ceilings, r.Inference
	out := []figure{{"ceiling of multiply-adds", "GFLOP/s", c.Arithmetic}}
	if c.Int8.N > 0 {
		out = append(out, figure{"ceiling of multiply-adds of int8", "Gop/s", c.Int8})
	}
	out = append(out, []figure{
		{"ceiling of copying", "GB/s", c.Memory}, {"a dispatch of nothing", "µs", c.Dispatch},
		{"encoder", ms, i.Encoder}, {"one recurrence", ms, i.Recurrence}, {"four passes, warm", ms, i.FourPasses},
		{"four passes, the first time", ms, one(i.FirstMS)}, {"compile", ms, one(i.CompileMS)},
		{"compile, pipelines alone", ms, one(i.PipelinesMS)}, {"network", "pipelines", one(float64(i.Pipelines))},
		{"encoder", "dispatches", one(float64(i.EncoderDispatches))}, {"one recurrence", "dispatches", one(float64(i.RecurrenceDispatches))},
		{"four passes", "dispatches", one(float64(i.Dispatches))},
		{"network", "MiB of buffers", one(mebibytes(i.Bytes))},
	}...)
	if t := i.ToF32; t != nil {
		out = append(out, []figure{
			{"encoder", "of f32", t.Encoder}, {"one recurrence", "of f32", t.Recurrence}, {"four passes, warm", "of f32", t.FourPasses},
			{"network, buffers", "of f32", one(t.Bytes)},
		}...)
	}
	if t := r.Training; t != nil {
		out = append(out, []figure{
			{"training step, warm", ms, t.Step}, {"training step, the first time", ms, one(t.FirstMS)},
			{"training step, compile", ms, one(t.CompileMS)}, {"training step, compile, pipelines alone", ms, one(t.PipelinesMS)},
			{"training step", "pipelines", one(float64(t.Pipelines))}, {"training step", "dispatches", one(float64(t.Dispatches))},
			{"training step", "MiB of buffers", one(mebibytes(t.Bytes))},
		}...)
	}
	return out
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// table writes the report for people.
func (r *report) table(out io.Writer) error {
	fmt.Fprintf(out, "computed by  %s\nnetwork      %s\n", r.device(), r.Options.network())
	if r.Training != nil {
		fmt.Fprintf(out, "training     %s\n", r.step())
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tmedian\tleast\tmost\tof\n")
	for _, f := range r.figures() {
		fmt.Fprintf(w, "%s\t%s %s", f.name, digits(f.Median), f.unit)
		if f.N > 1 {
			fmt.Fprintf(w, "\t%s\t%s\t%d", digits(f.Least), digits(f.Most), f.N)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return r.kernelTables(out)
}

// device, network and step say what was measured.
func (r *report) device() string {
	return fmt.Sprintf("%s [%s, %s] %s", r.Adapter, r.Backend, r.Kind, r.Driver)
}

func (o *options) network() string {
	values := "random weights"
	if o.Weights != "" {
		values = "weights " + o.Weights
	}
	if o.Precision != "" && o.Precision != model.F32 {
		values += ", " + string(o.Precision)
	}
	return fmt.Sprintf("%s, %d raters, %d classes, %d×%d pixels, %s", o.Config, o.Raters, o.Classes, o.Side, o.Side, values)
}

func (r *report) step() string {
	again := ""
	if r.Options.Recompute {
		again = ", recomputing"
	}
	return fmt.Sprintf("batch %d, recipe %s%s", r.Options.Batch, r.Options.Recipe, again)
}

// digits writes a number with three digits or more.
func digits(v float64) string {
	switch {
	case v == float64(int64(v)) || v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
