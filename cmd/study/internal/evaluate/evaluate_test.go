package evaluate

import (
	"slices"
	"testing"

	"mrprism/cmd/study/internal/display"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"

	"github.com/stretchr/testify/require"
)

func TestMeans(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	diagonal, rest := means([][]*float64{{v(1), v(2)}, {nil, v(4)}})
	require.InDelta(t, 2.5, diagonal, 1e-12)
	require.InDelta(t, 2, rest, 1e-12)
}

// A mask that follows its raters exactly has slope 1; a mask that moves half as far has slope one
// half.
func TestFollows(t *testing.T) {
	scores := []*classScore{
		{Response: []*Response{{Area: .1, RaterArea: .2}, {Area: -.2, RaterArea: -.4}}}, {Response: []*Response{nil, {Area: .05, RaterArea: .1}}}, {},
	}
	out := structure{Tree: display.Tree{}}
	out.responses("disc", scores, []string{"a", "b"}, nil)
	rows := out.Tree["response"].([]any)
	row := func(i int) display.Tree { return rows[i].(display.Tree) }
	require.InDelta(t, .5, out.Tree["follows"], 1e-12)
	require.Equal(t, []any{1, 2}, []any{row(0)["images"], row(1)["images"]})
	require.InDelta(t, -.075, row(1)["area"].(*metric.Interval).Mean, 1e-12)
	require.InDelta(t, .125, row(1)["moved"].(*metric.Interval).Mean, 1e-12)
}

func TestHeads(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	scores := []*classScore{
		{Heads: [][]*float64{{v(.9), v(.7)}, {v(.5), v(.8)}}, Raters: [][]*float64{{v(1), v(.6)}, {v(.6), v(1)}}},
		{Heads: [][]*float64{{v(.7), nil}, {v(.3), nil}}, Raters: [][]*float64{{v(1), nil}, {nil, nil}}},
	}
	out := structure{Tree: display.Tree{}}
	out.heads("disc", scores, []string{"a", "b"}, "")
	dice := out.Tree["heads"].(display.Tree)["dice"].([][]*float64)
	require.InDelta(t, .8, *dice[0][0], 1e-12)
	require.InDelta(t, .7, *dice[0][1], 1e-12)
	for path, want := range map[string]float64{"heads.own": (.85 + .7) / 2, "heads.others": (.6 + .3) / 2, "heads.margin": (.25 + .4) / 2, "heads.raters": .6} {
		at := slices.IndexFunc(figures(0), func(f display.Figure[*classScore]) bool { return f.Path == path })
		require.InDelta(t, want, metric.Mean(statistics.Values(scores, figures(0)[at].Of)), 1e-12, path)
	}
}
