package compare

import (
	"fmt"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/display"
	"mrprism/cmd/study/internal/metrics"
	"mrprism/cmd/study/internal/score"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"

	"github.com/stretchr/testify/require"
)

// small is a comparison of two methods for one class.
func small() *Comparison {
	over := func(runs int, mean, low, high float64) *metrics.Estimate {
		return &metrics.Estimate{Interval: metric.Interval{Mean: mean, Low: &low, High: &high, N: 9}, Runs: runs, Effect: -1.5}
	}
	return &Comparison{
		Data: "set_1", Split: "test", Reference: "mean", Images: 10, Of: 12, Units: 10,
		Methods: []*method{{Name: "ours", Passes: 1}, {Name: "R&D_2", Passes: 1}},
		Classes: []classComparison{{
			Class: "disc", Images: 10, Paired: 9, Best: map[string]string{"soft_dice": "ours"},
			Methods: []methodSummary{
				{Method: "ours", Runs: 3, Images: 10, Passes: []passSummary{{
					"soft_dice": {over(3, .9, .8, .95), 10, 0, 0}, "hd95_pixels": {over(3, 3, 2, 4), 9, 1, 2},
				}}},
				{Method: "R&D_2", Runs: 3, Images: 9, index: 1, Passes: []passSummary{{"soft_dice": {over(3, .85, .8, .9), 9, 0, 0}}}},
			},
			Tests: []pairedTest{{Method: "R&D_2", Against: "ours", Figure: "soft_dice", Difference: over(3, -.05, -.06, -.04), P: new(.02), Holm: new(.04)}},
		}},
		Notes: []string{"disc: 1 of 10 images lack a prediction of some method; paired comparisons leave them out"},
	}
}

// Names of few raters stand side by side, those of many upright. All of them are there.
func TestRatersPlotHoldsNames(t *testing.T) {
	for n, upright := range map[int]bool{3: false, 20: true} {
		names := statistics.Tabulate(n, func(i int) string { return fmt.Sprintf("reader-%02d", i) })
		dice := statistics.Tabulate(n, func(i int) raterDice {
			return raterDice{names[i], &metrics.Estimate{Interval: metric.Interval{Mean: .9}}, nil}
		})
		page := string((&classComparison{Class: "disc", Methods: []methodSummary{{Raters: dice}}}).ratersPlot(names))
		for _, name := range names {
			require.Contains(t, page, name+"<")
		}
		require.Equal(t, upright, strings.Count(page, "rotate(90 ") == n, page)
	}
}

func TestCompareTables(t *testing.T) {
	var table, page strings.Builder
	d := small().Document()
	require.NoError(t, d.Print(&table))
	for _, line := range []string{
		"set_1, test: 10 images, against the raters' mean vote (2 of the split's 12 were not scored)",
		"ours    3     10      90.00 [80.00, 95.00]  3.00 [2.00, 4.00] (1 not defined; 2 the diagonal: one mask is empty)",
		"disc: less ours, in the 9 images of all methods",
		"R&D_2   3     -5.00 [-6.00, -4.00], p = 0.04 (d -1.50)",
		"disc: 1 of 10 images lack a prediction of some method; paired comparisons leave them out",
	} {
		require.Contains(t, table.String(), line)
	}
	require.NotContains(t, table.String(), "%!")
	require.NoError(t, d.HTML(&page))
	require.Contains(t, page.String(), `<td class="worse">▼ −5.00<small>[−6.00, −4.00]</small><small>p = 0.04</small><small>d -1.50</small></td>`)
	test := &small().Classes[0].Tests[0]
	test.Difference.High = new(.01)
	require.Empty(t, test.cell(score.Figures[score.SoftDice]).Mark, "no mark without an interval clear of 0")
	test.Holm = nil
	require.Empty(t, test.cell(score.Figures[score.SoftDice]).P)
	require.Equal(t, []string{"< 0.0001", "0.0312", "1"}, []string{display.PValue(3e-9), display.PValue(.03123), display.PValue(1)})
}
