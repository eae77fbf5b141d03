//go:build !js

// Command plots draws the forest plots of weights/shipped/STUDY.md from the tables beside them.
// `go generate ./weights` runs it in the folder cmd/study.
package main

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"mrprism/cmd/study/internal/graphs"
	"mrprism/weights"
)

const folder = "../../weights/shipped/study"

func main() {
	drawn, err := plots(folder)
	for _, name := range slices.Sorted(maps.Keys(drawn)) {
		if err == nil {
			err = weights.WriteAtomic(filepath.Join(folder, name), drawn[name].Write)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// table is the rows of a table by the names of its columns.
type table []map[string]string

// read reads a table and checks that estimates and intervals are numbers.
func read(path string) (table, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var t table
	for i, line := range lines[1:] {
		row := map[string]string{}
		for c, name := range lines[0] {
			row[name] = line[c]
		}
		for _, name := range []string{"estimate", "low", "high"} {
			if _, err := strconv.ParseFloat(row[name], 64); err != nil && (row[name] != "" || name == "estimate") {
				return nil, fmt.Errorf("%s, line %d: %s: %w", path, i+2, name, err)
			}
		}
		t = append(t, row)
	}
	return t, nil
}

// where is the rows whose columns have the values: column, value, column, value …
func (t table) where(pairs ...string) (out table) {
	for _, row := range t {
		matches := true
		for i := 0; i < len(pairs); i += 2 {
			matches = matches && row[pairs[i]] == pairs[i+1]
		}
		if matches {
			out = append(out, row)
		}
	}
	return out
}

// figure is a number of a row; NaN where there is none.
func figure(row map[string]string, name string) float64 {
	v, err := strconv.ParseFloat(row[name], 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// effects are the rows as effects of the series of their seeds.
func (t table) effects() (out []graphs.Effect) {
	for _, row := range t {
		seed, _ := strconv.Atoi(row["seed"])
		out = append(out, graphs.Effect{Series: max(seed-1, 0), Estimate: figure(row, "estimate"),
			Low: figure(row, "low"), High: figure(row, "high"), Open: row["clear"] == "no"})
	}
	return out
}

// quantile is the 97.5 % quantile of Student's t by degrees of freedom.
var quantile = map[int]float64{2: 4.303, 4: 2.776, 6: 2.447, 8: 2.306}

// mean is the mean over data sets of their means over seeds, with its 95 % interval over seeds: the
// data sets are fixed, and the variance between seeds is pooled over them.
func mean(sets ...[]graphs.Effect) graphs.Effect {
	var sum, squares, variance float64
	freedom := -len(sets)
	for _, set := range sets {
		m := 0.
		for _, e := range set {
			m += e.Estimate / float64(len(set))
		}
		for _, e := range set {
			squares += (e.Estimate - m) * (e.Estimate - m)
		}
		sum += m
		variance += 1 / float64(len(set))
		freedom += len(set)
	}
	k := float64(len(sets))
	half := quantile[freedom] * math.Sqrt(squares/float64(freedom)*variance) / k
	return graphs.Effect{Estimate: sum / k, Low: sum/k - half, High: sum/k + half, Open: math.Abs(sum/k) < half, Summary: true}
}
