package train

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The default recipe teaches the mask alone at first: heads and passes keep their first values, and
// the mask learns to the bit what it learns beside them. A run that stops before, at or after the
// change goes on as if it had not stopped.
func TestMaskFirst(t *testing.T) {
	data, _ := finished(t)
	ours, err := model.NewRecipe("default")
	require.NoError(t, err)
	run := func(share float64, until ...int) string {
		o := options(t, data)
		o.Recipe, o.Recipe.MaskFirst = ours, share
		for _, step := range until {
			train(t, processor(t), o, step)
			o.Resume = true
		}
		return filepath.Join(o.Out, "eyes.f32.safetensors")
	}
	whole, start := decode(t, run(0.5, 4)), decode(t, run(0.5, 1))
	half := decode(t, run(0.5, 2))
	together := decode(t, run(0, 4))
	for _, v := range whole.Tensors {
		if strings.HasPrefix(v.Name, "encoder.") || strings.HasPrefix(v.Name, "conp.") {
			require.Equal(t, together.Tensor(v.Name).Data, v.Data, v.Name)
		} else {
			require.Equal(t, start.Tensor(v.Name).Data, half.Tensor(v.Name).Data, "%s waits", v.Name)
		}
	}
	// What a run exports before its heads have learnt says so, no program shows its raters, and it
	// takes no marks.
	for name, file := range map[string]*weights.File{"bce": half, "default": whole} {
		about, err := weights.ParseMetadata(file.Metadata)
		require.NoError(t, err)
		assert.Equal(t, name, about.Recipe)
		assert.Equal(t, name == "default", segment.HasHeads(&about))
	}
	o := options(t, data)
	o.Recipe, o.Validate = ours, 0.5
	trainer, err := New(t.Context(), processor(t), o, nil)
	require.NoError(t, err)
	assert.Zero(t, trainer.first(), "the best weights must have heads")
	trainer.Close()

	assert.NotEqual(t, half.Tensor("divp.stem.weight").Data, whole.Tensor("divp.stem.weight").Data)
	for stop := 1; stop < 4; stop++ {
		resumed := decode(t, run(0.5, stop, 4))
		for _, v := range whole.Tensors {
			require.Equal(t, v.Data, resumed.Tensor(v.Name).Data, "%s, stopped after %d", v.Name, stop)
		}
	}
}

// With -heads-first encoder and ConP, batch norm's statistics too, stay as they were while heads and
// passes learn. Then all of it learns, and a run that stops in between goes on to the same bits.
func TestHeadsFirst(t *testing.T) {
	data, _ := finished(t)
	ours, err := model.NewRecipe("default")
	require.NoError(t, err)
	o := options(t, data)
	o.Recipe = ours
	train(t, processor(t), o, 2)
	known := filepath.Join(o.Out, "eyes.f32.safetensors")
	run := func(until ...int) *weights.File {
		o := options(t, data)
		o.Recipe, o.Init = ours, known
		o.Recipe.HeadsFirst = 0.5
		for _, step := range until {
			train(t, processor(t), o, step)
			o.Resume, o.Init = true, ""
		}
		return decode(t, filepath.Join(o.Out, "eyes.f32.safetensors"))
	}
	start, half, whole, resumed := decode(t, known), run(2), run(4), run(2, 4)
	for _, v := range start.Tensors {
		kept := strings.HasPrefix(v.Name, "encoder.") || strings.HasPrefix(v.Name, "conp.")
		if kept {
			require.Equal(t, v.Data, half.Tensor(v.Name).Data, v.Name)
		}
		require.Equal(t, whole.Tensor(v.Name).Data, resumed.Tensor(v.Name).Data, v.Name)
	}
	for _, name := range []string{"divp.stem.weight", "settle.change.weight"} {
		require.NotEqual(t, start.Tensor(name).Data, half.Tensor(name).Data, name)
	}
	require.NotEqual(t, start.Tensor("encoder.conv1.weight").Data, whole.Tensor("encoder.conv1.weight").Data)

	alone := options(t, data)
	alone.Recipe = ours
	alone.Recipe.HeadsFirst = 0.5
	_, err = New(t.Context(), processor(t), alone, nil)
	require.ErrorContains(t, err, "name one by init")
	alone.Init, alone.Names = known, "mobilenet"
	_, err = New(t.Context(), processor(t), alone, nil)
	require.ErrorContains(t, err, "a model of ours")
	alone.Init, alone.Names, alone.Config = "cells", "", "compact"
	_, err = New(t.Context(), processor(t), alone, nil)
	require.ErrorContains(t, err, "heads-first keeps the mask of a model of [cell]")
	alone.Init = known
	alone.Recipe, err = model.NewRecipe("bce")
	require.NoError(t, err)
	alone.Recipe.HeadsFirst = 0.5
	_, err = New(t.Context(), processor(t), alone, nil)
	require.ErrorContains(t, err, "trains no heads")
}

func decode(t *testing.T, path string) *weights.File {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := weights.Decode(data)
	require.NoError(t, err)
	return file
}
