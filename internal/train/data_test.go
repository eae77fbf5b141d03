package train

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/foreign"
	"mrprism/internal/data/synthetic"
	"mrprism/model"
	"mrprism/shaders/gpu/reference"
)

// Files with a bad header or bad pixels end a run before its first step, and the error names all of
// them. With SkipBad the run is that of a folder without them, except that the held-out images do
// not change.
func TestSkipBad(t *testing.T) {
	data := writeData(t, 7) // case0004 is held out
	header := filepath.Join(data, "images", "case0000.png")
	pixels := filepath.Join(data, "raters", "bob", "cup", "case0002.png")
	require.NoError(t, os.WriteFile(header, []byte("a text"), 0o644))
	sound, err := os.ReadFile(pixels)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(pixels, sound[:len(sound)-20], 0o644))

	o := options(t, data)
	o.Phases = []Phase{{64, 1}}
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, header)

	o.SkipBad = true
	trainer, notes, err := resume(t, o)
	require.NoError(t, err)
	assert.Equal(t, 4, trainer.Images())
	assert.Len(t, trainer.Dataset.HeldOut(), 1)
	assert.Equal(t, "case0004", trainer.Dataset.HeldOut()[0].Name)
	said := strings.Join(notes, "\n")
	assert.Contains(t, said, header)
	assert.Contains(t, said, pixels)
	trainer.Close()

	train(t, reference.Open(), o, 2)
	again := o
	again.Out = filepath.Join(t.TempDir(), "again")
	train(t, reference.Open(), again, 1)
	again.Resume = true
	train(t, reference.Open(), again, 2)
	requireSame(t, o.Out, again.Out)

	for _, name := range []string{"case0001", "case0003", "case0005", "case0006"} {
		require.NoError(t, os.WriteFile(filepath.Join(data, "images", name+".png"), []byte("a text"), 0o644))
	}
	o.Out = filepath.Join(t.TempDir(), "none")
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, "none of the images")
}

// A training step normalises each image as the engine does at inference.
func TestNormalise(t *testing.T) {
	o := Options{Batch: 2}
	b := model.Batch{X: []float32{0.25, 0.5, 0.75, 0.2, 0.2, 0.8}}
	o.normalise(b)
	assert.InDeltaSlice(t, []float32{-1, 0, 1, -1.2, -1.2, 1.2}, b.X, 1e-6)

	o.Standardise = true
	b.X = []float32{0.25, 0.5, 0.75, 0.2, 0.2, 0.8}
	o.normalise(b)
	assert.InDeltaSlice(t, []float32{-1.224745, 0, 1.224745, -0.707107, -0.707107, 1.414214}, b.X, 1e-5)
}

func TestAnyOrientation(t *testing.T) {
	upright, any := Options{}.augmentation(), Options{Views: Views{AnyOrientation: true}}.augmentation()
	assert.Zero(t, upright.FlipY)
	assert.Equal(t, 180., any.Rotation)
	assert.Equal(t, 0.5, any.FlipY)
	any.Rotation, any.FlipY = upright.Rotation, upright.FlipY
	assert.Equal(t, upright, any)
	still, usual := Options{Views: Views{Upright: true}}.augmentation(), Options{}.augmentation()
	assert.Equal(t, [3]float64{}, [3]float64{still.Rotation, still.FlipX, still.FlipY})
	still.Rotation, still.FlipX = usual.Rotation, usual.FlipX
	assert.Equal(t, usual, still)
	others := Options{Views: Views{Turns: true, Away: .1, Distract: .5, Restyle: .4}}.augmentation()
	assert.True(t, others.Turns)
	assert.Equal(t, []float64{.1, .5, .4}, []float64{others.Away, others.Distract, others.Restyle})
	bent := Options{Views: Views{Elastic: 0.05, Grain: 0.3, Swell: 0.7}}.augmentation()
	assert.Equal(t, []float64{0.05, 0.3, 0.7}, []float64{bent.Elastic, bent.Grain, bent.Swell})
}

// Training also uses the images of -also, whose folders may have other raters. An epoch sees each
// image of the data set once.
func TestAlso(t *testing.T) {
	o := options(t, writeData(t, 6)) // one is held out
	alone, _, err := resume(t, o)
	require.NoError(t, err)
	own, steps := alone.Images(), alone.epochSteps()
	alone.Close()
	o.Out = filepath.Join(t.TempDir(), "also")
	o.Also = []string{t.TempDir(), t.TempDir()}
	for i, folder := range o.Also {
		set := synthetic.ForeignSet{Kinds: foreign.Kinds[:1], Classes: []string{"disc"}, Images: 3 + i, Side: 64, Seed: uint64(i)}
		require.NoError(t, synthetic.WriteForeign(t.Context(), folder, set))
	}
	both, _, err := resume(t, o)
	require.NoError(t, err)
	assert.Equal(t, own+3+4, both.Images())
	assert.Equal(t, 2*steps-own%2, both.epochSteps(), "every second batch is of the others")
	both.Close()

	o.Out, o.Also = filepath.Join(t.TempDir(), "missing"), []string{filepath.Join(t.TempDir(), "none")}
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, "none")
}
