package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/require"
)

// tableOf reads a file of -csv: the texts by image and column.
func tableOf(t *testing.T, path string) map[string]map[string]string {
	t.Helper()
	text, ok := strings.CutPrefix(string(must(os.ReadFile(path))), "\ufeff")
	require.True(t, ok)
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	lines := map[string]map[string]string{}
	for _, texts := range all[1:] {
		line := map[string]string{}
		for i, column := range all[0] {
			line[column] = texts[i]
		}
		require.NotContains(t, lines, line["image"], "one line an image")
		lines[line["image"]] = line
	}
	return lines
}

// A folder becomes a table with a line an image, also of one that fails. The next run segments what
// is missing.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	photos, out := filepath.Join(dir, "photos"), filepath.Join(dir, "new", "masks")
	require.NoError(t, os.MkdirAll(filepath.Join(photos, "inside"), 0o755))
	data := encodePNG(t, synthetic.Photograph(1, 60, 40))
	for _, name := range []string{"a.png", "b.png", "=1+1.png", "inside/c.png"} {
		write(t, filepath.Join(photos, name), data)
	}
	write(t, filepath.Join(photos, "bad.png"), []byte("this is no picture"))
	write(t, filepath.Join(photos, "notes.txt"), []byte("no image"))
	write(t, filepath.Join(photos, ".hidden.png"), data)
	w, table := weightsFile(t, dir, segmenttest.Fundus(), nil), filepath.Join(out, "all.csv")
	base := []string{"-weights", w, "-device", "reference", "-recurrences", "1", "-out", out, "-csv", table}
	image := func(name string) string { return filepath.Join(photos, name) }

	got := call(t, append(base, photos)...)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "2 files of the folders are no images and were left out")
	require.Contains(t, got.stderr, "1 of 4 images failed")
	lines := tableOf(t, table)
	require.Len(t, lines, 4)
	require.Contains(t, lines[image("bad.png")]["error"], "bad.png: ")
	require.Empty(t, lines[image("bad.png")]["disc_area_px"])
	a := lines[image("a.png")]
	require.Equal(t, []string{"60", "40", "true", ""}, []string{a["width_px"], a["height_px"], a["found"], a["error"]})
	require.Len(t, a["weights_sha256"], 64)
	require.Contains(t, a["program"], "segment ")
	_, err := time.Parse(time.RFC3339, a["date"])
	require.NoError(t, err)
	require.NotEmpty(t, a["disc_area_px"])
	require.Contains(t, a, "vertical_cup_disc_ratio")

	// the bad image is repaired, a mask is lost, another image comes
	write(t, image("bad.png"), data)
	require.NoError(t, os.Remove(filepath.Join(out, "b_disc.png")))
	write(t, image("d.png"), data)
	got = call(t, append(base, photos)...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stderr, "2 of 5 images are done already")
	require.Equal(t, 3, strings.Count(got.stdout, "\n"), got.stdout)
	for _, name := range []string{"bad", "b", "d"} {
		require.Contains(t, got.stdout, image(name+".png")+": ")
	}
	again := tableOf(t, table)
	require.Len(t, again, 5)
	require.Equal(t, a, again[image("a.png")], "as it was")
	require.Empty(t, again[image("bad.png")]["error"])

	// the table follows a run without it
	other := segmenttest.Fundus()
	other.Seed = 9
	without := append(slices.Clone(base[:len(base)-2]), "-weights", weightsFile(t, t.TempDir(), other, nil), image("a.png"))
	require.Zero(t, call(t, without...).code)
	got = call(t, append(without, "-csv", table)...)
	require.Contains(t, got.stderr, "1 of 1 images are done")
	require.NotEqual(t, a["weights_sha256"], tableOf(t, table)[image("a.png")]["weights_sha256"])
	require.Zero(t, call(t, append(base, photos)...).code)

	// all are done; other options are another result
	got = call(t, append(base, photos)...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stderr, "5 of 5 images are done")
	require.Empty(t, got.stdout)
	got = call(t, append(base, "-roi", "none", image("a.png"))...)
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, "whole image", tableOf(t, table)[image("a.png")]["region_by"])
	require.Len(t, tableOf(t, table), 5)
}

// Files that were deleted, emptied or flipped since, and an entry that is cut, are named, and their
// images are segmented again. A line that is cut comes back from the entry.
func TestResumeChecksFiles(t *testing.T) {
	dir := t.TempDir()
	photos, out := filepath.Join(dir, "photos"), filepath.Join(dir, "masks")
	require.NoError(t, os.Mkdir(photos, 0o755))
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		write(t, filepath.Join(photos, name+".png"), encodePNG(t, synthetic.Photograph(1, 60, 40)))
	}
	table := filepath.Join(out, "all.csv")
	args := []string{"-weights", weightsFile(t, dir, segmenttest.Fundus(), nil), "-device", "reference", "-recurrences", "0", "-out", out, "-csv", table, photos}
	got := call(t, args...)
	require.Zero(t, got.code, got.stderr)
	file := func(name string) string { return filepath.Join(out, name) }
	mask := must(os.ReadFile(file("b_disc.png")))
	flipped := slices.Clone(mask)
	flipped[len(flipped)/2] ^= 1
	require.NoError(t, os.Remove(file("a_disc.png")))
	write(t, file("b_disc.png"), flipped)
	write(t, file("c_disc.png"), nil)
	write(t, file("d.json"), must(os.ReadFile(file("d.json")))[:100])
	write(t, file("e.json"), regexp.MustCompile(`"sha256": "[0-9a-f]+"`).ReplaceAll(must(os.ReadFile(file("e.json"))), []byte(`"sha256": ""`)))
	lines := must(os.ReadFile(table))
	write(t, table, lines[:len(lines)-5])

	got = call(t, args...)
	require.Zero(t, got.code, got.stderr)
	for _, said := range []string{"a_disc.png\": no such file", "b_disc.png\" has changed", "c_disc.png\" has 0 bytes", "d.json\" is cut", "e.json\" is of",
		"the last line", "2 of 7 images are done"} {
		require.Contains(t, got.stderr, said)
	}
	require.Equal(t, 5, strings.Count(got.stdout, "\n"), got.stdout)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		require.Equal(t, mask, must(os.ReadFile(file(name+"_disc.png"))), name)
	}
	require.Len(t, tableOf(t, table), 7)
	got = call(t, args...)
	require.Contains(t, got.stderr, "7 of 7 images are done")

	// an earlier version kept no sums
	write(t, file("a.json"), regexp.MustCompile(`,\s+"bytes": \d+,\s+"sha256": "[0-9a-f]+"`).ReplaceAll(must(os.ReadFile(file("a.json"))), nil))
	got = call(t, args...)
	require.Contains(t, got.stderr, "kept no sums of its files")
	require.Equal(t, 1, strings.Count(got.stdout, "\n"), got.stdout)
	write(t, table, nil)
	got = call(t, args...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stderr, "no whole line")
	require.Empty(t, got.stdout, "the entries have the lines")
	require.Len(t, tableOf(t, table), 7)

	// an earlier version left the options to the table; another photograph gets the name
	write(t, file("b.json"), regexp.MustCompile(`\s+"(image_sha256|program|date|options)": "[^"]*",`).ReplaceAll(must(os.ReadFile(file("b.json"))), nil))
	write(t, filepath.Join(photos, "c.png"), encodePNG(t, synthetic.Photograph(2, 60, 40)))
	got = call(t, args...)
	require.Contains(t, got.stderr, "6 of 7 images are done")
	require.Contains(t, got.stderr, "the image has changed since: \""+filepath.Join(photos, "c.png"))

	// an earlier version numbered the levels in names
	for _, class := range []string{"disc", "cup"} {
		require.NoError(t, os.Rename(file("d_"+class+"_atleast2.png"), file("d_"+class+"_rater2.png")))
	}
	write(t, file("d.json"), bytes.ReplaceAll(must(os.ReadFile(file("d.json"))), []byte("_atleast2.png"), []byte("_rater2.png")))
	require.Contains(t, call(t, args...).stderr, "7 of 7 images are done")
	write(t, file("d_cup_rater2.png"), nil)
	require.Contains(t, call(t, args...).stderr, "d_cup_rater2.png\" has 0 bytes")
}

func TestTableUsage(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	w, photo := weightsFile(t, dir, segmenttest.Raters(), nil), write(t, filepath.Join(dir, "a.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	other := write(t, filepath.Join(dir, "other.csv"), []byte("name,age\nann,7\n"))
	out := filepath.Join(dir, "out")
	base := []string{"-weights", w, "-device", "reference", "-out", out}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "-csv all.txt: name a file that ends in .csv", []string{"-csv", "all.txt", photo}},
		{2, "there is no folder", []string{"-csv", filepath.Join(dir, "none", "all.csv"), photo}},
		{1, "other columns", []string{"-csv", other, photo}},
		{2, "a folder without images", []string{empty}},
		{2, "is the folder of the results too", []string{"-out", dir, dir}},
	} {
		got := call(t, append(base, c.args...)...)
		require.Equal(t, c.code, got.code, got.stderr)
		require.Contains(t, got.stderr, c.want)
		require.Empty(t, got.stdout)
	}
	require.NoDirExists(t, out)
	require.Equal(t, "name,age\nann,7\n", string(must(os.ReadFile(other))))
}

// After Ctrl-C the table is whole and has the images whose files are complete. The next run goes on
// with the others.
func TestTableAfterInterrupt(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	const n = 60
	data := encodePNG(t, synthetic.Photograph(1, 40, 40))
	photos := filepath.Join(dir, "photos")
	require.NoError(t, os.Mkdir(photos, 0o755))
	for i := range n {
		write(t, filepath.Join(photos, fmt.Sprintf("i%03d.png", i)), data)
	}
	table := filepath.Join(out, "all.csv")
	args := []string{"-weights", weightsFile(t, dir, segmenttest.Raters(), nil), "-device", "reference", "-recurrences", "9", "-out", out, "-csv", table}
	cmd := process(append(args, photos)...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan())
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	for lines.Scan() {
	}
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	begun := tableOf(t, table)
	require.NotEmpty(t, begun)
	require.Less(t, len(begun), n)
	require.Len(t, listed(t, out), 5*len(begun)+1, "a line for each image whose files are there, and nothing else")

	got := call(t, append(args, photos)...)
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, n-len(begun), strings.Count(got.stdout, "\n"))
	all := tableOf(t, table)
	require.Len(t, all, n)
	for image, line := range begun {
		require.Equal(t, line, all[image])
	}
}
