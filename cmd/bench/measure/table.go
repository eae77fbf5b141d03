package measure

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"mrprism/internal/output/table"
	"mrprism/model"
)

// figure is a line of a report.
type figure struct {
	name, unit string
	Spread
}

// figures are the lines of the report, without the kernels.
func (r *Report) figures() []figure {
	const ms = "ms"
	c, i := r.Ceilings, r.Inference
	out := []figure{{"ceiling of multiply-adds", "GFLOP/s", c.Arithmetic}}
	if c.Int8.N > 0 {
		out = append(out, figure{"ceiling of multiply-adds of int8", "Gop/s", c.Int8})
	}
	out = append(out, []figure{
		{"ceiling of copying", "GB/s", c.Memory}, {"a dispatch of nothing", "µs", c.Dispatch},
		{"encoder", ms, i.Encoder}, {"one recurrence", ms, i.Recurrence}, {"four passes, warm", ms, i.FourPasses},
		{"four passes, the first time", ms, single(i.FirstMS)}, {"compile", ms, single(i.CompileMS)},
		{"compile, pipelines alone", ms, single(i.PipelinesMS)}, {"network", "pipelines", count(i.Pipelines)},
		{"encoder", "dispatches", count(i.EncoderDispatches)}, {"one recurrence", "dispatches", count(i.RecurrenceDispatches)},
		{"four passes", "dispatches", count(i.Dispatches)}, {"network", "MiB of buffers", mebibytes(i.Bytes)},
	}...)
	if i.Settle.N > 0 {
		out = append(out, figure{"one pass around marks", ms, i.Settle}, figure{"new marks, two passes", ms, i.Recalibration})
	}
	if t := i.ToF32; t != nil {
		out = append(out, []figure{
			{"encoder", "of f32", t.Encoder}, {"one recurrence", "of f32", t.Recurrence}, {"four passes, warm", "of f32", t.FourPasses},
			{"network, buffers", "of f32", single(t.Bytes)},
		}...)
	}
	if t := r.Training; t != nil {
		out = append(out, []figure{
			{"training step, warm", ms, t.Step}, {"training step, the first time", ms, single(t.FirstMS)},
			{"training step, compile", ms, single(t.CompileMS)}, {"training step, compile, pipelines alone", ms, single(t.PipelinesMS)},
			{"training step", "pipelines", count(t.Pipelines)}, {"training step", "dispatches", count(t.Dispatches)},
			{"training step", "MiB of buffers", mebibytes(t.Bytes)},
		}...)
	}
	return out
}

func count(n int) Spread { return single(float64(n)) }

func mebibytes(n int64) Spread { return single(float64(n) / (1 << 20)) }

// Table prints the report.
func (r *Report) Table(out io.Writer) error {
	t := table.New(2, 0)
	t.Line("computed by  %s\nnetwork      %s", r.device(), r.Options.Network())
	if r.Training != nil {
		t.Line("training     %s", r.step())
	}
	t.Line("\n\tmedian\tleast\tmost\tof")
	for _, f := range r.figures() {
		rest := ""
		if f.N > 1 {
			rest = fmt.Sprintf("\t%s\t%s\t%d", Digits(f.Least), Digits(f.Most), f.N)
		}
		t.Line("%s\t%s %s%s", f.name, Digits(f.Median), f.unit, rest)
	}
	if err := t.Print(out); err != nil {
		return err
	}
	for _, part := range parts(r.Kernels) {
		for _, t := range r.Timelines {
			if t.Part == part[0].Part {
				fmt.Fprintf(out, "\n%s on the device's clock: %s ms, of which its %d dispatches take %s ms\n", t.Part, Digits(t.All), t.Count, Digits(t.Busy))
			}
		}
		for _, programs := range []bool{true, false} {
			if err := kernelTable(out, part, programs); err != nil {
				return err
			}
		}
	}
	return nil
}

// row is a line of a table of kernels: all dispatches of one shape, or of one program.
type row struct {
	name, shape    string
	dispatches     int
	ms, inPlace    float64
	gflop, gb      float64
	adding, atBest float64 // ms at the ceiling of multiply-adds, and at the nearest ceiling
}

func (t *kernelTimes) row() row {
	n := float64(t.Dispatches)
	ms := n * t.Time.Median
	return row{t.Name, t.Shape, t.Dispatches, ms, n * t.InPlace, n * t.GFLOP, n * t.GB, ms * t.Adds, ms * t.Ceiling}
}

// rows are the shapes, or sums by program, the longest time first.
func rows(part []kernelTimes, programs bool) []row {
	var out []row
	for i := range part {
		r := part[i].row()
		at := -1
		if programs {
			r.shape = ""
			at = slices.IndexFunc(out, func(o row) bool { return o.name == r.name })
		}
		if at < 0 {
			out = append(out, r)
			continue
		}
		o := &out[at]
		o.dispatches += r.dispatches
		o.ms, o.inPlace, o.gflop, o.gb = o.ms+r.ms, o.inPlace+r.inPlace, o.gflop+r.gflop, o.gb+r.gb
		o.adding, o.atBest = o.adding+r.adding, o.atBest+r.atBest
	}
	slices.SortStableFunc(out, func(a, b row) int { return cmp.Compare(b.ms, a.ms) })
	return out
}

// parts splits the kernels into those of encoder, recurrence, rater labels and training step.
func parts(kernels []kernelTimes) [][]kernelTimes {
	var out [][]kernelTimes
	for i, k := range kernels {
		if i == 0 || k.Part != kernels[i-1].Part {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], k)
	}
	return out
}

// smallestShare is the share of a part's time below which a kernel has no line in tables. The JSON
// has all kernels.
const smallestShare = 0.005

func kernelTable(out io.Writer, part []kernelTimes, programs bool) error {
	all, sum := rows(part, programs), 0.0
	for _, r := range all {
		sum += r.ms
	}
	what := "shapes"
	if programs {
		what = "programs"
	}
	t := table.New(2, tabwriter.AlignRight)
	t.Title("%s by %s, each dispatch alone: %s ms together\n", part[0].Part, what, Digits(sum))
	t.Line("ms\tin place\tshare\tdispatches\tMFLOP\tGFLOP/s\tMB\tGB/s\tof adds\tof ceiling\t")
	for _, r := range all {
		if r.ms < smallestShare*sum {
			break
		}
		inPlace := "–" // without a clock
		if r.inPlace > 0 {
			inPlace = Digits(r.inPlace)
		}
		t.Line("%s\t%s\t%.1f %%\t%d\t%s\t%s\t%s\t%s\t%.0f %%\t%.0f %%\t  %s  %s", Digits(r.ms), inPlace, 100*r.ms/sum, r.dispatches,
			Digits(1e3*r.gflop), Digits(1e3*r.gflop/r.ms), Digits(1e3*r.gb), Digits(1e3*r.gb/r.ms), 100*r.adding/r.ms, 100*r.atBest/r.ms, r.name, r.shape)
	}
	return t.Print(out)
}

// device and step describe what was measured.
func (r *Report) device() string {
	return fmt.Sprintf("%s [%s, %s] %s", r.Adapter, r.Backend, r.Kind, r.Driver)
}

// Network describes the network.
func (o *Options) Network() string {
	values := "random weights"
	if o.Weights != "" {
		values = "weights " + o.Weights
	}
	if o.Precision != "" && o.Precision != model.F32 {
		values += ", " + string(o.Precision)
	}
	return fmt.Sprintf("%s, %d raters, %d classes, %d×%d pixels, %s", o.Config, o.Raters, o.Classes, o.Side, o.Side, values)
}

func (r *Report) step() string {
	return fmt.Sprintf("batch %d, recipe %s", r.Options.Batch, r.Options.Recipe)
}

// ReadReport reads a report that -json wrote.
func ReadReport(file string) (*Report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s is no Report of bench -json: %w", file, err)
	}
	if r.Ceilings == nil || r.Inference == nil {
		return nil, fmt.Errorf("%s is no Report of this version of bench: write it again with -json", file)
	}
	return r, nil
}

// ratio is now/base of the medians, with the range of ratios that both spreads allow.
func ratio(base, now Spread) Spread {
	return Spread{Median: now.Median / base.Median, Least: now.Least / base.Most, Most: now.Most / base.Least, N: min(base.N, now.N)}
}

// Compare prints the ratio of every figure that both reports have. First it names what differs
// between the reports.
func Compare(out io.Writer, base, now *Report) error {
	t := table.New(2, 0)
	t.Title("ratios: now (%s) / base (%s)", now.Options.Commit, base.Options.Commit)
	differ := func(what, was, is string) {
		if was != is {
			t.Line("NOT THE SAME %s: base %s, now %s", what, was, is)
		}
	}
	differ("device", base.device(), now.device())
	differ("network", base.Options.Network(), now.Options.Network())
	if base.Training != nil && now.Training != nil {
		differ("training step", base.step(), now.step())
	}
	was := map[string]Spread{}
	for _, f := range append(base.figures(), base.kernelFigures()...) {
		was[f.name+f.unit] = f.Spread
	}
	t.Line("\n\tratio\tfrom\tto\tbase\tnow")
	for _, f := range append(now.figures(), now.kernelFigures()...) {
		before, both := was[f.name+f.unit]
		if !both || before.Median == 0 {
			continue
		}
		r := ratio(before, f.Spread)
		from, to := "", ""
		if r.N > 1 {
			from, to = Digits(r.Least), Digits(r.Most)
		}
		t.Line("%s\t%s\t%s\t%s\t%s\t%s %s", f.name, Digits(r.Median), from, to, Digits(before.Median), Digits(f.Median), f.unit)
	}
	return t.Print(out)
}

// kernelFigures are the times of all dispatches of each program.
func (r *Report) kernelFigures() (out []figure) {
	for _, part := range parts(r.Kernels) {
		for _, row := range rows(part, true) {
			var sum Spread
			for i := range part {
				if t := part[i].Time.scaled(float64(part[i].Dispatches)); part[i].Name == row.name {
					sum = Spread{sum.Median + t.Median, sum.Least + t.Least, sum.Most + t.Most, t.N}
				}
			}
			out = append(out, figure{part[0].Part + ", " + row.name, "ms", sum})
		}
	}
	return out
}

// Digits writes a number with three Digits or more.
func Digits(v float64) string {
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
