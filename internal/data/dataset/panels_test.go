package dataset

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Folders of other people, and of fewer classes, take turns. Each has one rater, whose marks are
// the shares of its people, and no mark by the others. Views show whole images, and half of them
// name no panel. Other people's images teach none.
func TestPanels(t *testing.T) {
	open := func(dir string) *Dataset {
		d, err := Open(dir)
		require.NoError(t, err)
		return d
	}
	eyes, others := open(write(t, 10)), open(writeOthers(t, 5))
	others.Cases[0].Masks[2] = []string{""} // who has marked the right half alone
	d, err := Join([]*Dataset{eyes, others})
	require.NoError(t, err)
	assert.Equal(t, []string{"eyes", "others"}, d.Raters)
	assert.Equal(t, "eyes+others", d.Name)
	assert.Len(t, d.Training(), 8+4)
	also := open(writeOthers(t, 5))
	also.Cases = also.Cases[:1]
	require.NoError(t, d.Add(also))

	l, err := Load(d.Cases[11])
	require.NoError(t, err)
	assert.True(t, l.Masks[0][0] == nil)
	assert.True(t, l.Masks[1][1] == nil)
	votes, ok := l.Votes(0)
	assert.True(t, ok)
	assert.Equal(t, 3, votes.Raters)
	assert.Equal(t, votes.Majority(), l.Masks[1][0])

	samples, _, err := LoadSamples(t.Context(), d, d.Training(), "disc", nil)
	require.NoError(t, err)
	s, err := NewSampler(d, samples, Options{Size: 16, Batch: 4, Seed: 3})
	require.NoError(t, err)
	near, err := NewSampler(d, samples, Options{Size: 16, Batch: 4, Seed: 3, Augmentation: Augmentation{
		Tight: 1, Away: 1, Elastic: MostElastic, Swell: MostSwell, Grain: 1, Distract: 1,
	}})
	require.NoError(t, err)
	seen, named := map[string]int{}, 0
	for step := range uint64(12) {
		b, c := s.Batch(step), near.Batch(step)
		assert.Equal(t, step%2 == 0, slices.Equal(b.Images, c.Images))
		assert.Equal(t, step%2 == 0, slices.Equal(b.Labels, c.Labels))
		for i, name := range b.Names {
			valid, labels := b.Valid[4*i:][:4], b.Labels[4*16*16*i:]
			if step%2 == 1 {
				assert.Equal(t, []float32{1, 0, 1, 0}, valid, name)
				assert.Equal(t, []float32{0, 0, 0, 0}, b.Own[4*i:][:4], name)
				continue
			}
			seen[name[:4]]++
			if own := b.Own[4*i:][:4]; !slices.Equal(own, make([]float32, 4)) {
				assert.Equal(t, valid, own, name)
				named++
			}
			if name[:4] == "eyes" {
				assert.Equal(t, []float32{1, 1, 0, 0}, valid)
				continue
			}
			assert.Equal(t, []float32{0, 0, 1, 0}, valid)
			left := float32(170) / 255 // two of three, in steps of 1/255
			if name == "others/othereye00" {
				left = 1
			}
			assert.InDelta(t, left, labels[4*(8*16+2)+2], 1e-6, name)
		}
	}
	assert.Equal(t, map[string]int{"eyes": 12, "othe": 12}, seen)
	assert.InDelta(t, 12, named, 5)

	_, err = Join([]*Dataset{open(write(t, 5)), open(write(t, 5))})
	assert.ErrorContains(t, err, "two folders are named eyes")
}

// An agreement level that is missing leaves the panel without a mark. Of a folder without a panel
// the votes are known.
func TestAsPanels(t *testing.T) {
	d, err := Open(write(t, 5))
	require.NoError(t, err)
	d.Cases[0].Levels, d.Cases[0].Masks[1][1] = true, ""
	d.AsPanels([]string{"others", "eyes"})
	l, err := Load(d.Cases[0])
	require.NoError(t, err)
	assert.True(t, l.Masks[1][0] != nil)
	assert.True(t, l.Masks[1][1] == nil)
	_, ok := l.Votes(1)
	assert.False(t, ok)

	d.AsPanels([]string{"others"})
	l, err = Load(d.Cases[1])
	require.NoError(t, err)
	assert.Equal(t, [][][]uint8{{nil, nil}}, l.Masks)
	votes, ok := l.Votes(0)
	assert.True(t, ok)
	assert.Equal(t, 3, votes.Raters)
}
