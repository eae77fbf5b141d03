package evaluate

import (
	"strings"
	"testing"

	"mrprism/internal/data/metric"
	"mrprism/internal/study/score"

	"github.com/stretchr/testify/require"
)

func TestAgree(t *testing.T) {
	target := score.NewTarget([][]uint8{{1, 1, 0, 0}, {0, 1, 1, 0}}, nil, 4, 1)
	a, votes := agree([]float32{0, 0, 0, .9}, target), target.Votes
	require.InDelta(t, 2, *a.Hausdorff, 1e-12, "one half is no majority of two: theirs is the second pixel")
	require.InDelta(t, metric.FleissKappa(votes, []uint8{1, 1, 1, 0}), *a.Kappa, 1e-12)
	require.InDelta(t, metric.FleissKappa(votes, nil), *a.KappaWhole, 1e-12)
	require.Nil(t, agree(make([]float32, 4), target).Hausdorff, "an empty mask has no outline")
}

// Equal marks have no kappa inside their union. The report counts these images.
func TestUndefinedKappa(t *testing.T) {
	same, differing, empty := [][]uint8{{1, 1, 0, 0}, {1, 1, 0, 0}}, [][]uint8{{1, 1, 0, 0}, {0, 1, 1, 0}}, [][]uint8{{0, 0, 0, 0}, {0, 0, 0, 0}}
	var scores []*classScore
	for _, marks := range [][][]uint8{same, differing, empty} {
		scores = append(scores, &classScore{Agreement: agree([]float32{1, 1, 0, 0}, score.NewTarget(marks, nil, 4, 1))})
	}
	_, r := setReports(scores)
	require.Equal(t, []int{2, 1, 1}, []int{r.KappaUndefined, r.WholeUndefined, r.Undefined})
	require.InDelta(t, *scores[1].Agreement.Kappa, r.Kappa.Mean, 1e-12)
	var out strings.Builder
	require.NoError(t, (&Report{Classes: []classReport{{Class: "disc", Images: 3, Agreement: r}}}).Table(&out))
	require.Regexp(t, `not defined: marks are equal, or there is one +2\n`, out.String())
	require.Regexp(t, `not defined: marks are empty or full, or there is one +1\n`, out.String())
}
