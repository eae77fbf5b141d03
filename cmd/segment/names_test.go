package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/segment/segmenttest"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// Images of one name are numbered in the order in which they are named, upper and lower case being
// one. Names of the formats' extensions alone are cut, and no name is a device's.
func TestNamesOfOutputs(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	w := weightsFile(t, dir, segmenttest.Raters(), nil)
	photo, in := encodePNG(t, synthetic.Photograph(1, 40, 40)), filepath.Join(dir, "in")
	for _, name := range []string{"a/x.png", "a/x_2.png", "b/X.PNG", "in/CT.1.2.840.3", "in/CT.1.2.840.4", "in/IMG.ima", "in/con.png", "in/note.txt", "in/x.jpg"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		write(t, filepath.Join(dir, name), map[bool][]byte{true: []byte("a text"), false: photo}[name == "in/note.txt"])
	}
	table := filepath.Join(out, "all.csv")
	args := []string{"-weights", w, "-device", "reference", "-recurrences", "0", "-out", out, "-csv", table}
	all := []string{filepath.Join(dir, "a/x.png"), filepath.Join(dir, "b/X.PNG"), filepath.Join(dir, "a/x_2.png"), in, filepath.Join(in, "con.png")}
	got := call(t, append(args, all...)...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stderr, "1 images are named twice")
	var summaries []string
	for _, name := range listed(t, out) {
		if filepath.Ext(name) == ".json" {
			summaries = append(summaries, name)
		}
	}
	require.Equal(t, []string{"CT.1.2.840.3.json", "CT.1.2.840.4.json", "IMG.ima.json", "X_3.json", "con_.json", "x.json", "x_2.json", "x_4.json"}, summaries)
	require.Contains(t, string(must(os.ReadFile(filepath.Join(out, "X_3.json")))), "b/X.PNG")

	got = call(t, append(args, all...)...)
	require.Zero(t, got.code, got.stderr)
	require.Empty(t, got.stdout, "all are done")
	got = call(t, append(args, filepath.Join(in, "x.jpg"))...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "x.json", "until now that was of another image")
}

// A name with a comma, with bytes that are no UTF-8 or as long as a system allows gives results of
// valid names in valid tables and JSON, by which another call knows them.
func TestStrangeNames(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	long, other := strings.Repeat("p", 251), strings.Repeat("é", 125)
	args := []string{"-weights", weightsFile(t, dir, segmenttest.Raters(), nil), "-device", "reference", "-recurrences", "0", "-out", out, "-csv", filepath.Join(out, "all.csv"),
		"-format", "png,nifti-mask,svg,geojson"}
	want := []string{"image"}
	for _, name := range []string{long, long[:250] + "q", other, "caf\xe9", "caf\xe8", "a, b", "=1+1"} {
		path := filepath.Join(dir, name+".png")
		if err := os.WriteFile(path, encodePNG(t, synthetic.Photograph(1, 40, 40)), 0o644); err != nil {
			t.Skipf("this file system has no such names: %v", err)
		}
		args, want = append(args, path), append(want, imageio.Valid(path))
	}
	got := call(t, args...)
	require.Zero(t, got.code, got.stderr)
	require.True(t, utf8.ValidString(got.stdout+got.stderr))
	text := must(os.ReadFile(filepath.Join(out, "all.csv")))
	require.True(t, utf8.Valid(text))
	lines, err := csv.NewReader(bytes.NewReader(text[len("\ufeff"):])).ReadAll()
	require.NoError(t, err)
	var images []string
	for _, line := range lines {
		images = append(images, line[0])
	}
	require.Equal(t, want, images)
	summaries := 0
	for _, name := range listed(t, out) {
		require.True(t, utf8.ValidString(name), name)
		if content := must(os.ReadFile(filepath.Join(out, name))); slices.Contains([]string{".json", ".geojson", ".svg"}, filepath.Ext(name)) {
			require.True(t, utf8.Valid(content), name)
			summaries += map[bool]int{true: 1}[filepath.Ext(name) == ".json"]
		}
	}
	require.Equal(t, len(want)-1, summaries)
	got = call(t, args...)
	require.Zero(t, got.code, got.stderr)
	require.Empty(t, got.stdout, "all are done")
}

// The longest names that a volume can give its results still fit where a system allows 255 bytes.
func TestLongestNamesFit(t *testing.T) {
	volume, class := strings.Repeat("v", 251)+".tif", strings.Repeat("c", 64)
	raters := []string{strings.Repeat("r", 64), strings.Repeat("r", 63)}
	readers := masks.Readers(raters, []string{class}, weights.LabelsRaters, true, true)
	items, err := plan("out", []string{volume, filepath.Join("other", volume)}, nil, readers, []string{class}, masks.Formats)
	require.NoError(t, err)
	for _, output := range items[1].Picture(65535, 65535).Outputs() {
		require.LessOrEqual(t, len(filepath.Base(output)), 250, "and room for the numbers of more of one name")
	}
}

// A stranger's archive is unpacked where the results go: its links are refused before anything is
// computed, and what they name stays as it is.
func TestLinksAmongTheResults(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	photo := write(t, filepath.Join(dir, "x.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	args := []string{"-weights", weightsFile(t, dir, segmenttest.Raters(), nil), "-device", "reference", "-recurrences", "0", "-out", out, photo}
	for name, more := range map[string][]string{"x.json": nil, "x_brain.png": nil, "x_brain_ann.png": nil, "all.csv": {"-csv", filepath.Join(out, "all.csv")}} {
		for _, there := range []bool{true, false} {
			victim, link := filepath.Join(dir, "profile"), filepath.Join(out, name)
			if there {
				write(t, victim, []byte("mine"))
			}
			require.NoError(t, os.Symlink(victim, link))
			got := call(t, slices.Concat(more, args)...)
			require.NotZero(t, got.code, name)
			require.Contains(t, got.stderr, link+" is a link")
			require.Equal(t, []string{name}, listed(t, out), "nothing is written")
			if there {
				require.Equal(t, "mine", string(must(os.ReadFile(victim))))
				require.NoError(t, os.Remove(victim))
			} else {
				require.NoFileExists(t, victim)
			}
			require.NoError(t, os.Remove(link))
		}
	}
}
