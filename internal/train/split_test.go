package train

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/model"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// divided writes a split of five images into a data set's folder.
func divided(t *testing.T, data, lists string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(data, dataset.SplitFile), []byte(lists), 0o644))
}

const fiveImages = `{"train": ["case0000", "case0003", "case0004"], "validation": ["case0001"], "test": ["case0002"]}`

// A run learns from the split's training list and scores on its validation list. Its checkpoint is
// not resumed under another split, even with the same training images.
func TestTrainsOnASplit(t *testing.T) {
	data := writeData(t, 5)
	divided(t, data, fiveImages)
	o := options(t, data)
	o.Patience = 1
	trainer, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	assert.Equal(t, 3, trainer.Images())
	assert.Equal(t, []string{"synthetic-pair/case0001"}, trainer.Aside())
	trainer.Close()
	train(t, reference.Open(), o, 1)

	o.Resume, o.Patience = true, 0
	divided(t, data, `{"train": ["case0000", "case0003", "case0004"], "validation": ["case0002"], "test": ["case0001"]}`)
	_, err = New(t.Context(), reference.Open(), o, nil)
	require.ErrorIs(t, err, errOptions)
	assert.ErrorContains(t, err, "then 3 train, 1 validation, 1 test, ")
	require.NoError(t, os.Remove(filepath.Join(data, dataset.SplitFile)))
	_, err = New(t.Context(), reference.Open(), o, nil)
	assert.ErrorContains(t, err, "now every fifth held out")

	elsewhere := filepath.Join(t.TempDir(), "mine.json")
	require.NoError(t, os.WriteFile(elsewhere, []byte(fiveImages), 0o644))
	o.Split = elsewhere
	train(t, reference.Open(), o, 4)
	assert.Equal(t, "4", stepOf(t, filepath.Join(o.Out, Checkpoint)), "the lists count, and not the file's place")
}

// A checkpoint without a split is not resumed with one.
func TestResumeWithoutItsSplit(t *testing.T) {
	o := resumable(t)
	var names string
	for i := range 4 {
		names += fmt.Sprintf(`, "case%04d"`, i)
	}
	o.Split = filepath.Join(t.TempDir(), "mine.json")
	require.NoError(t, os.WriteFile(o.Split, []byte(`{"train": [`+names[2:]+`], "test": ["case0004"]}`), 0o644))
	_, err := New(t.Context(), reference.Open(), o, nil)
	require.ErrorIs(t, err, errOptions)
	assert.ErrorContains(t, err, "then every fifth held out, now 4 train, 0 validation, 1 test, ")
}

// -validate takes from the training list, and says that the validation list is idle. Scores need
// images, and training too.
func TestSplitAndFlags(t *testing.T) {
	data, _ := finished(t)
	list := func(text string) Options {
		o := options(t, data)
		o.Split = filepath.Join(t.TempDir(), "mine.json")
		require.NoError(t, os.WriteFile(o.Split, []byte(text), 0o644))
		return o
	}
	o, notes := list(fiveImages), ""
	o.Validate, o.Note = 0.34, func(text string) { notes += text + "\n" }
	trainer, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	defer trainer.Close()
	assert.Equal(t, 2, trainer.Images())
	assert.NotContains(t, trainer.Aside(), "synthetic-pair/case0001")
	assert.Contains(t, notes, "the 1 images of the split's validation list are not used")

	for want, o := range map[string]Options{
		"leaves no image to train on":                      list(`{"test": ["case0000"]}`),
		`there is no image of this name`:                   list(`{"train": ["case9"]}`),
		"score-every and patience need scores: set images": func() Options { o := options(t, data); o.Patience = 3; return o }(),
	} {
		_, err := New(t.Context(), reference.Open(), o, func(int, int) { t.Error("read images first") })
		assert.ErrorContains(t, err, want)
	}
}

// Fused labels teach networks that need not know who marked what.
func TestLabelsAndMethods(t *testing.T) {
	o := options(t, "data")
	o.Labels, o.Recipe = "fused", must(model.NewRecipe(model.MaskAlone))
	for _, m := range model.Methods {
		o.Config = "tiny-" + m.Name
		if err := o.Check(); m.NeedsRaters() {
			assert.ErrorContains(t, err, "method "+m.Name+" learns")
		} else {
			assert.NoError(t, err, m.Name)
		}
	}
}
