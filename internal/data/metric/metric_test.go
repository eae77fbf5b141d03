package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSoftDiceByHand(t *testing.T) {
	// Four pixels, two raters: votes 2, 1, 0, 0. G > .1 .3 marks two pixels, G > .5 .7 .9 one (1/2 is
	// not above one half).
	ref := Count([]uint8{1, 1, 0, 0}, []uint8{1, 0, 0, 0})
	p := []float32{.95, .6, .2, 0}
	e := 1e-4
	want := ((4+e)/(5+e) + (4+e)/(4+e) + (2+e)/(3+e) + (2+e)/(2+e) + (2+e)/(2+e)) / 5
	assert.InDelta(t, want, SoftDice(p, ref), 1e-12)
}

func TestSoftDiceCountsVotesExactly(t *testing.T) {
	// k votes of ten stand exactly on the thresholds .1 .3 .5 .7 .9: none is above its own.
	for raters := 1; raters <= 20; raters++ {
		for votes := 0; votes <= raters; votes++ {
			above := 0.
			for _, tenths := range []int{1, 3, 5, 7, 9} {
				if votes*10 > tenths*raters {
					above++
				}
			}
			ref := Votes{Count: []uint16{uint16(votes)}, Raters: raters}
			assert.InDelta(t, above, 5*SoftDice([]float32{1}, ref), 1e-3, "%d of %d", votes, raters)
		}
	}
}

func TestSoftDiceOfMapOnThreshold(t *testing.T) {
	one := Votes{Count: []uint16{1}, Raters: 1}
	assert.InDelta(t, 1, 5*SoftDice([]float32{.3}, one), 1e-3, "float32 .3 is above .1, and not above .3")
}

// Of two raters one is not a majority, of three two are.
func TestMajority(t *testing.T) {
	a, b, c := []uint8{1, 1, 1, 0}, []uint8{1, 1, 0, 0}, []uint8{1, 0, 0, 0}
	assert.Equal(t, []uint8{1, 1, 0, 0}, Count(a, b, c).Majority())
	assert.Equal(t, []uint8{1, 0, 0, 0}, Count(a, c).Majority())
}

func TestDiceOfNothing(t *testing.T) {
	none := Count(make([]uint8, 9))
	assert.Equal(t, 1., SoftDice(make([]float32, 9), none))
	assert.Equal(t, 1., Dice(make([]uint8, 4), make([]float32, 4)))
	assert.InDelta(t, 0, Dice([]uint8{1, 0}, []uint8{0, 1}), 0)
	assert.InDelta(t, 2./3, Dice([]uint8{1, 1, 0}, []float32{.9, .2, .5}), 1e-12)
}

// No share of seven votes equals one of these thresholds. Therefore counting votes and comparing
// the mean vote give equal results.
func TestSoftDiceIsThatOfTheMeanVote(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	masks := make([][]uint8, 7)
	for m := range masks {
		masks[m] = make([]uint8, 500)
		for i := range masks[m] {
			masks[m][i] = uint8(rng.IntN(2))
		}
	}
	p := make([]float32, 500)
	for i := range p {
		p[i] = rng.Float32()
	}
	want := 0.
	for _, threshold := range softDiceThresholds {
		var both, sum float64
		for i, v := range Count(masks...).Mean() {
			limit := float64(threshold) / 1000
			if float64(p[i]) > limit {
				sum++
			}
			if float64(v) > limit {
				sum++
				if float64(p[i]) > limit {
					both++
				}
			}
		}
		want += (2*both + 1e-4) / (sum + 1e-4) / 5
	}
	assert.InDelta(t, want, SoftDice(p, Count(masks...)), 1e-12)
}

func TestBootstrap(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	values := make([]float64, 400)
	for i := range values {
		values[i] = 10 + 2*rng.NormFloat64()
	}
	got := Bootstrap(values, 4000, 1)
	assert.Equal(t, got, Bootstrap(values, 4000, 1))
	assert.NotEqual(t, got, Bootstrap(values, 4000, 2))
	assert.InDelta(t, Mean(values), got.Mean, 1e-12)
	// The normal interval of a mean of 400 values with σ = 2 is ±1.96·0.1; σ's estimate and resampling
	// stay within 10 % of it.
	assert.InDelta(t, .196, (*got.High-*got.Low)/2, .02)
	same := Bootstrap([]float64{3, 3, 3}, 100, 1)
	assert.Equal(t, []float64{3, 3, 3}, []float64{same.Mean, *same.Low, *same.High})
	one := Bootstrap([]float64{3}, 100, 1)
	assert.Equal(t, Interval{Mean: 3, N: 1}, one, "one value says nothing about others")
	assert.True(t, math.IsNaN(Bootstrap(nil, 10, 1).Mean))
}

func TestVerticalRatio(t *testing.T) {
	disc := []uint8{ // 3 wide, 4 high
		0, 1, 0,
		1, 1, 0,
		0, 1, 1,
		0, 1, 0}
	cup := []uint8{
		0, 0, 0,
		0, 1, 0,
		0, 0, 1,
		0, 0, 0}
	assert.Equal(t, 4, VerticalDiameter(disc, 3, 4))
	assert.Equal(t, 1, VerticalDiameter(cup, 3, 4))
	assert.Equal(t, .25, VerticalRatio(disc, cup, 3, 4))
	assert.Equal(t, 6, Area(disc))
	assert.Zero(t, VerticalRatio(make([]float32, 4), make([]float32, 4), 2, 2))
	assert.Zero(t, VerticalRatio(make([]uint8, 12), cup, 3, 4), "a cup without a disc")
}

func TestCountRefusesGreyMasks(t *testing.T) {
	require.Panics(t, func() { Count([]uint8{255}) })
	require.Panics(t, func() { Count([]uint8{1}, []uint8{1, 0}) })
}
