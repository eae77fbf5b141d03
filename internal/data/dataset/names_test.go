package dataset

import (
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/unicode/norm"
)

// accented writes a data set of 10 images müller0 to müller9 with masks and truths, whose files have
// decomposed names if form says so, as copied through a Mac.
func accented(t *testing.T, form norm.Form) string {
	dir := write(t, 10)
	for i := range 10 {
		put(t, filepath.Join(dir, "truth", "disc", name(i)+".png"), pngOf(t, maskOf(image.Rect(1, 1, 9, 9))))
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		var i int
		if n, _ := fmt.Sscanf(e.Name(), "eye%02d.png", &i); n == 1 && !strings.Contains(path, "images") {
			return os.Rename(path, filepath.Join(filepath.Dir(path), form.String(fmt.Sprintf("müller%d.PNG", i))))
		} else if n == 1 {
			return os.Rename(path, filepath.Join(filepath.Dir(path), fmt.Sprintf("müller%d.png", i)))
		}
		return err
	}))
	return dir
}

// Every way to write the files that name images gives the same data set: five patients of two images.
func TestFilesThatNameImages(t *testing.T) {
	plain, err := Open(write(t, 10))
	require.NoError(t, err)
	big := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder()
	for _, way := range []func(text string) string{
		func(text string) string { return text },
		func(text string) string { return "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") },
		func(text string) string { s, err := big.String(text); require.NoError(t, err); return s },
		norm.NFD.String,
		func(text string) string {
			return strings.NewReplacer(",", ";", "name,what\n", "", "mü", "images/mü").Replace(text)
		},
		func(text string) string {
			return strings.NewReplacer(",", "\t", "0\t", "0.png\t", "9\t", "9.JPEG\t", "name,what", "File\tKlasse").Replace(text)
		},
		func(text string) string {
			return strings.NewReplacer("mü", "\"C:\\data\\mü", ",", ".png\",").Replace(text[10:])
		},
	} {
		dir := accented(t, norm.NFD)
		groups, labels, affines := "name,what\n", "name,what\n", "name,what\n"
		for i := range 10 {
			groups += fmt.Sprintf("müller%d,p%d\n", i, i/2)
			labels += fmt.Sprintf("müller%d,%d\n", i, i%2)
			affines += fmt.Sprintf("müller%d,1 0 0 %d 0 1 0 0 0 0 1 0\n", i, i)
		}
		put(t, filepath.Join(dir, GroupsFile), []byte(way(groups)))
		put(t, filepath.Join(dir, DiagnosisFile), []byte(way(labels)))
		put(t, filepath.Join(dir, AffinesFile), []byte(way(affines)))
		d, err := Open(dir)
		require.NoError(t, err, way(groups))
		assert.Equal(t, []string{"müller8", "müller9"}, named(d.HeldOut()))
		assert.Len(t, d.Missing, len(plain.Missing), "no mask is lost")
		for i, c := range d.Cases {
			assert.Equal(t, Diagnosis(1+i%2), c.Diagnosis)
			assert.NotNil(t, c.Place)
			assert.FileExists(t, MaskFile(filepath.Join(dir, "truth", "disc"), c.Name))
		}
	}
}

// JSON files may have a byte order mark or be in UTF-16, and a split may name files. However it is
// written, a split is the same one.
func TestEncodingsOfJSON(t *testing.T) {
	dir := accented(t, norm.NFC)
	path, about := filepath.Join(dir, SplitFile), filepath.Join(dir, DescriptionFile)
	plain, err := os.ReadFile(about)
	require.NoError(t, err)
	little := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder()
	wide, err := little.Bytes(plain)
	require.NoError(t, err)
	var splits []string
	for _, text := range []string{
		`{"train": ["müller0", "müller1"], "test": ["müller2"]}`,
		"\ufeff" + norm.NFD.String(`{"train": ["müller0.PNG", "images/müller1.png"], "test": [" müller2"]}`),
	} {
		for _, data := range [][]byte{plain, append([]byte("\ufeff"), plain...), wide} {
			put(t, about, data)
			put(t, path, []byte(text))
			d, err := Open(dir)
			require.NoError(t, err)
			assert.Equal(t, []string{"müller2"}, named(d.HeldOut()))
			splits = append(splits, d.Splits...)
		}
	}
	assert.Len(t, splits, 6)
	assert.Subset(t, splits[:1], splits)
	put(t, about, []byte("\xff{}"))
	_, err = Open(dir)
	assert.ErrorContains(t, err, "save it as UTF-8")
}

// Names that match nothing are errors: a file in another encoding, a truth of no image, two forms of
// one name, and files that would be read by another name.
func TestNamesOfNothing(t *testing.T) {
	for file, text := range map[string]string{
		GroupsFile: "m\xfcller0,p1\n", DiagnosisFile: "eye,1\nmüller0,1\n", AffinesFile: "eye0,1 0 0 0 0 1 0 0 0 0 1 0\n", "truth/disc/eye0.png": "",
		norm.NFD.String("images/müller1.png"): "", "Groups.CSV": "müller0,p1\n", "groups.tsv": "müller0\tp1\n", "split.json.txt": "{}",
	} {
		dir := accented(t, norm.NFD)
		put(t, filepath.Join(dir, file), []byte(text))
		_, err := Open(dir)
		assert.ErrorContains(t, err, filepath.Join(dir, file))
	}
}
