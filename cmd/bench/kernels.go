package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
	"mrprism/shaders"
)

// kernelTimes are of the dispatches of one program with one shape in one part of the network. Each is replayed alone on the network's own
// buffers, which its neighbours do not use meanwhile: what fits into a cache is read from there, more often than in the network.
type kernelTimes struct {
	Part       string  `json:"part"`    // encoder, one recurrence, rater labels, training step
	Name       string  `json:"name"`    // of kernel and variant
	Shape      string  `json:"shape"`   // for people
	Dispatches int     `json:"count"`   // in one run of the part
	Time       spread  `json:"ms"`      // of one dispatch, the cost of a dispatch included
	GFLOP      float64 `json:"gflop"`   // of one dispatch, as shaders.Work counts
	GB         float64 `json:"gb"`      // of all tensors that a dispatch is given, each once
	Adds       float64 `json:"adds"`    // the part of the device's multiply-adds that it reaches, 0..1
	Ceiling    float64 `json:"ceiling"` // the part of the device's arithmetic or bandwidth that it reaches, the larger one; 0..1, or more from a cache
}

// kernels measures the commands of a part, equal ones once. Results of the network are spoilt afterwards.
func (r *report) kernels(ctx context.Context, d gpu.Device, part string, plan *tensor.Plan, repeats int, tell func(string)) error {
	commands, bytes := plan.Commands()
	type key struct {
		program *gpu.Program
		shape   string
		bytes   int64
	}
	var order []key
	counts, first, work := map[key]int{}, map[key]gpu.Command{}, map[key]float64{}
	for i, c := range commands {
		k, operations := key{shape: "of zeros", bytes: bytes[i]}, 0.0
		if c.Program != nil {
			k.program = c.Program
			k.shape, operations = shaders.Work(c)
		}
		if counts[k]++; counts[k] == 1 {
			order = append(order, k)
			first[k], work[k] = c, operations
		}
	}
	tell(fmt.Sprintf("%s: %d kernels and shapes", part, len(order)))
	for _, k := range order {
		t := kernelTimes{Part: part, Name: "clear", Shape: k.shape, Dispatches: counts[k], GFLOP: work[k] / 1e9, GB: float64(k.bytes) / 1e9}
		if k.program != nil {
			t.Name = k.program.Name
		}
		var err error
		if t.Time, err = replay(ctx, d, first[k], repeats); err != nil {
			return fmt.Errorf("%s %s: %w", t.Name, t.Shape, err)
		}
		t.Adds, t.Ceiling = r.Ceilings.shares(t)
		r.Kernels = append(r.Kernels, t)
	}
	return nil
}

// shares are how much of the multiply-adds a kernel reaches, and of what it is nearest to.
func (c *ceilings) shares(t kernelTimes) (adds, ceiling float64) {
	arithmetic := c.Arithmetic.Most
	if c.Int8.Most > 0 && strings.Contains(t.Name, "int8") {
		arithmetic = c.Int8.Most
	}
	adds = 1e3 * t.GFLOP / arithmetic / t.Time.Median
	return adds, max(adds, 1e3*t.GB/c.Memory.Most/t.Time.Median)
}

// row is a line of a table: all dispatches of one shape, or of one program.
type row struct {
	name, shape    string
	dispatches     int
	ms, gflop, gb  float64
	adding, atBest float64 // ms at the ceiling of multiply-adds, and at the nearest one
}

func (t *kernelTimes) row() row {
	n := float64(t.Dispatches)
	ms := n * t.Time.Median
	return row{t.Name, t.Shape, t.Dispatches, ms, n * t.GFLOP, n * t.GB, ms * t.Adds, ms * t.Ceiling}
}

// rows are the shapes, or, added up, the programs, those that take longest first.
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
		o.ms, o.gflop, o.gb = o.ms+r.ms, o.gflop+r.gflop, o.gb+r.gb
		o.adding, o.atBest = o.adding+r.adding, o.atBest+r.atBest
	}
	slices.SortStableFunc(out, func(a, b row) int { return cmp.Compare(b.ms, a.ms) })
	return out
}

// parts cuts the kernels into those of encoder, recurrence, rater labels and training step.
func parts(kernels []kernelTimes) (out [][]kernelTimes) {
	from := 0
	for i := range kernels {
		if i+1 == len(kernels) || kernels[i+1].Part != kernels[i].Part {
			out = append(out, kernels[from:i+1])
			from = i + 1
		}
	}
	return out
}

// smallestShare of the time of a part that a line of its tables has; the JSON has all.
const smallestShare = 0.005

// kernelTables writes for each part its programs and then its shapes.
func (r *report) kernelTables(out io.Writer) error {
	for _, part := range parts(r.Kernels) {
		for _, programs := range []bool{true, false} {
			if err := kernelTable(out, part, programs); err != nil {
				return err
			}
		}
	}
	return nil
}

func kernelTable(out io.Writer, part []kernelTimes, programs bool) error {
	all := rows(part, programs)
	sum := 0.0
	for _, r := range all {
		sum += r.ms
	}
	what := "shapes"
	if programs {
		what = "programs"
	}
	fmt.Fprintf(out, "\n%s by %s, each dispatch alone: %s ms together\n\n", part[0].Part, what, digits(sum))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "ms\tshare\tdispatches\tMFLOP\tGFLOP/s\tMB\tGB/s\tof adds\tof ceiling\t\n")
	for _, r := range all {
		if r.ms < smallestShare*sum {
			break
		}
		fmt.Fprintf(w, "%s\t%.1f %%\t%d\t%s\t%s\t%s\t%s\t%.0f %%\t%.0f %%\t  %s  %s\n", digits(r.ms), 100*r.ms/sum, r.dispatches,
			digits(1e3*r.gflop), digits(1e3*r.gflop/r.ms), digits(1e3*r.gb), digits(1e3*r.gb/r.ms), 100*r.adding/r.ms, 100*r.atBest/r.ms, r.name, r.shape)
	}
	return w.Flush()
}
