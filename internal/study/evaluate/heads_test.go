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
	a, votes := agree(target), target.Votes
	require.InDelta(t, metric.FleissKappa(votes, []uint8{1, 1, 1, 0}), *a.Kappa, 1e-12)
	require.InDelta(t, metric.FleissKappa(votes, nil), *a.KappaWhole, 1e-12)
}

// Equal marks have no kappa inside their union. The report counts these images.
func TestUndefinedKappa(t *testing.T) {
	same, differing, empty := [][]uint8{{1, 1, 0, 0}, {1, 1, 0, 0}}, [][]uint8{{1, 1, 0, 0}, {0, 1, 1, 0}}, [][]uint8{{0, 0, 0, 0}, {0, 0, 0, 0}}
	var scores []*classScore
	for _, marks := range [][][]uint8{same, differing, empty} {
		scores = append(scores, &classScore{Agreement: agree(score.NewTarget(marks, nil, 4, 1))})
	}
	_, r := setReports(scores)
	require.Equal(t, []int{2, 1, 3}, []int{r.KappaUndefined, r.WholeUndefined, r.Undefined})
	require.InDelta(t, *scores[1].Agreement.Kappa, r.Kappa.Mean, 1e-12)
	var out strings.Builder
	require.NoError(t, (&Report{Classes: []classReport{{Class: "disc", Images: 3, Agreement: r}}}).Document().Print(&out))
	require.Regexp(t, `not if marks are equal, or there is one +[^ ]+( \[.*\])? +2\n`, out.String())
	require.Regexp(t, `not if marks are empty or full, or there is one +[^ ]+( \[.*\])? +1\n`, out.String())
}
