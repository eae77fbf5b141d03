package dataset

import (
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The levels of people are nested. Their mean is as near to the share of people as with this number
// of levels is possible.
func TestLevelsOfPeople(t *testing.T) {
	for _, c := range []struct {
		people, levels int
		want           []float64 // mean level of pixels that 0, 1, … people marked
	}{
		{1, 3, []float64{0, 1}},
		{2, 4, []float64{0, .5, 1}},
		{2, 3, []float64{0, 2. / 3, 1}},
		{3, 4, []float64{0, .25, .75, 1}},
		{4, 4, []float64{0, .25, .5, .75, 1}},
		{7, 4, []float64{0, .25, .25, .5, .5, .75, .75, 1}},
	} {
		votes := metric.Votes{Raters: c.people}
		for n := range c.people + 1 {
			votes.Count = append(votes.Count, uint16(n))
		}
		mean := make([]float64, c.people+1)
		for j := 1; j <= c.levels; j++ {
			for i, v := range level(votes, j, c.levels) {
				mean[i] += float64(v) / float64(c.levels)
			}
		}
		assert.InDeltaSlice(t, c.want, mean, 1e-9, "%d people, %d levels", c.people, c.levels)
	}
}

// asLevels calls the raters of a folder levels.
func asLevels(t *testing.T, dir, raters string) {
	put(t, filepath.Join(dir, "dataset.json"), []byte(`{"name":"levels","classes":["disc","cup"],"raters":[`+raters+`],"labels":"agreement-levels"}`))
}

// After a folder of levels, people become the nearest levels, in the samples and in Check. One mask
// of a class defines no level, and a single person is refused.
func TestPeopleBesideLevels(t *testing.T) {
	first, people := write(t, 5), write(t, 5)
	asLevels(t, first, `"a","b","c"`)
	require.NoError(t, os.Remove(maskPath(people, "a", "cup", 0)))
	require.NoError(t, os.Remove(maskPath(people, "b", "cup", 0)))
	require.NoError(t, os.Remove(maskPath(people, "a", "disc", 1)))
	d, err := Open(first, people)
	require.NoError(t, err)
	assert.True(t, d.AsLevels())
	assert.Len(t, d.Missing, 3)
	loaded, _, err := LoadSound(t.Context(), d.Cases[5:], nil)
	require.NoError(t, err)
	assert.Empty(t, loaded[0].Given(1), "one person is left")
	for i, want := range []int{1, 2, 3} { // people of the cup of the first, of the disc of the second, of the third
		votes, ok := loaded[i].Mirrored().Votes(btoi(i == 0))
		assert.True(t, ok)
		assert.Equal(t, want, votes.Raters, "scores are by the people")
	}
	area := func(m, k int) int { return metric.Area(loaded[1].Masks[m][k]) }
	assert.Equal(t, []int{20 * 22, 20 * 22, 20 * 21}, []int{area(0, 0), area(1, 0), area(2, 0)}, "two of three levels are the union of two people")
	assert.Equal(t, 100, area(2, 1))

	samples, left, err := LoadSamples(t.Context(), d, d.Cases, "disc", nil)
	require.NoError(t, err)
	require.Empty(t, left)
	assert.Equal(t, []float32{1, 0, 1, 0, 1, 0}, samples[5].valid)
	assert.Equal(t, []float32{1, 1, 1, 1, 1, 1}, samples[6].valid)
	assert.True(t, samples[6].anchored)

	r := Check(t.Context(), []string{first, people}, nil)
	assert.Equal(t, 1, r.Figures[3].Missing, "a level of the cup")
	for _, f := range r.Findings {
		assert.False(t, f.Error && strings.Contains(f.File, people), f)
	}

	_, err = Open(people, first)
	assert.ErrorContains(t, err, "agreement levels first")
	alone, err := Open(people)
	require.NoError(t, err)
	assert.False(t, alone.AsLevels())
	for _, rater := range []string{"b", "c"} {
		require.NoError(t, os.RemoveAll(filepath.Join(people, "raters", rater)))
	}
	put(t, filepath.Join(people, "dataset.json"), []byte(`{"classes":["disc","cup"],"raters":["a"]}`))
	for _, path := range []string{maskPath(people, "a", "cup", 0), maskPath(people, "a", "disc", 1)} {
		put(t, path, pngOf(t, maskOf(image.Rect(1, 1, 9, 9))))
	}
	_, err = Open(first, people)
	assert.ErrorContains(t, err, "one person marked it")
	assert.ErrorContains(t, err, "option also")
}

// Three people become three levels, whose mean is the share of votes. What has levels already is
// refused.
func TestBecomeLevels(t *testing.T) {
	dir := write(t, 1)
	d, err := Open(dir)
	require.NoError(t, err)
	before, err := Load(d.Cases[0])
	require.NoError(t, err)
	votes, _ := before.Votes(0)
	require.NoError(t, d.BecomeLevels())
	assert.Equal(t, []string{"at-least-1", "at-least-2", "at-least-3"}, d.Raters)
	l, err := Load(d.Cases[0])
	require.NoError(t, err)
	assert.True(t, l.Levels)
	assert.Equal(t, votes, metric.Count(l.Given(0)...))
	assert.Equal(t, 20*22, metric.Area(l.Masks[0][0]), "the largest of the three")
	assert.Equal(t, 20*20, metric.Area(l.Masks[2][0]), "the smallest")
	assert.ErrorContains(t, d.BecomeLevels(), "already has agreement levels")
}
