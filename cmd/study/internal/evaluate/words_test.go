package evaluate

import (
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
	"mrprism/internal/trust"

	"github.com/stretchr/testify/require"
)

// Words are counted by figure. Only trusted ratios are held against the experts.
func TestWords(t *testing.T) {
	eye := func(word string, predicted float64) *caseScore {
		return &caseScore{Ratio: &ratioScore{Predicted: predicted, Experts: .5}, judgement: judgement{Words: map[string]trust.Verdict{"disc": {Word: trust.Trusted}, ratioName: {Word: word}}}}
	}
	s := &study{data: &dataset.Dataset{Classes: []string{"disc", "cup"}}, scores: []*caseScore{
		eye(trust.Trusted, .55), eye(trust.Trusted, .65), eye(trust.Trusted, .42), eye(trust.Check, .9), eye(trust.DoNotUse, .9),
	}}
	require.Equal(t, []wordsReport{
		{Figure: "disc", Trusted: statistics.Share{Images: 5, Share: 1}}, {Figure: ratioName, Trusted: statistics.Share{Images: 3, Share: .6}, Check: statistics.Share{Images: 1, Share: .2}, DoNotUse: statistics.Share{Images: 1, Share: .2}, Near: &statistics.Share{Images: 2, Share: 2. / 3}},
	}, s.caseWords())
}

// The experts' mean is that of their own ratios, and not the majority's.
func TestExpertsOwnRatios(t *testing.T) {
	column := func(height int) []uint8 {
		mask := make([]uint8, 10)
		for i := range height {
			mask[i] = 1
		}
		return mask
	}
	l := &dataset.Loaded{Image: &imageio.Image{W: 1, H: 10}, Masks: [][][]uint8{{column(10), column(4)}, {column(10), column(8)}}}
	require.InDelta(t, .6, experts(l, 0, 1, .9), 1e-9)
	l.Masks[1][1] = nil
	require.Equal(t, .9, experts(l, 0, 1, .9))
}
