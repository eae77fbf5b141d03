package main

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

	"mrprism/internal/data/dataset"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"

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
		writePicture(t, filepath.Join(dir, name), 4, 4)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("a text"), 0o644))
	set, err := readForeign(dir)
	require.NoError(t, err)
	require.Equal(t, []photograph{
		{name: "a.JPG", path: filepath.Join(dir, "a.JPG")}, {name: "b.png", path: filepath.Join(dir, "b.png")}, {name: "c.jpeg", path: filepath.Join(dir, "c.jpeg")},
	}, set.photographs)
	writePicture(t, filepath.Join(dir, "images", "d.png"), 4, 4)
	set, err = readForeign(dir)
	require.NoError(t, err)
	require.Equal(t, []photograph{{name: "d.png", path: filepath.Join(dir, "images", "d.png")}}, set.photographs)
	require.Equal(t, dir, set.name)
	_, err = readForeign(t.TempDir())
	require.ErrorContains(t, err, "there is no .png")
}

// A model that finds nothing doubts every picture. A model without an anchor segments the whole
// picture.
func TestForeign(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	writePicture(t, filepath.Join(one, "a.png"), 30, 20)
	writePicture(t, filepath.Join(one, "b.png"), 20, 30)
	writePicture(t, filepath.Join(two, "images", "c.png"), 20, 20)
	got, table := scores(t, "-weights", biased(t, segmenttest.Fundus(), -30), "-foreign", one+","+two)
	require.Equal(t, []foreignTally{{one, 2, part{2, 1}}, {two, 1, part{1, 1}}}, got.Foreign.Folders)
	require.Equal(t, foreignTally{"", 3, part{3, 1}}, got.Foreign.Together)
	require.Equal(t, []string{"not-found"}, got.Foreign.Pictures[2].codes())
	require.Equal(t, "c.png", got.Foreign.Pictures[2].Name)
	require.Regexp(t, `together +3 +3 \(100.0 %\)`, table)
	require.NotContains(t, table, "not doubted")
	require.Contains(t, table, "every result is wrong, or its picture is foreign")

	got, _ = scores(t, "-weights", biased(t, segmenttest.Raters(), 30), "-foreign", two)
	require.True(t, got.Foreign.Pictures[0].Found)
	require.Equal(t, len(got.Foreign.Pictures[0].Doubts) > 0, got.Foreign.Together.Doubted.Images == 1)
}

// The table names ten pictures that are not doubted, and the number of the others.
func TestForeignNames(t *testing.T) {
	s := &scorer{}
	set := &album{name: "wild"}
	for i := range 14 {
		f := &foreignScore{Folder: "wild", Name: fmt.Sprintf("p%02d.png", i), trust: trust{Found: true, Doubted: i == 3}}
		s.foreign, set.photographs = append(s.foreign, f), append(set.photographs, photograph{name: f.Name})
	}
	r := s.foreignReport([]*album{set})
	require.Zero(t, r.Of)
	var out bytes.Buffer
	require.NoError(t, (&report{Foreign: r}).table(&out))
	require.Contains(t, out.String(), "wild  14      1 (7.1 %)")
	require.NotContains(t, out.String(), "together")
	require.Equal(t, 10, strings.Count(out.String(), "not doubted: "))
	require.NotContains(t, out.String(), "p03.png")
	require.Contains(t, out.String(), "not doubted: p10.png of wild")
	require.NotContains(t, out.String(), "p11.png")
	require.Contains(t, out.String(), "and 3 more, in -json")
}

// One error names the bad pictures of all folders and CSVs, before a device is opened.
func TestBadPicturesAreToldFirst(t *testing.T) {
	dir := t.TempDir()
	centres := centresFile(t, "name,cx,cy,r\na,.5,.5,.5\nb,.5,.5,.5\n", "a.png", "b.png")
	bad := filepath.Join(filepath.Dir(centres), "images", "b.png")
	require.NoError(t, os.Truncate(bad, 60))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.png"), []byte("this is no picture"), 0o644))
	code, stdout, stderr := call(t, "-weights", weightsFile(t, segmenttest.Fundus(), nil), "-centres", centres, "-foreign", dir, "-device", "processor", "-precision", "f16")
	require.Equal(t, 1, code)
	require.Empty(t, stdout)
	for _, want := range []string{"2 problems", bad + ": ", filepath.Join(dir, "text.png") + ": "} {
		require.Contains(t, stderr, want)
	}
	other := centresFile(t, "name,cx,cy,r\na,2,.5,.5\nnosuch,.5,.5,.5\n", "a.png")
	_, _, stderr = call(t, "-weights", weightsFile(t, segmenttest.Fundus(), nil), "-centres", other+","+centresFile(t, "name\n", "a.png"))
	require.Contains(t, stderr, "3 problems")
	require.Contains(t, stderr, other+", line 2: cx is 2")
	require.Contains(t, stderr, other+", line 3: there is no image")
	require.Contains(t, stderr, "the first line has to be")
}

func TestTrust(t *testing.T) {
	about := trustOf(&segment.Result{Found: true, Doubt: new(1.25), Doubts: []segment.Doubt{{Code: "odd"}, {Code: "edge"}, {Code: "odd"}}})
	require.True(t, about.Found && about.Doubted)
	require.Equal(t, []string{"odd", "edge"}, about.codes())
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
