package tensor

import (
	"slices"
	"testing"

	"mrprism/shaders/ranks/rankstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded is a group of one rank that writes down when a mean begins and when it is waited for.
type recorded struct{ events *[]string }

func (recorded) Size() int { return 1 }

func (r recorded) Mean(values []float32) func() error {
	first := values[0]
	*r.events = append(*r.events, "begins")
	return func() error {
		*r.events = append(*r.events, "ends")
		values[0] = 10 * first
		return nil
	}
}

// A mean that a command needs is there before the command; one that none needs is there after the
// run.
func TestMeetInARun(t *testing.T) {
	rankstest.Each(2, func(r *rankstest.Rank) {
		set, g := NewSet(), NewGraph()
		x := g.Input("x", 2)
		inner := add(x, x) // 2x
		g.Meet(inner, r)
		kept := set.Variable(Shared, "result", 2)
		result := g.Variable(kept)
		g.Dispatch(accumulate, &addParams{2}, inner, result)
		g.Meet(result, r)
		after := add(inner, x).Keep()
		p := compile(t, set, g)
		own := []float32{1, 10}
		if r.Rank() == 1 {
			own = []float32{3, 20}
		}
		for run := range 2 {
			assert.NoError(t, p.Write(x, own))
			assert.NoError(t, p.Run(t.Context()))
			assert.Equal(t, []float32{4 + own[0], 30 + own[1]}, read(t, p, after), "the mean of 2x, and x")
			values, err := set.Read(t.Context(), kept)
			assert.NoError(t, err)
			assert.Equal(t, []float32{4 * float32(run+1), 30 * float32(run+1)}, values[0])
		}
	})
}

// RunApart meets only for what later commands need.
func TestRunApart(t *testing.T) {
	rankstest.Each(2, func(r *rankstest.Rank) {
		set, g := NewSet(), NewGraph()
		x := g.Input("x", 1)
		inner := add(x, x)
		g.Meet(inner, r)
		kept := set.Variable(Shared, "result", 1)
		result := g.Variable(kept)
		g.Dispatch(accumulate, &addParams{1}, x, result)
		g.Meet(result, r)
		after := add(inner, inner).Keep()
		p := compile(t, set, g)
		own := float32(1 + 2*r.Rank())
		assert.NoError(t, p.Write(x, []float32{own}))
		assert.NoError(t, p.RunApart(t.Context()))
		assert.Equal(t, []float32{8}, read(t, p, after))
		values, err := set.Read(t.Context(), kept)
		assert.NoError(t, err)
		assert.Equal(t, own, values[0][0], "not met")
		assert.NoError(t, p.Run(t.Context()))
		values, err = set.Read(t.Context(), kept)
		assert.NoError(t, err)
		assert.Equal(t, float32(4), values[0][0], "the mean of both sums")
	})
}

// Of gradients of two layers that are summed at the end, the first to be known begins to meet while
// the other is computed.
func TestMeetingsBeginEarly(t *testing.T) {
	var events []string
	set, g := NewSet(), NewGraph()
	x := g.Input("x", 1)
	y := add(x, x)
	z := add(y, y)
	a, b := set.Variable(Shared, "a", 1), set.Variable(Shared, "b", 1)
	for _, sum := range []struct {
		of *Tensor
		to *Variable
	}{{z, a}, {y, b}} {
		g.Soon(func() { g.Dispatch(accumulate, &addParams{1}, sum.of, g.Variable(sum.to)) })
		g.Meet(g.Variable(sum.to), recorded{&events})
	}
	p := compile(t, set, g)
	require.Len(t, p.parts[everyRun].legs, 2, "y to b, meet, then z")
	require.NoError(t, p.Write(x, []float32{1}))
	require.NoError(t, p.Run(t.Context()))
	assert.Equal(t, []string{"begins", "begins", "ends", "ends"}, events)
	values, err := set.Read(t.Context(), a, b)
	require.NoError(t, err)
	assert.Equal(t, []float32{40, 20}, slices.Concat(values...))
	assert.Equal(t, 4, p.Dispatches())
}
