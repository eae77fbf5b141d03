//go:build !js

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"mrprism/internal/command"
	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
	"mrprism/internal/tune"
	"mrprism/shaders"
	"mrprism/weights"
)

// tuningReport is what -tune found; its JSON is for scripts.
type tuningReport struct {
	Device  string       `json:"device"`
	Options options      `json:"options"`
	Parts   []tuningPart `json:"parts"`
	File    string       `json:"file"` // where it is remembered
}

// tuningPart is inference or the training step, before: with the kernels that are chosen by the kind of GPU, and after: with the fastest.
type tuningPart struct {
	Part     string       `json:"part"`
	Measured int          `json:"measured"` // kernels with parameters that have several variants
	Changed  []tuningGain `json:"changed"`  // those for which another is faster
	Before   spread       `json:"before_ms"`
	After    spread       `json:"after_ms"`
	Ratio    spread       `json:"ratio"` // after/before: of medians, and from the least to the most of neighbouring runs
	Kept     bool         `json:"kept"`  // the whole is not slower
}

// tuningGain is a kernel with parameters for which another variant is faster.
type tuningGain struct {
	Kernel     string  `json:"kernel"`
	Shape      string  `json:"shape"` // for people
	From       string  `json:"from"`  // variant
	To         string  `json:"to"`
	Dispatches int     `json:"count"` // in an encoder and a recurrence, or in a step
	Before     float64 `json:"before_ms"`
	After      float64 `json:"after_ms"` // of one dispatch
}

// plain is the variant without a name, for people.
const plain = "plain"

// workload is a part that can run on a device.
type workload struct {
	plans   []*tensor.Plan
	run     func(context.Context) error
	release func()
}

// tune measures on the device, and remembers.
func (r *request) tune(ctx context.Context, m *weights.Model, stderr io.Writer, note func(string)) (*tuningReport, error) {
	opened, err := r.wish.Open(ctx, note)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	if opened.Info().InGo() {
		return nil, fmt.Errorf("%s has one way to compute each kernel: there is nothing to tune", opened.Info())
	}
	config, err := r.configuration(ctx, opened, m)
	if err != nil {
		return nil, err
	}
	found := &tuningReport{Device: opened.Info().String(), Options: r.options}
	choices := tune.Choices{}
	parts := []struct {
		name string
		open func(gpu.Device) (*workload, error)
	}{
		{"inference, four passes", func(d gpu.Device) (*workload, error) {
			u, err := newOurs(ctx, d, r.options, m)
			if err != nil {
				return nil, err
			}
			plans := u.network.Plans()
			run := func(ctx context.Context) error { return u.runNetwork(ctx, map[string][]float32{}) }
			return &workload{plans[:], run, u.release}, nil
		}},
		{"training step", func(d gpu.Device) (*workload, error) {
			s, err := newStep(ctx, d, config, r.options)
			if err != nil {
				return nil, err
			}
			if err := s.begin(); err != nil {
				s.release()
				return nil, err
			}
			return &workload{[]*tensor.Plan{s.plan}, s.run, s.release}, nil
		}},
	}
	if !r.Train {
		parts = parts[:1]
	}
	for _, p := range parts {
		part, chosen, err := tunePart(ctx, opened, p.name, p.open, r.Repeats, stderr)
		if err != nil {
			return nil, err
		}
		found.Parts = append(found.Parts, *part)
		for key, variant := range chosen {
			if _, ok := choices[key]; !ok { // what was timed as a whole stays as it was then
				choices[key] = variant
			}
		}
	}
	found.File, err = tune.Save(opened.Info(), choices)
	return found, err
}

// tunePart measures the kernels of a part, and the part with the fastest beside itself without; it gives what is to be remembered.
func tunePart(ctx context.Context, d gpu.Device, name string, open func(gpu.Device) (*workload, error), repeats int, stderr io.Writer) (*tuningPart, tune.Choices, error) {
	before, err := open(tune.With(d, nil))
	if err != nil {
		return nil, nil, err
	}
	defer before.release()
	all := tune.Alternatives(before.plans...)
	progress := command.NewProgress(stderr, len(all)+1+repeats)
	defer progress.Clear()
	tell := func(what string) { progress.Begin(); progress.Show("%s: %s", name, what) }
	results, err := tune.Measure(ctx, d, all, func(i int) { kernel, _, _ := strings.Cut(all[i].Key, " "); tell(kernel) })
	if err != nil {
		return nil, nil, err
	}
	part := &tuningPart{Part: name, Measured: len(results), Changed: gains(results)}
	tell("compiling it anew")
	after, err := open(tune.With(d, tune.Chosen(results)))
	if err != nil {
		return nil, nil, err
	}
	defer after.release()
	untuned, tuned, err := tune.InTurn(ctx, before.run, after.run, repeats, func(round int) {
		if round > 0 {
			tell(fmt.Sprintf("run %d of %d", round, repeats))
		}
	})
	if err != nil {
		return nil, nil, err
	}
	ratios := make([]float64, repeats)
	for i := range ratios {
		ratios[i] = tuned[i] / untuned[i]
	}
	part.Before, part.After, part.Ratio = spreadOf(untuned), spreadOf(tuned), spreadOf(ratios)
	part.Ratio.Median = part.After.Median / part.Before.Median
	if part.Kept = tune.Faster(untuned, tuned); !part.Kept {
		for i := range results {
			results[i].Chosen = 0
		}
	}
	return part, tune.Chosen(results), nil
}

// gains are of those results that change something, the largest first.
func gains(results []tune.Result) []tuningGain {
	var out []tuningGain
	for _, r := range results {
		if r.Chosen == 0 {
			continue
		}
		from, to := r.Variants[0], r.Variants[r.Chosen]
		kernel, _, _ := strings.Cut(r.Key, " ")
		shape, _ := shaders.Work(gpu.Command{Program: from.Program, Params: r.Params})
		out = append(out, tuningGain{kernel, shape, cmp.Or(from.Variant, plain), cmp.Or(to.Variant, plain), r.Dispatches, r.MS[0], r.MS[r.Chosen]})
	}
	slices.SortStableFunc(out, func(a, b tuningGain) int { return cmp.Compare(b.gain(), a.gain()) })
	return out
}

// gain is in milliseconds, of all dispatches.
func (g *tuningGain) gain() float64 { return float64(g.Dispatches) * (g.Before - g.After) }

// table writes the report for people.
func (r *tuningReport) table(out io.Writer) error {
	fmt.Fprintf(out, "computed by  %s\nnetwork      %s\n", r.Device, r.Options.network())
	for _, p := range r.Parts {
		fmt.Fprintf(out, "\n%s: %d kernels with shapes have several variants; for %d another is faster\n", p.Part, p.Measured, len(p.Changed))
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		if len(p.Changed) > 0 {
			fmt.Fprint(w, "ms\tnow\tratio\tdispatches\t\n")
		}
		for _, g := range p.Changed {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t  %s %s: %s → %s\n", digits(g.Before), digits(g.After), digits(g.After/g.Before), g.Dispatches, g.Kernel, g.Shape, g.From, g.To)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s ms before, %s ms now, ratio %s (%s to %s of %d in turn)\n", p.Part, digits(p.Before.Median), digits(p.After.Median),
			digits(p.Ratio.Median), digits(p.Ratio.Least), digits(p.Ratio.Most), p.Ratio.N)
		if !p.Kept {
			fmt.Fprintln(out, "as a whole that is no gain: nothing changes")
		}
	}
	_, err := fmt.Fprintf(out, "\nremembered in %s\n", r.File)
	return err
}
