package evaluate

import (
	"strings"
	"testing"

	"mrprism/cmd/study/internal/display"
	"mrprism/cmd/study/internal/metrics"
	"mrprism/cmd/study/internal/score"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// targetOf is the mean vote of marks of 4×1 pixels by rater.
func targetOf(marks [][]uint8) *score.Target {
	l := &dataset.Loaded{Case: dataset.Case{W: 4, H: 1}}
	for _, mark := range marks {
		l.Masks = append(l.Masks, [][]uint8{mark})
	}
	return score.TargetOf(l, 0, nil)
}

func TestAgree(t *testing.T) {
	target := targetOf([][]uint8{{1, 1, 0, 0}, {0, 1, 1, 0}})
	a, votes := agree(target), target.Votes
	require.InDelta(t, metrics.FleissKappa(votes, []uint8{1, 1, 1, 0}), *a.Kappa, 1e-12)
	require.InDelta(t, metrics.FleissKappa(votes, nil), *a.KappaWhole, 1e-12)
}

// Equal marks have no kappa inside their union. The report counts these images.
func TestUndefinedKappa(t *testing.T) {
	same, differing, empty := [][]uint8{{1, 1, 0, 0}, {1, 1, 0, 0}}, [][]uint8{{1, 1, 0, 0}, {0, 1, 1, 0}}, [][]uint8{{0, 0, 0, 0}, {0, 0, 0, 0}}
	var scores []*classScore
	for _, marks := range [][][]uint8{same, differing, empty} {
		scores = append(scores, &classScore{Agreement: agree(targetOf(marks))})
	}
	s := &study{data: &dataset.Dataset{Classes: []string{"disc"}}, session: segment.Session{Model: &weights.Model{}}}
	for _, c := range scores {
		c.SoftDice = []float64{1}
		s.scores = append(s.scores, &caseScore{Classes: []*classScore{c}})
	}
	r := s.structure(0)
	agreement := r.Tree["agreement"].(display.Tree)
	require.Equal(t, []any{2, 1, 3}, []any{agreement["fleissKappaUndefined"], agreement["fleissKappaWholeImageUndefined"], agreement["hausdorff95Undefined"]})
	require.InDelta(t, *scores[1].Agreement.Kappa, agreement["fleissKappa"].(*metric.Interval).Mean, 1e-12)
	var out strings.Builder
	require.NoError(t, (&report.Document{Parts: []report.Part{{Tables: r.tables}}}).Print(&out))
	require.Regexp(t, `inside the union of all marks +-0.50 \[n = 1\] +2\n`, out.String())
	require.Regexp(t, `in the whole image +[^ ]+ \[.*\] +1\n`, out.String())
	require.Regexp(t, `pixels +– +3\n`, out.String())
}
