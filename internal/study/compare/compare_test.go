package compare

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"math"
	"sync"
	"testing"

	"mrprism/internal/data/metric"
	"mrprism/internal/study/statistics"

	"github.com/stretchr/testify/require"
)

func encoded(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

// The figures of a map of six pixels, by hand.
func TestComparedFiguresByHand(t *testing.T) {
	marks := [][]uint8{{1, 1, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}}
	votes := metric.Count(marks...)
	ref := &target{votes: votes, majority: votes.Majority(), union: votes.Union(), marks: marks, packed: []metric.Bits{metric.Pack(marks[0]), metric.Pack(marks[1])}}
	union := metric.NewCalibration(reliabilityBins)
	f := figuresOf([]float32{1, .75, .75, 0, 0, 0}, ref, union, 6, 1)
	// Votes are 1 and ½. Above .1 and .3: 3 pixels against 2; above .5 and .7: 3 against 1; above
	// .9: equal.
	require.InDelta(t, (2*(4./5)+2*(2./4)+1)/5, f[softDice], 1e-4)
	require.InDelta(t, 2./4, f[diceHalf], 1e-12)
	require.InDelta(t, (.0625+.5625)/6, f[brierWhole], 1e-12)
	require.InDelta(t, .0625/2, f[brierUnion], 1e-12)
	require.InDelta(t, (.25+.75)/6, f[eceWhole], 1e-12)
	require.InDelta(t, .25/2, f[eceUnion], 1e-12)
	require.InDelta(t, 1.9, f[hausdorff], 1e-9, "distances 0, 1, 2 at the 95th percentile")
	require.True(t, math.IsNaN(f[energy]))
	require.InDelta(t, 2*2.5/(3+2.5), statedDice([]float32{1, .75, .75, 0, 0, 0}), 1e-12)
	require.Equal(t, 1., statedDice(make([]float32, 4)))
	require.Zero(t, statedDice([]float32{.5, 0}))
	require.InDeltaSlice(t, []float64{.8, .5}, dicesOf(metric.Pack([]uint8{1, 1, 1, 0, 0, 0}), ref), 1e-12)
}

// Goroutines deliver in order, and none waits for one that failed.
func TestTurns(t *testing.T) {
	var turns turns
	var wait sync.WaitGroup
	var order []int
	for _, i := range []int{3, 1, 2, 0} {
		wait.Go(func() { _ = turns.take(i, nil, func() { order = append(order, i) }) })
	}
	wait.Wait()
	require.Equal(t, []int{0, 1, 2, 3}, order)
	failed := errors.New("lost")
	wait.Go(func() {
		require.ErrorIs(t, turns.take(6, nil, func() { t.Error("delivered after a failure") }), failed)
	})
	require.ErrorIs(t, turns.take(4, failed, nil), failed)
	wait.Wait()
}

// A gallery keeps the images of the largest ranks, however many are offered.
func TestGallery(t *testing.T) {
	var g gallery
	for i := range 50 {
		if rank := float64(i * 17 % 50); g.wants(rank) {
			g.add(&exhibit{rank: rank})
		}
	}
	require.Equal(t, []float64{49, 48, 47}, statistics.Tabulate(len(g.exhibits), func(i int) float64 { return g.exhibits[i].rank }))
}
