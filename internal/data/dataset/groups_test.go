package dataset

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeGroups makes a data set of 12 images whose groups are e, e, d, d, c, c, b, b, a, a and,
// twice, none. Of the groups in order of their names, the fifth is e: it is held out.
func writeGroups(t *testing.T, more string) string {
	dir, text := write(t, 12), "name,group\n"
	for i := range 10 {
		text += fmt.Sprintf("%s,%c\n", name(i), "eeddccbbaa"[i])
	}
	put(t, filepath.Join(dir, GroupsFile), []byte(text+more))
	return dir
}

// A group is held out, or in a fold, as a whole. Images without a group are groups of their own.
func TestGroups(t *testing.T) {
	d, err := Open(writeGroups(t, ""))
	require.NoError(t, err)
	assert.Equal(t, []string{"eye00", "eye01"}, named(d.HeldOut()))
	assert.Regexp(t, "^every fifth of 7 groups held out: 10 train, 0 validation, 2 test, [0-9a-f]{8}$", d.Splits[0])
	assert.Equal(t, []int{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 0}, Folds(d.Cases, 3))
}

// Two folders of the same images: a group of one of them stays together in the other too, and what
// is held out in one is not trained on in the other.
func TestGroupsOfSeveralFolders(t *testing.T) {
	photographs, crops := writeGroups(t, ""), write(t, 12)
	put(t, filepath.Join(crops, "dataset.json"), []byte(`{"name":"crops","classes":["disc","cup"],"raters":["a","b","c"]}`))
	d, err := Open(crops, photographs)
	require.NoError(t, err)
	assert.Equal(t, []string{"eye04", "eye09", "eye00", "eye01"}, named(d.HeldOut()))
	for _, c := range d.Training() {
		assert.NotContains(t, []string{"eye00", "eye01", "eye04", "eye05", "eye08", "eye09"}, c.Name, "with the groups a, c and e")
	}
	assert.Len(t, d.Training(), 12)
	units := Units(d.Cases)
	assert.Equal(t, units[:12], units[12:])
	assert.Equal(t, units[2], units[3], "also in the folder without groups")
}

// A split may not part a group: as the folder's and as a file.
func TestSplitOfGroups(t *testing.T) {
	dir := writeGroups(t, "")
	wrong := []byte(`{"train": ["eye00", "eye02", "eye03", "eye10"], "test": ["eye01", "eye11"]}`)
	elsewhere := filepath.Join(t.TempDir(), "mine.json")
	put(t, elsewhere, wrong)
	d, err := Open(dir)
	require.NoError(t, err)
	assert.EqualError(t, d.Divide(elsewhere), elsewhere+`: the group "e" is on two sides: "eye00" is in train and "eye01" in test; list all of its images in one`)
	put(t, filepath.Join(dir, SplitFile), wrong)
	_, err = Open(dir)
	assert.ErrorContains(t, err, `the group "e" is on two sides`)
	assert.True(t, Check(t.Context(), []string{dir}, nil).Failed())
	put(t, elsewhere, []byte(`{"train": ["eye02", "eye03"], "test": ["eye01"]}`))
	require.NoError(t, d.Divide(elsewhere), "an image of the group is in no list")
}

// Check names images without a group. Open refuses groups of images that are not there, and two
// groups of one image.
func TestCheckGroups(t *testing.T) {
	dir := writeGroups(t, "eye00.png,e\n")
	r := Check(t.Context(), []string{dir}, nil)
	assert.False(t, r.Failed())
	texts := strings.Join(findingsOf(t, r, dir, KindGroup), "\n")
	assert.Contains(t, texts, `gives 2 of 12 images no group, such as "eye10"`)
	_, err := Open(writeGroups(t, "images/eye00.PNG,d\neye10,\neye11\neye99,a\n"))
	assert.ErrorContains(t, err, `line 12: says "d" of "eye00", and line 2 says "e"`)
	assert.ErrorContains(t, err, `line 13: says "" of "eye10": name the group`)
	assert.ErrorContains(t, err, `line 14: has 1 fields; give lines such as case0001,patient07`)
	assert.ErrorContains(t, err, `names images that are not there (1), such as "eye99" in line 15`)
}
