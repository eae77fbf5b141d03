package main

import (
	"encoding/json"
	"testing"

	"mrprism/cmd/study/internal/evaluate"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// Each panel's mask is scored beside the data's people, who need not be the model's raters.
func TestPanels(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	about.Raters = []string{"drishti", "rimone"}
	for p, name := range about.Raters {
		shift := []float64{.5, -.5}[p]
		about.Panels = append(about.Panels, weights.Panel{Name: name, Weight: .5, Shift: []float64{shift, shift}})
	}
	file := studytest.WeightsFile(t, about, func(f *weights.File) { f.Metadata["recipe"] = "bce" })
	code, stdout, stderr := call(t, "-weights", file, "-data", dir, "-device", "reference", "-on", "all", "-json", "-")
	require.Zero(t, code, stderr)
	var got evaluate.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	for _, c := range got.Cases {
		for _, class := range c.Classes {
			require.Len(t, class.Response, 2)
			require.Greater(t, class.Response[0].Area, class.Response[1].Area)
			require.InDelta(t, class.SoftDice[0], class.Response[1].Before, 1e-6)
		}
	}
	rows := got.Classes[0]["response"].([]any)
	require.Equal(t, "as the experts of drishti", rows[0].(map[string]any)["rater"])
}
