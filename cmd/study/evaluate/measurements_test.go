package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// The range of the ratio is the engine's.
func TestRangeOfTheRatio(t *testing.T) {
	dir := studytest.LevelData(t)
	// the weights find a disc and a cup; the levels mark both
	file := studytest.WeightsFile(t, segmenttest.Fundus(), func(f *weights.File) {
		for _, name := range []string{"conp.head.bias", "divp.heads.output.bias"} {
			b := f.Tensor(name)
			values := make([]float32, b.Elements())
			for i := range values {
				values[i] = 30
			}
			*b = weights.NewF32(b.Name, b.Shape, values)
		}
	})
	got, table := Scores(t, "-weights", file, "-data", dir)
	m, err := computing.Weights(file)
	require.NoError(t, err)
	e, err := segment.New(t.Context(), reference.Open(), m, model.F32)
	require.NoError(t, err)
	defer e.Close()
	data, err := dataset.Open(dir)
	require.NoError(t, err)
	l, err := dataset.Load(data.HeldOut()[0])
	require.NoError(t, err)
	r, err := e.Segment(t.Context(), l.Image, segment.Options{Recurrences: 1, ROI: "none"})
	require.NoError(t, err)
	measured, raters := r.Measurements.VerticalRatio, got.Cases[0].Ratio.Raters
	require.NotNil(t, measured, "or this test says little")
	require.Equal(t, []float64{*measured.Low, *measured.High}, []float64{raters.Low, raters.High})
	require.Equal(t, got.Cases[0].Ratio.Reference, raters.Reference)
	require.Equal(t, 1, got.Intervals.Raters.Images)
	require.InDelta(t, *measured.High-*measured.Low, *got.Intervals.Raters.Width, 1e-12)
	require.Contains(t, table, "range of the mask and the heads")
	require.Len(t, got.Intervals.Areas, 2)
	require.Equal(t, 1, got.Intervals.Areas[0].Images+got.Intervals.Areas[0].Without)
}

// A data set that lacks a class of the model scores the others as one that has all.
func TestDataWithSomeOfTheClasses(t *testing.T) {
	dir := studytest.LevelData(t)
	file := studytest.WeightsFile(t, segmenttest.Fundus(), nil)
	whole, _ := Scores(t, "-weights", file, "-data", dir)
	part := filepath.Join(t.TempDir(), "disc-only")
	require.NoError(t, os.CopyFS(part, os.DirFS(dir)))
	for _, rater := range []string{"atleast1", "atleast2", "atleast3", "atleast4"} {
		require.NoError(t, os.RemoveAll(filepath.Join(part, "raters", rater, "cup")))
	}
	about := `{"name": "levels", "classes": ["disc"], "raters": ["atleast1", "atleast2", "atleast3", "atleast4"], "labels": "agreement-levels"}`
	require.NoError(t, os.WriteFile(filepath.Join(part, "dataset.json"), []byte(about), 0o644))
	lines := filepath.Join(t.TempDir(), "lines.csv")
	got, table := Scores(t, "-weights", file, "-data", part, "-changed", "-csv", lines)
	require.Equal(t, whole.Classes[0], got.Classes[0])
	require.Equal(t, []any{0., nil}, []any{got.Classes[1]["images"], got.Classes[1]["softDice"]})
	require.Nil(t, got.Cases[0].Classes[1])
	require.Nil(t, got.Ratio)
	require.Nil(t, got.Intervals.Areas[1])
	require.Equal(t, whole.Cases[0].Classes[0].SoftDice[1], got.Risk.All.Mean, "of what is marked")
	require.Contains(t, table, "cup: nobody has marked it")
	require.Regexp(t, `as they are +\d+\.\d \[n = 1\] +– +0 *\n`, table)
	require.Equal(t, 2, bytes.Count(studytest.ReadFile(t, lines), []byte("\n")), "a header, and the disc")
}
