package evaluate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/data/dataset"
	"mrprism/internal/segment"

	"github.com/stretchr/testify/require"
)

func asProblems(t *testing.T, err error) dataset.Problems {
	t.Helper()
	var problems dataset.Problems
	require.True(t, errors.As(err, &problems), "%v", err)
	return problems
}

// The pictures are those of the folder, or of its subfolder images. Other files do not count.
func TestReadForeign(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.png", "a.JPG", "c.jpeg", ".hidden.png"} {
		studytest.WritePicture(t, filepath.Join(dir, name), 4, 4)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("a text"), 0o644))
	set, err := readForeign(dir)
	require.NoError(t, err)
	require.Equal(t, []photograph{
		{name: "a.JPG", path: filepath.Join(dir, "a.JPG")}, {name: "b.png", path: filepath.Join(dir, "b.png")}, {name: "c.jpeg", path: filepath.Join(dir, "c.jpeg")},
	}, set.photographs)
	studytest.WritePicture(t, filepath.Join(dir, "images", "d.png"), 4, 4)
	set, err = readForeign(dir)
	require.NoError(t, err)
	require.Equal(t, []photograph{{name: "d.png", path: filepath.Join(dir, "images", "d.png")}}, set.photographs)
	require.Equal(t, dir, set.name)
	_, err = readForeign(t.TempDir())
	require.ErrorContains(t, err, "there is no .png")
}

// The table names ten pictures that are not doubted, and the number of the others.
func TestForeignNames(t *testing.T) {
	s := &study{}
	set := &album{name: "wild"}
	for i := range 14 {
		f := &foreignScore{Folder: "wild", Name: fmt.Sprintf("p%02d.png", i), judgement: judgement{Found: true, Doubted: i == 3}}
		s.strange, set.photographs = append(s.strange, f), append(set.photographs, photograph{name: f.Name})
	}
	s.foreign = []*album{set}
	r := s.foreignReport()
	require.Zero(t, r.Of)
	var out bytes.Buffer
	require.NoError(t, (&Report{Foreign: r}).Document().Print(&out))
	require.Contains(t, out.String(), "wild  14      1 (7.1 %)")
	require.NotContains(t, out.String(), "together")
	require.Equal(t, 10, strings.Count(out.String(), ".png "))
	require.NotContains(t, out.String(), "p03.png")
	require.Regexp(t, `p10.png +wild`, out.String())
	require.NotContains(t, out.String(), "p11.png")
	require.Contains(t, out.String(), "and 3 more, in the JSON")
}

func TestTrust(t *testing.T) {
	about := trustOf(&segment.Result{Found: true, Doubt: new(1.25), Doubts: []segment.Doubt{{Code: "odd"}, {Code: "edge"}, {Code: "odd"}}})
	require.True(t, about.Found && about.Doubted)
	require.Equal(t, []string{"odd", "edge"}, about.Codes())
	score, known := about.oddness()
	require.True(t, known)
	require.Equal(t, 1.25, score)
	_, known = new(trustOf(&segment.Result{Found: true})).oddness()
	require.False(t, known)
	require.False(t, trustOf(&segment.Result{Found: true, Doubt: new(.5)}).Doubted)
	for _, extreme := range []float64{math.Inf(1), math.NaN()} { // JSON holds neither
		about := trustOf(&segment.Result{Found: true, Doubt: &extreme})
		_, err := json.Marshal(about)
		require.NoError(t, err)
		score, known := about.oddness()
		require.True(t, known && score > 1e300 && score < math.Inf(1), "what finds nothing is odder")
	}
}
