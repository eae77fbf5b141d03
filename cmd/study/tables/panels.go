//go:build !js

package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/synthetic"
)

// firstPanel is the seed before those of panels (weights/shipped/tables/PLAN.md).
const firstPanel = 100

// panel is a scenario marked by other people: each rater's noise, response and shares of errors are
// multiplied by e^N(0, 0.3²), N(0, 0.05²) disc radii are added to the bias, and a sector is turned by
// any angle.
func panel(s synthetic.Scenario, seed uint64) synthetic.Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	people := make([]synthetic.Rater, len(s.Raters))
	for i, rater := range s.Raters {
		for _, v := range []*float64{&rater.Noise, &rater.Response, &rater.Missed, &rater.Strayed, &rater.Blank, &rater.Swapped} {
			*v *= math.Exp(0.3 * r.NormFloat64())
		}
		rater.Bias += 0.05 * r.NormFloat64()
		if rater.Sector != nil {
			sector := *rater.Sector
			sector.Centre, sector.Noise = 2*math.Pi*r.Float64(), sector.Noise*math.Exp(0.3*r.NormFloat64())
			rater.Sector = &sector
		}
		people[i] = rater
	}
	s.Raters = people
	return s
}

// those copies a data set with the raters whose names begin so, once.
func (r *runner) those(d data, begin string) (string, error) {
	from, to := filepath.Join(r.shared, d.folder), filepath.Join(r.out, d.name, begin)
	if _, err := os.Stat(filepath.Join(to, dataset.DescriptionFile)); err == nil {
		return to, nil
	}
	set, err := dataset.Open(from)
	if err != nil {
		return "", err
	}
	people := slices.DeleteFunc(slices.Clone(set.Raters), func(name string) bool { return !strings.HasPrefix(name, begin) })
	if err := os.RemoveAll(to); err != nil { // a copy that was interrupted
		return "", err
	}
	for _, sub := range append([]string{"images"}, people...) {
		if sub != "images" {
			sub = filepath.Join("raters", sub)
		}
		if err := os.CopyFS(filepath.Join(to, sub), os.DirFS(filepath.Join(from, sub))); err != nil {
			return "", err
		}
	}
	return to, dataset.Description{Name: d.name, Classes: set.Classes, Raters: people, Images: len(set.Cases)}.Write(to)
}
