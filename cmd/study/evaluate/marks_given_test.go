package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/given"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// givenReport is the JSON of "evaluate evidence".
type givenReport struct {
	Scores []struct {
		Structure string
		Given     int
		Figures   []struct {
			With, Answer string
			Value        float64
		}
	}
}

// The figures of given marks are those that this test computes from the engine's maps, for every
// image that is held out and every rater who gives his mark.
func TestEvidenceFigures(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	about.Configuration = "tiny-evidence"
	file := studytest.WeightsFile(t, about, nil)
	path := filepath.Join(t.TempDir(), "given.json")
	code, stdout, stderr := call(t, "evidence", "-weights", file, "-data", dir, "-device", "reference", "-json", path)
	require.Equal(t, cli.Done, code, stderr)
	for _, part := range []string{"marks given: 1", "another image's marks", "fixed blend for cup, 1 marks, against all", "a corrected patch", "Dice of the heads"} {
		assert.Contains(t, stdout, part)
	}
	var report givenReport
	require.NoError(t, json.Unmarshal(studytest.ReadFile(t, path), &report))
	got := map[string]float64{}
	for _, row := range report.Scores {
		for _, f := range row.Figures {
			got[fmt.Sprint(row.Structure, row.Given, f.With, ": ", f.Answer)] = f.Value
		}
	}

	data, err := dataset.Open(dir)
	require.NoError(t, err)
	require.Len(t, data.HeldOut(), 1)
	l, err := dataset.Load(data.HeldOut()[0])
	require.NoError(t, err)
	m, err := computing.Weights(file)
	require.NoError(t, err)
	e, err := segment.New(t.Context(), reference.Open(), m, "")
	require.NoError(t, err)
	defer e.Close()
	without, err := e.Segment(t.Context(), l.Image, segment.Options{ROI: "none"})
	require.NoError(t, err)
	want := map[string]float64{}
	for rater, name := range about.Raters {
		mask, hidden := make([]byte, len(l.Masks[rater][0])), [][]uint8{}
		for i, v := range l.Masks[rater][0] {
			mask[i] = 255 * v
		}
		for other := range about.Raters {
			if other != rater {
				hidden = append(hidden, l.Masks[other][0])
			}
		}
		r, err := e.Recalculate(t.Context(), segment.Options{Recurrences: model.Settles, Evidence: []segment.Evidence{{Rater: name, Class: "disc", Mask: mask}}})
		require.NoError(t, err)
		n, target := float64(len(about.Raters)), metric.Count(hidden...)
		want["raters not given: ours"] += metric.SoftDice(r.Others(0), target) / n
		want["raters not given: network without"] += metric.SoftDice(without.Probability(0), target) / n
		want["raters not given: the marks"] += metric.SoftDice(metric.Count(l.Masks[rater][0]).Mean(), target) / n
		want["all raters: ours"] += metric.SoftDice(r.Probability(0), metric.Count(l.Given(0)...)) / n
		for other := range about.Raters {
			if other != rater {
				want["own marks of raters not given: ours"] += metric.Dice(r.Rater(other, 0), l.Masks[other][0]) / n / (n - 1)
			}
		}
	}
	for name, v := range want {
		assert.InDelta(t, v, got["disc1"+name], 1e-5, name)
	}

	for wanted, args := range map[string][]string{
		"does not take marks": {"-weights", "cells", "-data", dir},
		"which data?":         {"-weights", file},
	} {
		if wanted == "does not take marks" {
			args[1] = studytest.WeightsFile(t, segmenttest.Raters(), nil)
		}
		code, _, stderr := call(t, append([]string{"evidence", "-device", "reference"}, args...)...)
		assert.NotEqual(t, cli.Done, code)
		assert.Contains(t, stderr, wanted)
	}
}

// Of a disc a tenth of the directions is given near its outline, and the rest is measured but for a
// twentieth on either side.
func TestTenthOfAnOutline(t *testing.T) {
	const side, radius = 64, 20
	mark := make([]uint8, side*side)
	for i := range mark {
		if math.Hypot(float64(i%side-32), float64(i/side-32)) < radius {
			mark[i] = 1
		}
	}
	said, rest := given.Tenth(mark, side, side, 0)
	spoken, edge, left := 0., 0., 0.
	for i, v := range said {
		x, y := float64(i%side-32), float64(i/side-32)
		angle := math.Abs(math.Atan2(y, x))
		if v != segment.Unsaid {
			assert.Equal(t, 255*mark[i], v)
			assert.Less(t, angle, 0.33)
			assert.InDelta(t, radius, math.Hypot(x, y), radius/4+2)
		}
		if math.Abs(math.Hypot(x, y)-radius) < 1 {
			edge++
			if v != segment.Unsaid {
				spoken++
			}
			if rest[i] {
				left++
			}
		}
	}
	assert.InDelta(t, 0.1, spoken/edge, 0.03)
	assert.InDelta(t, 0.8, left/edge, 0.03)
	assert.Equal(t, 1., given.DiceWithin([]float32{0.9, 0.9, 0}, []uint8{1, 0, 0}, []bool{true, false, true}))
	assert.InDelta(t, 2./3, given.DiceWithin([]float32{0.9, 0.9, 0}, []uint8{1, 0, 0}, []bool{true, true, true}), 1e-9)
	assert.Contains(t, strings.ToLower(evidenceIntro), "a tenth")
}
