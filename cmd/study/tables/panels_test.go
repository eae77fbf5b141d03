package main

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/synthetic"
)

// A seed draws one panel: people who err as the scenario's do, each to another degree.
func TestPanels(t *testing.T) {
	for _, d := range confirmation().sets {
		assert.Len(t, (&runner{}).runs(d, 1), len(confirmation().rows), "no other table has it")
		if d.drawn == "" {
			assert.NotEqual(t, 1, d.fold(4), d.name)
			continue
		}
		s, err := synthetic.FindScenario(d.drawn)
		require.NoError(t, err)
		again, err := synthetic.FindScenario(d.drawn)
		require.NoError(t, err)
		one, same, other := panel(s, 101), panel(s, 101), panel(s, 102)
		assert.Equal(t, again, s, "the preset stays")
		assert.Equal(t, one, same)
		for i := range s.Raters {
			assert.Equal(t, s.Raters[i].Name, one.Raters[i].Name)
			assert.NotEqual(t, one.Raters[i].Noise, other.Raters[i].Noise)
			assert.InEpsilon(t, s.Raters[i].Noise, one.Raters[i].Noise, 2)
			assert.Equal(t, s.Raters[i].Missed == 0, one.Raters[i].Missed == 0)
		}
	}
}

// Some raters of a data set teach, and others judge.
func TestTeachersAndJudges(t *testing.T) {
	scenario, err := synthetic.FindScenario("sectoral")
	require.NoError(t, err)
	r := &runner{shared: t.TempDir(), out: t.TempDir()}
	require.NoError(t, synthetic.WriteDataset(t.Context(), filepath.Join(r.shared, "all"), scenario, 5, 32, 1))
	d := data{name: "some", folder: "all", teachers: "rater1", judges: "rater"}
	for begin, people := range map[string]int{d.teachers: 1, d.judges: len(scenario.Raters)} {
		for range 2 {
			folder, err := r.those(d, begin)
			require.NoError(t, err)
			set, err := dataset.Open(folder)
			require.NoError(t, err)
			assert.Len(t, set.Raters, people)
			assert.Len(t, set.Cases, 5)
		}
	}
}

// The judgements are five, corrected together once all of them are there, and of a panel's images
// each counts once.
func TestConfirmed(t *testing.T) {
	r := &runner{scores: t.TempDir()}
	for _, d := range confirmation().sets {
		var all []score
		classes := []string{"disc", "cup"}
		if d.drawn == "" {
			classes = classes[:1]
		}
		for k, class := range classes {
			for i, e := range []entry{meanVote, sharp, recurrent} {
				for seed := range 4 {
					s := score{class: class, method: e.name, figure: primary.name, seed: seed + 1, of: map[string]float64{}}
					for image := range 6 {
						s.of[fmt.Sprintf("panel%d case%d", seed, image)] = .5 + .1*float64(i)*float64(1+k) + .01*float64((3*seed+5*image+i)%7)
					}
					all = append(all, s)
				}
			}
		}
		require.NoError(t, r.keep(d, all))
		rows, err := r.confirmed()
		require.NoError(t, err)
		corrected := 0
		for _, x := range rows {
			if !math.IsNaN(x.holm) {
				corrected++
				assert.GreaterOrEqual(t, x.holm, x.delta.P)
			}
			if x.class == "disc and cup" {
				assert.InDelta(t, .15, x.delta.Mean, .02, "the mean of .1 and .2")
			}
		}
		if last := d.judges != ""; last {
			assert.Equal(t, judgements, corrected)
		} else {
			assert.Zero(t, corrected, d.name)
		}
	}
}
