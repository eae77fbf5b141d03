package evaluate

import (
	"math"
	"testing"

	"mrprism/internal/data/dataset"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Four pixels of which the raters dispute the last two. The heads expect of everybody what the
// first two raters marked.
func TestMarked(t *testing.T) {
	head := []float32{0.9, 0.1, 0.8, 0.2}
	usual, inverted := []uint8{1, 0, 1, 0}, []uint8{1, 0, 0, 1}
	judged := func(head []float32, marks [][]uint8, truth []uint8) []*markScore {
		return weighMarks(func(int) []float32 { return head }, marks, truth)
	}

	scores := judged(head, [][]uint8{usual, usual, nil, inverted}, nil)
	require.Len(t, scores, 4)
	assert.Nil(t, scores[2])
	// mean log-probabilities log .8, log .8 and log .2: shares .8, .8 and .2 of 1.8, times three
	// raters
	assert.InDelta(t, 3*0.8/1.8, scores[0].Weight, 1e-6)
	assert.InDelta(t, 3*0.2/1.8, scores[3].Weight, 1e-6)
	// the majority of the other two needs both: pixel 0 for the first, pixels 0 and 2 for the last
	assert.InDelta(t, 2./3, scores[0].Dice, 1e-3)
	assert.InDelta(t, 2./4, scores[3].Dice, 1e-3)

	assert.Nil(t, scores[0].Truth)
	scores = judged(head, [][]uint8{usual, usual, nil, inverted}, usual)
	assert.InDelta(t, 2./3, scores[0].Dice, 1e-3)
	assert.InDelta(t, 1, *scores[0].Truth, 1e-9)
	assert.InDelta(t, 2./4, *scores[3].Truth, 1e-3)

	certain := []float32{1, 0, 1, 0} // a head is never believed beyond 1e-3
	scores = judged(certain, [][]uint8{usual, usual, inverted}, nil)
	assert.InDelta(t, 3*1e-3/(2*(1-1e-3)+1e-3), scores[2].Weight, 1e-6)

	assert.Nil(t, disputed([][]uint8{usual, nil, nil, inverted}), "two raters have no majority")
	assert.Nil(t, disputed([][]uint8{usual, usual, usual, usual}), "nothing is in dispute")
}

func TestMarksReport(t *testing.T) {
	s := &study{data: &dataset.Dataset{Raters: []string{"ann", "bob", "eve"}}}
	mark := func(weight float64, area int, dice, truth float64) *markScore {
		return &markScore{weight, area, dice, &truth}
	}
	s.scores = []*caseScore{
		{Name: "one", Classes: []*classScore{{Truth: []float64{1}, Marks: []*markScore{mark(1.5, 30, 0.9, 0.2), mark(1.2, 20, 0.6, 0.3), mark(0.3, 10, 0.1, 0.4)}}}},
		{Name: "two", Classes: []*classScore{{EmptyHeads: true, Marks: []*markScore{{Weight: 1.1, Area: 7, Dice: 0.7}, {Weight: 0.9, Area: 6, Dice: 0.8}, nil}}}},
		{Name: "undisputed", Classes: []*classScore{{}}},
		{Name: "unmarked", Classes: []*classScore{nil}},
	}
	r := s.marksReport(0)
	require.Len(t, r.Raters, 3)
	assert.InDelta(t, 1.3, r.Raters[0].Weight.Mean, 1e-9)
	assert.InDelta(t, 0.1, r.Raters[2].Dice.Mean, 1e-9)
	assert.InDelta(t, 0, r.Rank.Mean, 1e-9, "1 in the first image, -1 in the second")
	assert.InDelta(t, 0, r.Null.Mean, 1e-9, "smaller marks are worse in the first image, better in the second")
	assert.InDelta(t, 0, r.RankLessNull.Mean, 1e-9, "2 in the first, -2 in the second")
	assert.Equal(t, 1, r.EmptyHeads)
	assert.Equal(t, []grossMark{{"one", "eve", 0.3, 0.1}, {"one", "bob", 1.2, 0.6}}, r.GrossMarks, "the worst first")
	assert.InDelta(t, 0.75, r.Gross.Mean, 1e-9)
	assert.Nil(t, r.Gross.Low, "two marks of one image say nothing about other images")
	assert.False(t, r.Truth, "the second image has none, so that all are beside the majority")

	all := s.scores
	s.scores = []*caseScore{all[0], all[2]}
	r = s.marksReport(0)
	assert.True(t, r.Truth)
	assert.InDelta(t, 0.4, r.Raters[2].Dice.Mean, 1e-9)

	s.scores = all[2:]
	assert.Nil(t, s.marksReport(0))
	assert.False(t, math.IsNaN(r.Rank.Mean))
}
