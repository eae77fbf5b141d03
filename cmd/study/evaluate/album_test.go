package main

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/cmd/study/internal/evaluate"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/data/statistics"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/require"
)

// A model that finds nothing doubts every picture. A model without an anchor segments the whole
// picture.
func TestForeign(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	studytest.WritePicture(t, filepath.Join(one, "a.png"), 30, 20)
	studytest.WritePicture(t, filepath.Join(one, "b.png"), 20, 30)
	studytest.WritePicture(t, filepath.Join(two, "images", "c.png"), 20, 20)
	got, table := Scores(t, "-weights", studytest.Biased(t, segmenttest.Fundus(), -30), "-foreign", one+","+two)
	require.Equal(t, []evaluate.ForeignTally{{Folder: one, Images: 2, Doubted: statistics.Share{Images: 2, Share: 1}}, {Folder: two, Images: 1, Doubted: statistics.Share{Images: 1, Share: 1}}}, got.Foreign.Folders)
	require.Equal(t, evaluate.ForeignTally{Folder: "", Images: 3, Doubted: statistics.Share{Images: 3, Share: 1}}, got.Foreign.Together)
	require.Equal(t, []string{"not-found"}, got.Foreign.Pictures[2].Codes())
	require.Equal(t, "c.png", got.Foreign.Pictures[2].Name)
	require.Regexp(t, `together +3 +3 \(100.0 %\)`, table)
	require.NotContains(t, table, "Of these, not doubted")
	require.Contains(t, table, "every result is wrong, or its picture is foreign")

	got, _ = Scores(t, "-weights", studytest.Biased(t, segmenttest.Raters(), 30), "-foreign", two)
	require.True(t, got.Foreign.Pictures[0].Found)
	require.Equal(t, len(got.Foreign.Pictures[0].Doubts) > 0, got.Foreign.Together.Doubted.Images == 1)
}

// One error names the bad pictures of all folders and CSVs, before a device is opened.
func TestBadPicturesAreToldFirst(t *testing.T) {
	dir := t.TempDir()
	centres := studytest.CentresFile(t, "name,cx,cy,r\na,.5,.5,.5\nb,.5,.5,.5\n", "a.png", "b.png")
	bad := filepath.Join(filepath.Dir(centres), "images", "b.png")
	require.NoError(t, os.Truncate(bad, 60))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.png"), []byte("this is no picture"), 0o644))
	code, stdout, stderr := call(t, "-weights", studytest.WeightsFile(t, segmenttest.Fundus(), nil), "-centres", centres, "-foreign", dir, "-device", "processor", "-precision", "f16")
	require.Equal(t, 1, code)
	require.Empty(t, stdout)
	for _, want := range []string{"2 problems", bad + ": ", filepath.Join(dir, "text.png") + ": "} {
		require.Contains(t, stderr, want)
	}
	other := studytest.CentresFile(t, "name,cx,cy,r\na,2,.5,.5\nnosuch,.5,.5,.5\n", "a.png")
	_, _, stderr = call(t, "-weights", studytest.WeightsFile(t, segmenttest.Fundus(), nil), "-centres", other+","+studytest.CentresFile(t, "name\n", "a.png"))
	require.Contains(t, stderr, "3 problems")
	require.Contains(t, stderr, other+", line 2: cx is 2")
	require.Contains(t, stderr, other+", line 3: there is no image")
	require.Contains(t, stderr, "the first line has to be")
}
