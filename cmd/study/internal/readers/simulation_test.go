package readers

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/internal/data/statistics"

	"github.com/stretchr/testify/assert"
)

// null draws the numbers of readers without and with a model that changes nothing, by the model of
// Roe and Metz (1997): readers, cases, and what both have with modalities and with each other.
// Patients have one image or two, which share what cases have.
func null(rng *rand.Rand, readers int, y []float64, units []statistics.Unit, d map[string]float64) [][][]float64 {
	effect := func(name string) float64 { return math.Sqrt(d[name]) * rng.NormFloat64() }
	patients := int(slices.Max(units))
	perPatient := func(name string) []float64 {
		return statistics.Tabulate(patients, func(int) float64 { return effect(name) })
	}
	cases, shift := perPatient("case"), statistics.Tabulate(readers, func(int) float64 { return effect("reader") })
	byReader := statistics.Tabulate(readers, func(int) []float64 { return perPatient("reader × case") })
	return statistics.Tabulate(2, func(int) [][]float64 {
		byModality := perPatient("modality × case")
		return statistics.Tabulate(readers, func(j int) []float64 {
			extra := effect("reader × modality")
			return statistics.Tabulate(len(y), func(i int) float64 {
				u := units[i] - 1
				return y[i]*(1.5+shift[j]+extra) + cases[u] + byModality[u] + byReader[j][u] + effect("rest")
			})
		})
	})
}

// A model that changes nothing differs at p < .05 in no more than 6 % of studies, whichever of the
// effects is large.
func TestErrorRate(t *testing.T) {
	draws, slack := 5000, 0.
	if testing.Short() {
		draws, slack = 300, 4.
	}
	for name, d := range map[string]map[string]float64{
		"readers differ much":   {"reader": .06, "reader × modality": .06, "case": .3, "modality × case": .3, "reader × case": .2, "rest": .2},
		"readers differ little": {"reader": .006, "reader × modality": .006, "case": .3, "modality × case": .3, "reader × case": .2, "rest": .2},
		"cases are much alike":  {"reader": .03, "reader × modality": .03, "case": .1, "modality × case": .1, "reader × case": .2, "rest": .6},
	} {
		for _, kind := range []string{AUC, Error} {
			rng := rand.New(rand.NewPCG(7, uint64(len(name)+len(kind))))
			var y []float64
			var units []statistics.Unit
			for i := range 60 {
				unit := i // 40 patients have one image, and 10 two
				if i >= 40 {
					unit = 40 + (i-40)/2
				}
				y, units = append(y, float64(unit%2)), append(units, statistics.Unit(unit+1))
			}
			a := &Analysis{Kind: kind, Patients: 50}
			below := 0.
			for range draws {
				g := grid(nil)
				for _, row := range null(rng, 5, y, units, d) {
					g = append(g, statistics.Tabulate(len(row), func(j int) figure { return a.jackknife(row[j], y, units) }))
				}
				if *g.estimates(math.Inf(1))[0].P < .05 {
					below++
				}
			}
			rate := below / float64(draws)
			t.Logf("%s, %s: %.4f of %d draws", name, kind, rate, draws)
			assert.LessOrEqual(t, rate, .06+slack*math.Sqrt(.05*.95/float64(draws)), "%s, %s", name, kind)
			assert.Greater(t, rate, .005, "%s, %s: the test finds nothing", name, kind)
		}
	}
}
