package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func named(cases []Case) (names []string) {
	for _, c := range cases {
		names = append(names, c.Name)
	}
	return names
}

// split.json decides in place of every fifth image; the order of its names does not matter.
func TestSplit(t *testing.T) {
	dir := write(t, 6)
	path := filepath.Join(dir, SplitFile)
	put(t, path, []byte(`{"train": ["eye04", "eye00"], "validation": ["eye01"], "test": ["eye05", "eye02"], "note": "a trial"}`))
	d, err := Open(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"eye00", "eye04"}, named(d.Training()))
	assert.Equal(t, []string{"eye01"}, named(d.Validation()))
	assert.Equal(t, []string{"eye02", "eye05"}, named(d.HeldOut()))
	assert.Equal(t, []string{"eye03"}, named(d.Unlisted()))
	assert.Contains(t, d.Notes()[0].String(), "1 of 6 images are in no list of the split, such as "+filepath.Join(dir, "images", "eye03.png"))
	before := d.Splits
	assert.Regexp(t, `^2 train, 1 validation, 2 test, [0-9a-f]{8}$`, before[0])
	put(t, path, []byte(`{"train": ["eye00", "eye04"], "validation": ["eye01"], "test": ["eye02", "eye05"]}`))
	d, err = Open(dir)
	require.NoError(t, err)
	assert.Equal(t, before, d.Splits)
	put(t, path, []byte(`{"train": ["eye00", "eye01"], "validation": ["eye04"], "test": ["eye02", "eye05"]}`))
	d, err = Open(dir)
	require.NoError(t, err)
	assert.NotEqual(t, before, d.Splits)

	r := Check(t.Context(), []string{dir}, nil)
	assert.False(t, r.Failed())
	assert.Equal(t, []int{6, 2, 1, 2}, []int{r.Images, r.Training, r.Aside, r.HeldOut})
	assert.Len(t, findingsOf(t, r, dir, KindSplit), 1)

	other := filepath.Join(t.TempDir(), "other.json")
	put(t, other, []byte(`{"train": ["eye03"], "test": ["eye00"]}`))
	require.NoError(t, d.Divide(other))
	assert.Equal(t, []string{"eye03"}, named(d.Training()), "the file comes in place of the folder's")
	assert.Empty(t, d.Validation())
	assert.Len(t, d.Unlisted(), 4)
}

// Faulty splits are refused with every name.
func TestSplitRefuses(t *testing.T) {
	for text, want := range map[string][]string{
		`{"train": ["eye00", "eye00"], "test": ["eye01"]}`:         {`train names "eye00" twice`},
		`{"train": ["eye00", "eye01"], "test": ["eye01", "eye0"]}`: {`"eye01" is in train and in test`, `test names "eye0", and there is no image of this name`},
		`{"train": ["eye00"], "test": ["images/eye00.PNG"]}`:       {`"eye00" is in train and in test`},
		`{"train": [], "test": []}`:                                {"names no image"},
		`{"train": ["eye00"], "val": ["eye01"]}`:                   {`unknown field "val"`, `"validation": ["NAME", …]`},
		`{"train": ["eye00"]`:                                      {"unexpected EOF"},
		`{"train": ["eye00"]} {}`:                                  {"text follows"},
		`{"train": "eye00"}`:                                       {"cannot unmarshal string"},
	} {
		dir := write(t, 2)
		path := filepath.Join(dir, SplitFile)
		put(t, path, []byte(text))
		_, err := Open(dir)
		for _, part := range want {
			assert.ErrorContains(t, err, part)
		}
		assert.ErrorContains(t, err, path)
		assert.True(t, Check(t.Context(), []string{dir}, nil).Failed())
		require.NoError(t, os.Remove(path))
		elsewhere := filepath.Join(t.TempDir(), "mine.json")
		put(t, elsewhere, []byte(text))
		d, err := Open(dir)
		require.NoError(t, err)
		assert.ErrorContains(t, d.Divide(elsewhere), want[0])
	}
	d, err := Open(write(t, 2))
	require.NoError(t, err)
	assert.ErrorContains(t, d.Divide("nowhere.json"), "nowhere.json: cannot be read")
}

// One eye in two folders: what holds it out in one folder holds it out in the other. A faulty image
// that OpenSound leaves out may be named.
func TestSplitOfSeveralFolders(t *testing.T) {
	a, b := write(t, 4), write(t, 4)
	put(t, filepath.Join(a, SplitFile), []byte(`{"train": ["eye00", "eye01"], "validation": ["eye02"], "test": ["eye03"]}`))
	put(t, filepath.Join(b, SplitFile), []byte(`{"train": ["eye03", "eye02"], "validation": ["eye01", "eye00"]}`))
	d, err := Open(a, b)
	require.NoError(t, err)
	assert.Empty(t, d.Training())
	assert.Equal(t, []string{"eye02", "eye00", "eye01"}, named(d.Validation()))
	assert.Equal(t, []string{"eye03"}, named(d.HeldOut()))
	assert.Len(t, d.Splits, 2)

	put(t, filepath.Join(a, "images", "eye01.png"), []byte("a text"))
	d, left, err := OpenSound(a)
	require.NoError(t, err)
	assert.Len(t, left, 1)
	assert.Equal(t, []string{"eye00"}, named(d.Training()))
	file := filepath.Join(t.TempDir(), "mine.json")
	put(t, file, []byte(`{"train": ["eye01", "eye02"], "test": ["eye00"]}`))
	require.NoError(t, d.Divide(file))
	assert.Equal(t, []string{"eye02"}, named(d.Training()))
}
