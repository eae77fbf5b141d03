package evaluate

import (
	"testing"

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
	out, follows := responses([]string{"a", "b"}, scores)
	require.InDelta(t, .5, *follows, 1e-12)
	require.Equal(t, []int{1, 2}, []int{out[0].Images, out[1].Images})
	require.InDelta(t, -.075, out[1].Area.Mean, 1e-12)
	require.InDelta(t, .125, out[1].Moved.Mean, 1e-12)
}

func TestHeads(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	h := heads([]*classScore{
		{Heads: [][]*float64{{v(.9), v(.7)}, {v(.5), v(.8)}}, Raters: [][]*float64{{v(1), v(.6)}, {v(.6), v(1)}}},
		{Heads: [][]*float64{{v(.7), nil}, {v(.3), nil}}, Raters: [][]*float64{{v(1), nil}, {nil, nil}}},
	})
	require.InDelta(t, .8, *h.Dice[0][0], 1e-12)
	require.InDelta(t, .7, *h.Dice[0][1], 1e-12)
	require.InDelta(t, (.85+.7)/2, h.Own.Mean, 1e-12)
	require.InDelta(t, (.6+.3)/2, h.Others.Mean, 1e-12)
	require.InDelta(t, (.25+.4)/2, h.Margin.Mean, 1e-12)
	require.InDelta(t, .6, h.Raters.Mean, 1e-12)
}
