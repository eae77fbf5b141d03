package main

import (
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/segment/segmenttest"
	"mrprism/internal/study/evaluate"
	"mrprism/internal/study/studytest"

	"github.com/stretchr/testify/require"
)

// The picture is written if there is a curve. Without one the program fails, and writes the other
// files.
func TestRiskFile(t *testing.T) {
	dir := studytest.LevelData(t)
	file := filepath.Join(t.TempDir(), "risk.svg")
	r, table := Scores(t, "-weights", studytest.Biased(t, segmenttest.Fundus(), -30), "-data", dir, "-roi", "auto", "-on", "all", "-risk", file)
	require.Equal(t, 5, r.Risk.Kept.Images+r.Doubts.Doubted.Images)
	require.Equal(t, []evaluate.CodeCount{{Code: "not-found", Images: 5}}, r.Doubts.Codes)
	require.Contains(t, table, "not-found")
	require.InDelta(t, r.Risk.All.Mean, *r.Risk.Area, 1e-12, "all are equally odd")
	svg := string(studytest.ReadFile(t, file))
	require.True(t, strings.HasPrefix(svg, "<?xml") && strings.HasSuffix(svg, "</svg>\n"))
	require.Equal(t, 5*2, strings.Count(svg, "A2.6,2.6"), "a dot of two arcs an image")

	r, table = Scores(t, "-weights", studytest.WeightsFile(t, segmenttest.Fundus(), nil), "-data", dir)
	require.Equal(t, 1, r.Risk.Unknown, "weights without what tells odd results must not look as if they could")
	require.Contains(t, table, "the weights cannot tell how odd a result is")
	lines := filepath.Join(t.TempDir(), "lines.csv")
	none := filepath.Join(t.TempDir(), "none.svg")
	code, stdout, stderr := call(t, "-weights", studytest.WeightsFile(t, segmenttest.Fundus(), nil), "-data", dir, "-device", "reference", "-recurrences", "0", "-risk", none, "-csv", lines)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "there is no risk–coverage curve")
	require.NoFileExists(t, none)
	require.FileExists(t, lines)
	require.Contains(t, stdout, "soft Dice")
}
