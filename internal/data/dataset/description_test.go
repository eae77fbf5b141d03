package dataset

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Messages describe a field's form in the words of dataset.json, not of Go. A field "label" is a
// fault, not a comment.
func TestDescriptionRefuses(t *testing.T) {
	dir := write(t, 2)
	path := filepath.Join(dir, "dataset.json")
	for text, says := range map[string]string{
		"{\n\"classes\": \"disc\",\n\"raters\": [\"a\"]}":                                    `, line 2: classes must be a list as ["disc", "cup"], not string`,
		`{"classes": ["disc"], "raters": ["a", 1]}`:                                          `, line 1: raters must be a list as ["ann", "bob"], not number`,
		`{"name": [], "classes": ["disc"], "raters": ["a"]}`:                                 `, line 1: name must be text in quotes, not array`,
		`{"name": "` + strings.Repeat("x", 201) + `", "classes": ["disc"], "raters": ["a"]}`: `: name has 201 bytes; shorten it to 200`,
		`["disc"]`: `, line 1: it must be fields in braces, not array`,
		`{"classes": ["disc", "cup"], "raters": ["a", "b", "c"], "label": "agreement-levels"}`: `: there is no field "label"; did you mean "labels"?`,
	} {
		put(t, path, []byte(text))
		_, err := Open(dir)
		assert.EqualError(t, err, path+says)
	}
	put(t, path, []byte(`{"classes": ["disc", "cup"], "raters": ["a", "b", "c"], "licence": "CC0", "labelled": 2020}`))
	_, err := Open(dir)
	assert.NoError(t, err, "other fields are for people")
}

// The folder truth/ may only hold classes; it need not hold all of them.
func TestTruthOfNoClass(t *testing.T) {
	dir := write(t, 2)
	put(t, filepath.Join(dir, "truth", "disc", name(0)+".png"), pngOf(t, maskOf(image.Rect(1, 1, 9, 9))))
	_, err := Open(dir)
	require.NoError(t, err)
	put(t, filepath.Join(dir, "truth", "Cup", name(0)+".png"), pngOf(t, maskOf(image.Rect(1, 1, 9, 9))))
	strange := filepath.Join(dir, "truth", "Cup") + ": dataset.json names no such class (disc, cup)"
	_, err = Open(dir)
	assert.EqualError(t, err, strange)
	assert.Equal(t, []Finding{{Error: true, Kind: KindFault, Text: strange}}, check(t, dir).Findings[:1])
}

// Spaces around folder names are ignored. Empty names are a fault, and so is a folder that is named
// twice, by any path.
func TestFoldersAreDistinct(t *testing.T) {
	a, b := write(t, 5), write(t, 6)
	d, err := Open(a, " "+b+" ")
	require.NoError(t, err)
	assert.Len(t, d.Cases, 11)
	_, err = Open(a, "")
	assert.EqualError(t, err, fmt.Sprintf("%q: a folder's name is empty; remove the comma or name the folder", a+","))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(a, link))
	for _, again := range []string{a, a + "/../" + filepath.Base(a), link} {
		_, err = Open(a, b, again)
		assert.EqualError(t, err, again+": the same folder as "+a+", and would count twice; name it once")
	}
}

// A pipe in the place of an image or a mask is named; nothing waits for it.
func TestPipesAreNamed(t *testing.T) {
	dir := write(t, 5)
	for _, path := range []string{filepath.Join(dir, "images", name(1)+".png"), maskPath(dir, "a", "disc", 2), filepath.Join(dir, DescriptionFile), filepath.Join(dir, GroupsFile),
		filepath.Join(dir, SplitFile), filepath.Join(dir, DiagnosisFile), filepath.Join(dir, AffinesFile)} {
		before, failed := os.ReadFile(path)
		require.NoError(t, os.RemoveAll(path))
		if err := exec.Command("mkfifo", path).Run(); err != nil {
			t.Skipf("this system has no pipes with names: %v", err)
		}
		assert.Contains(t, fmt.Sprint(check(t, dir).Findings), path+": cannot be read (it is a pipe or a device, and no file)")
		require.NoError(t, os.Remove(path))
		if failed == nil { // it was there
			require.NoError(t, os.WriteFile(path, before, 0o644))
		}
	}
}

// If EXIF turns an image and its mask was drawn unturned, the message says that EXIF turns the
// image.
func TestMaskOfTurnedImage(t *testing.T) {
	dir := write(t, 2)
	path := filepath.Join(dir, "images", name(1)+".png")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	// An eXIf chunk before IEND: a TIFF of one entry, tag 274, a short: 6. Source: PNG third edition,
	// 11.3.4.5.
	chunk := append([]byte("eXIfMM\x00*"), 0, 0, 0, 8, 0, 1, 1, 18, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk))
	chunk = append(binary.BigEndian.AppendUint32(nil, uint32(len(chunk)-8)), chunk...)
	put(t, path, slices.Insert(data, len(data)-12, chunk...))
	_, err = Open(dir)
	require.ErrorContains(t, err, maskPath(dir, "a", "disc", 1)+": the mask is 48×40 pixels but "+path+
		" is 40×48 (as displayed: EXIF orientation 6 turns it; draw the mask on the displayed image or remove the tag); they must be equal")
}

// Check names the 16-bit images that use fewer or more bits than the others, and says how much
// brighter or darker they are shown.
func TestCheckOfScale(t *testing.T) {
	dir, even := write(t, 7), write(t, 2)
	deep := func(dir string, i, most int) {
		m := image.NewGray16(image.Rect(0, 0, sampleW, sampleH))
		m.SetGray16(i, 3, color.Gray16{Y: uint16(most)})
		put(t, filepath.Join(dir, "images", name(i)+".png"), pngOf(t, m))
	}
	for i, most := range []int{4000, 900, 4000, 16000, 200, 4000} { // the seventh has 8 bits
		deep(dir, i, most)
	}
	deep(even, 0, 900)
	deep(even, 1, 900)
	file := func(i int) string { return filepath.Join("images", name(i)+".png") }
	const advice = " as they are; store all in 8 bits with the same scaling"
	assert.Equal(t, []string{
		file(1) + ": uses 10 bits, most others 12: it is shown 4 times as bright" + advice,
		file(3) + ": uses 14 bits, most others 12: it is shown 4 times as dark" + advice,
		file(4) + ": uses 8 bits, most others 12: it is shown 16 times as bright" + advice,
	}, findingsOf(t, check(t, dir, even), dir, KindScale), "one folder does not speak of another")
}
