package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
)

// A seed draws one panel: people who err as the scenario's do, each to another degree.
func TestPanels(t *testing.T) {
	for _, d := range confirmation().sets {
		assert.Len(t, (&runner{}).runs(d, 1), len(confirmation().rows), "no other table has it")
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
