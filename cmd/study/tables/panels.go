//go:build !js

package main

import (
	"math"
	"math/rand/v2"

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
