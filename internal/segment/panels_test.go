package segment

import (
	"slices"
	"testing"

	"mrprism/internal/segment/segmenttest"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ofPanels describes a model of three panels, of which the second has no weight of its own.
func ofPanels() weights.Metadata {
	about := segmenttest.Raters()
	for p, name := range about.Raters {
		about.Panels = append(about.Panels, weights.Panel{Name: name, Weight: []float64{.75, 0, .25}[p], Shift: slices.Repeat([]float64{[]float64{-.2, 1, .6}[p]}, len(about.Classes))})
	}
	return about
}

// A panel's map is the mask with all weight on the panel, and so are its measurements.
func TestPanels(t *testing.T) {
	m := open(t, ofPanels())
	m.Metadata.Recipe = "bce"
	require.Equal(t, m.Metadata.Raters, Heads(&m.Metadata))
	e := engine(t, reference.Open(), m)
	img, options := photograph(120, 90), Options{ROI: "10,10,60", Recurrences: Trained}
	shown, err := e.Segment(t.Context(), img, options)
	require.NoError(t, err)
	assert.True(t, shown.Steered)
	for p := range 3 {
		options.RaterWeights = make([]float32, 3)
		options.RaterWeights[p] = 1
		alone, err := e.Recalculate(t.Context(), options)
		require.NoError(t, err)
		for k := range shown.Classes {
			assert.InDeltaSlice(t, shown.Rater(p, k), alone.Probability(k), 1e-5)
			assert.InDeltaSlice(t, shown.Rater(2-p, k), alone.Rater(2-p, k), 1e-5, "panels do not change")
		}
		area := shown.Measurements.Structures[0].Area
		assert.Equal(t, p > 0, alone.Measurements.Structures[0].Area > area)
		assert.LessOrEqual(t, *shown.Measurements.Structures[0].Low, alone.Measurements.Structures[0].Area)
		assert.GreaterOrEqual(t, *shown.Measurements.Structures[0].High, alone.Measurements.Structures[0].Area)
	}
	for _, same := range [][]float32{{1, 0, 1. / 3}, {0, 0, 0}} {
		options.RaterWeights = same
		own, err := e.Recalculate(t.Context(), options)
		require.NoError(t, err)
		assert.InDeltaSlice(t, shown.Probability(0), own.Probability(0), 1e-5, "as the panels' own weights say")
	}
	options.RaterWeights = []float32{1, 0}
	_, err = e.Recalculate(t.Context(), options)
	assert.ErrorContains(t, err, "2 rater weights for the 3 raters")
	got, each := shifts(m.Metadata.Panels, []float32{1, 0, 1})
	assert.InDelta(t, .2, got[0], 1e-6, "the mean of -.2 and .6, whatever their own weights")
	assert.InDelta(t, .8, each[len(shown.Classes)], 1e-6)
}

// In a model that takes marks too, panels act in the passes: a change of weights gives what a new
// engine computes, with a mark and without, and back again.
func TestPanelsBesideMarks(t *testing.T) {
	for _, mirrored := range []bool{false, true} {
		about := ofPanels()
		about.Configuration, about.Mirrored = "tiny-anchored-evidence", mirrored
		m := open(t, about)
		e, img := engine(t, reference.Open(), m), photograph(64, 64)
		mark := make([]byte, 64*64)
		for i := range mark {
			mark[i] = 255 * byte(i/32%2)
		}
		var before []float32
		for _, evidence := range [][]Evidence{nil, {{Rater: Somebody, Class: about.Classes[0], Mask: mark}}} {
			for _, given := range [][]float32{nil, {0, 1, 0}, nil} {
				options := Options{ROI: "none", Recurrences: Trained, Evidence: evidence, RaterWeights: given}
				got, err := e.Segment(t.Context(), img, options)
				require.NoError(t, err)
				want, err := engine(t, reference.Open(), m).Segment(t.Context(), img, options)
				require.NoError(t, err)
				assert.InDeltaSlice(t, want.Probability(0), got.Probability(0), 1e-5)
				assert.InDeltaSlice(t, want.Rater(1, 0), got.Rater(1, 0), 1e-5)
				assert.NotEqual(t, before, got.Probability(0))
				before = got.Probability(0)
			}
		}
	}
}
