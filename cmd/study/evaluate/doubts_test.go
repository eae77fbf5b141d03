package main

import (
	"path/filepath"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/evaluate"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/require"
)

// The report has the curve and the worst images. Without scores of doubt it has no curve, and says
// why.
func TestReport(t *testing.T) {
	dir, out := studytest.LevelData(t), filepath.Join(t.TempDir(), "out")
	r, table := Scores(t, "-weights", studytest.Biased(t, segmenttest.Fundus(), -30), "-data", dir, "-roi", "auto", "-on", "all", "-out", out)
	require.Equal(t, 5, r.Risk.Kept.Images+r.Doubts.Doubted.Images)
	require.Equal(t, []evaluate.CodeCount{{Code: "not-found", Images: 5}}, r.Doubts.Codes)
	require.Contains(t, table, "not-found")
	require.InDelta(t, r.Risk.All.Mean, *r.Risk.Area, 1e-12, "all are equally odd")
	page := string(studytest.ReadFile(t, filepath.Join(out, "report.html")))
	wellFormed(t, page)
	require.Contains(t, page, "share of images kept, the least odd first")
	require.Equal(t, 2*5, strings.Count(page, "<img"), "the lowest and the highest soft Dice")
	for _, name := range []string{"report.json", "cases.csv"} {
		require.NotEmpty(t, studytest.ReadFile(t, filepath.Join(out, name)), name)
	}

	r, table = Scores(t, "-weights", studytest.WeightsFile(t, segmenttest.Fundus(), nil), "-data", dir)
	require.Equal(t, 1, r.Risk.Unknown, "weights without what tells odd results must not look as if they could")
	require.Contains(t, table, "the weights cannot tell how odd a result is")
}
