package evaluate

import (
	"strings"
	"testing"

	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/require"
)

// Heads that draw as the raters did are an equal set, in any order. The head of a rater without a
// mark does not count.
func TestSet(t *testing.T) {
	marks := [][]uint8{{1, 1, 0, 0}, nil, {0, 1, 1, 0}}
	swapped := []metric.Bits{metric.Pack([]float32{0, .9, .8, .1}), metric.Pack([]float32{1, 1, 1, 1}), metric.Pack([]float32{.7, .6, .5, 0})}
	s := set(swapped, marks)
	require.InDelta(t, 0, s.Energy, 1e-12)
	require.InDelta(t, 1, s.Max, 1e-12)
	require.InDelta(t, 1, *s.Match, 1e-12)
	same := set([]metric.Bits{swapped[0], swapped[1], swapped[0]}, marks)
	require.InDelta(t, .75, same.Max, 1e-12)
	require.InDelta(t, .75, *same.Match, 1e-12)
	require.Positive(t, same.Energy)
	require.Nil(t, set(swapped, [][]uint8{marks[0], nil, nil}))
}

func TestAgree(t *testing.T) {
	votes := metric.Count([]uint8{1, 1, 0, 0}, []uint8{0, 1, 1, 0})
	a := agree([]float32{0, 0, 0, .9}, votes, 4, 1)
	require.InDelta(t, 2, *a.Hausdorff, 1e-12, "one half is no majority of two: theirs is the second pixel")
	require.InDelta(t, metric.FleissKappa(votes, []uint8{1, 1, 1, 0}), *a.Kappa, 1e-12)
	require.InDelta(t, metric.FleissKappa(votes, nil), *a.KappaWhole, 1e-12)
	require.Nil(t, agree(make([]float32, 4), votes, 4, 1).Hausdorff, "an empty mask has no outline")
}

// Equal marks have no kappa inside their union. The report counts these images.
func TestUndefinedKappa(t *testing.T) {
	same := metric.Count([]uint8{1, 1, 0, 0}, []uint8{1, 1, 0, 0})
	differing := metric.Count([]uint8{1, 1, 0, 0}, []uint8{0, 1, 1, 0})
	empty := metric.Count([]uint8{0, 0, 0, 0}, []uint8{0, 0, 0, 0})
	var scores []*classScore
	for _, votes := range []metric.Votes{same, differing, empty} {
		scores = append(scores, &classScore{Agreement: agree([]float32{1, 1, 0, 0}, votes, 4, 1)})
	}
	_, r := setReports(scores)
	require.Equal(t, []int{2, 1, 1}, []int{r.KappaUndefined, r.WholeUndefined, r.Undefined})
	require.InDelta(t, *scores[1].Agreement.Kappa, r.Kappa.Mean, 1e-12)
	var out strings.Builder
	require.NoError(t, (&Report{Classes: []classReport{{Class: "disc", Images: 3, Agreement: r}}}).Table(&out))
	require.Regexp(t, `not defined: marks are equal, or there is one +2\n`, out.String())
	require.Regexp(t, `not defined: marks are empty or full, or there is one +1\n`, out.String())
}
