package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/program/programtest"
	"mrprism/internal/train"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run with -cross learns from all images and is judged on all of them, by runs that each set some
// aside. A run that stopped between them goes on, from the weights that the first one began from.
func TestCross(t *testing.T) {
	folder := t.TempDir()
	data, first, out := writeData(t, 6), filepath.Join(folder, "first"), filepath.Join(folder, "run")
	code, _, said := invoke(t.Context(), arguments(data, first, "1")...)
	require.Zero(t, code, said)
	model := filepath.Join(first, "eyes.safetensors")
	code, _, said = invoke(t.Context(), arguments(data, out, "1", "-init", model, "-judge", model, "-cross", "2")...)
	require.Zero(t, code, said)
	assert.Contains(t, said, "6 images to train on, 0 held out")
	assert.Contains(t, said, "3 images to train on, 3 set aside")
	judgement := func() (j train.Judgement) {
		require.NoError(t, json.Unmarshal(readFile(t, out, judgementName), &j))
		return j
	}
	whole := judgement()
	assert.Len(t, whole.Images, 6)
	assert.Equal(t, 6, whole.Groups)
	assert.Equal(t, 2, whole.Folds)
	assert.Contains(t, string(readFile(t, out, "eyes.md")), "6 images, each by the one of 2 runs that had not seen it")
	assert.NoFileExists(t, filepath.Join(out, "fold1", train.Checkpoint))
	assert.Contains(t, string(readFile(t, out, "eyes.md")), "It has no doubt, no calibration and no intervals. These take right results on images of 8 groups, such as patients. There are 6.")
	known, err := computing.Weights(filepath.Join(out, "eyes.safetensors"))
	require.NoError(t, err)
	assert.Nil(t, known.Metadata.Trust)

	require.NoError(t, os.Remove(filepath.Join(out, judgementName)))
	require.NoError(t, os.RemoveAll(filepath.Join(out, "fold2")))
	code, _, said = invoke(t.Context(), "-with", out, "-resume")
	require.Zero(t, code, said)
	assert.NotContains(t, said, "fold 1 of 2")
	assert.Equal(t, whole, judgement())

	for _, wrong := range [][]string{{"-cross", "2"}, {"-cross", "1", "-judge", model}, {"-cross", "2", "-judge", model, "-fold", "1/2"}, {"-cross", "2", "-judge", model, "-validate", "0.2"}} {
		code, _, said = invoke(t.Context(), arguments(data, filepath.Join(folder, "wrong"), "1", wrong...)...)
		assert.Equal(t, 2, code, said)
		assert.Contains(t, said, "-cross")
	}
}

// What a run with -cross learns of its errors is what "export" learns from the same folds. "segment"
// shows it.
func TestCrossLearnsDoubtAsExportDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: four folds of two roads")
	}
	const folds = 4
	folder := t.TempDir()
	data, out := filepath.Join(folder, "eyes"), filepath.Join(folder, "run")
	pair := synthetic.Scenario{Name: "pair", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}, {Name: "bob", Noise: 0.05, Bias: 0.3}}}
	require.NoError(t, synthetic.WriteDataset(t.Context(), data, pair, 12, 96, 1))
	code, _, said := invoke(t.Context(), "-data", data, "-out", out, "-name", "eyes", "-init", "fundus", "-judge", "fundus", "-anchor", "disc", "-side", "128",
		"-epochs", "1", "-rate", "1e-6", "-save", "1000", "-cross", fmt.Sprint(folds), "-device", "processor")
	require.Zero(t, code, said)
	var j train.Judgement
	require.NoError(t, json.Unmarshal(readFile(t, out, judgementName), &j))
	require.NotNil(t, j.Errors)
	assert.Equal(t, []any{true, 12, folds}, []any{j.Errors.Doubts, j.Errors.Groups, j.Errors.Runs})
	require.Len(t, j.Errors.Figures, 5)
	for _, f := range j.Errors.Figures {
		assert.True(t, f.Known, f)
		require.Len(t, f.Held, 1)
		assert.GreaterOrEqual(t, f.Held[0].Share, 0.5, f)
	}
	assert.Contains(t, string(readFile(t, out, "eyes.md")), "\n- area of the disc, synthetic-pair: ")

	model, again := filepath.Join(out, "eyes.safetensors"), filepath.Join(folder, "again.safetensors")
	set, err := dataset.Open(data)
	require.NoError(t, err)
	var runs []string
	for fold := range folds {
		split := dataset.Split{}
		for i, part := range dataset.Folds(set.Cases, folds) {
			if part == fold {
				split.Test = append(split.Test, set.Cases[i].Name)
			}
		}
		text, err := json.Marshal(split)
		require.NoError(t, err)
		divided := filepath.Join(folder, fmt.Sprintf("split%d.json", fold))
		runs = append(runs, filepath.Join(out, fmt.Sprintf("fold%d", fold+1), "eyes.best.safetensors")+"="+divided)
		require.NoError(t, os.WriteFile(divided, text, 0o644))
	}
	programs := programtest.Build(t, ".", "./cmd/export", "./cmd/segment") + string(filepath.Separator)
	run := func(program string, args ...string) {
		t.Helper()
		said, err := exec.CommandContext(t.Context(), program, append(args, "-device", "processor")...).CombinedOutput()
		require.NoError(t, err, string(said))
	}
	run(programs+"export", "-weights", model, "-data", data, "-folds", strings.Join(runs, ","), "-ranges", again)
	learned, err := computing.Weights(model)
	require.NoError(t, err)
	float, err := computing.Weights(filepath.Join(out, "eyes.f32.safetensors"))
	require.NoError(t, err)
	exported, err := computing.Weights(again)
	require.NoError(t, err)
	assert.Equal(t, exported.Metadata.Trust, learned.Metadata.Trust)
	assert.Equal(t, learned.Metadata.Trust, float.Metadata.Trust)

	shown := filepath.Join(folder, "shown")
	run(programs+"segment", "-weights", model, "-out", shown, set.Cases[0].Image)
	var result struct {
		Doubt        *float64
		Measurements struct {
			Structures []struct {
				Area     float64
				Interval *struct{ Low, High, Coverage float64 }
				Outlines *struct{ Margin float64 }
			}
		}
	}
	require.NoError(t, json.Unmarshal(readFile(t, shown, set.Cases[0].Name+".json"), &result))
	require.NotNil(t, result.Doubt)
	disc := result.Measurements.Structures[0]
	require.NotNil(t, disc.Interval)
	assert.Equal(t, 0.9, disc.Interval.Coverage)
	assert.True(t, disc.Interval.Low <= disc.Area && disc.Area <= disc.Interval.High, disc)
	require.NotNil(t, disc.Outlines)
	assert.Positive(t, disc.Outlines.Margin)
}
