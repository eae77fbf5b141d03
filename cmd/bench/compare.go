package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// readReport reads a report that -json wrote.
func readReport(file string) (*report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(report)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s is no report of bench -json: %w", file, err)
	}
	if r.Ceilings == nil || r.Inference == nil {
		return nil, fmt.Errorf("%s is no report of this version of bench: write it anew with -json", file)
	}
	return r, nil
}

// ratio is now/base, of medians, and the least and the most that both spreads allow.
func ratio(base, now spread) spread {
	return spread{Median: now.Median / base.Median, Least: now.Least / base.Most, Most: now.Most / base.Least, N: min(base.N, now.N)}
}

// compare writes the ratio of every figure that both reports have, and first what makes them incomparable.
func compare(out io.Writer, base, now *report) error {
	fmt.Fprintf(out, "\nratios: now (%s) / base (%s)\n", now.Options.Commit, base.Options.Commit)
	differ := func(what, was, is string) {
		if was != is {
			fmt.Fprintf(out, "NOT THE SAME %s: base %s, now %s\n", what, was, is)
		}
	}
	differ("device", base.device(), now.device())
	differ("network", base.Options.network(), now.Options.network())
	if base.Training != nil && now.Training != nil {
		differ("training step", base.step(), now.step())
	}
	fmt.Fprintln(out)
	was := map[string]spread{}
	for _, f := range append(base.figures(), base.kernelFigures()...) {
		was[f.name+f.unit] = f.spread
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tratio\tfrom\tto\tbase\tnow")
	for _, f := range append(now.figures(), now.kernelFigures()...) {
		before, both := was[f.name+f.unit]
		if !both || before.Median == 0 {
			continue
		}
		r := ratio(before, f.spread)
		from, to := "", ""
		if r.N > 1 {
			from, to = digits(r.Least), digits(r.Most)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s %s\n", f.name, digits(r.Median), from, to, digits(before.Median), digits(f.Median), f.unit)
	}
	return w.Flush()
}

// kernelFigures are the times of all dispatches of each program.
func (r *report) kernelFigures() []figure {
	var out []figure
	for _, part := range parts(r.Kernels) {
		for _, row := range rows(part, true) {
			var sum spread
			for i := range part {
				if t := part[i].Time.scaled(float64(part[i].Dispatches)); part[i].Name == row.name {
					sum = spread{sum.Median + t.Median, sum.Least + t.Least, sum.Most + t.Most, t.N}
				}
			}
			out = append(out, figure{part[0].Part + ", " + row.name, "ms", sum})
		}
	}
	return out
}
