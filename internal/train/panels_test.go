package train

import (
	"path/filepath"
	"testing"

	"mrprism/internal/data/synthetic"
	"mrprism/model"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Folders of other people train as panels. The one that marks more has the higher shift, and the
// shifts count from their mean. A run goes on as if it had not stopped, and another begins with its
// shifts.
func TestPanels(t *testing.T) {
	dev := reference.Open()
	wide := filepath.Join(t.TempDir(), "wide")
	one := synthetic.Scenario{Name: "wide", Raters: []synthetic.Rater{{Name: "eve", Noise: .05, Bias: .8}}}
	require.NoError(t, synthetic.WriteDataset(t.Context(), wide, one, 5, 64, 2))
	o := options(t, writeData(t, 5))
	o.Data, o.Slots, o.ScoreEvery, o.Validate = append(o.Data, wide), SlotsPanels, 1, .3
	assert.ErrorContains(t, o.Check(), "slots panels teaches the mask alone")
	var err error
	o.Recipe, err = model.NewRecipe(model.MaskAlone)
	require.NoError(t, err)
	train(t, dev, o, 6)

	again := o
	again.Out = filepath.Join(t.TempDir(), "again")
	train(t, dev, again, 3)
	again.Resume = true
	train(t, dev, again, 6)
	requireSame(t, o.Out, again.Out)

	panels := func(o Options) []weights.Panel {
		m, err := weights.Shipped().Open("eyes", results(t, o.Out)["eyes.f32.safetensors"])
		require.NoError(t, err)
		return m.Metadata.Panels
	}
	got := panels(o)
	require.Len(t, got, 2)
	assert.Equal(t, "synthetic-pair", got[0].Name)
	for k := range 2 {
		assert.Less(t, got[0].Shift[k], 0.)
		assert.InDelta(t, 0, got[0].Shift[k]+got[1].Shift[k], 1e-6)
	}
	next := o
	next.Out, next.Init, next.Recipe.Rate = filepath.Join(t.TempDir(), "next"), filepath.Join(o.Out, "eyes.f32.safetensors"), 0
	train(t, dev, next, 6)
	for p, one := range panels(next) {
		assert.InDeltaSlice(t, got[p].Shift, one.Shift, 1e-6)
	}

	// heads of raters learn on the mask, which keeps its panels
	heads := options(t, o.Data[0])
	heads.Recipe, err = model.NewRecipe("default")
	require.NoError(t, err)
	heads.Init, heads.Recipe.HeadsFirst = next.Init, 1
	train(t, dev, heads, 2)
	assert.Equal(t, got, panels(heads))
	heads.Resume, heads.Init = true, ""
	train(t, dev, heads, 4)
	assert.Equal(t, got, panels(heads))
}
