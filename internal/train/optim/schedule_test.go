package optim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSchedule(t *testing.T) {
	s := Schedule{Peak: 1, Warmup: 10, Total: 110, Last: 0.1}
	require.InDelta(t, 0.1, s.Rate(0), 1e-12)
	require.InDelta(t, 1, s.Rate(9), 1e-12)
	require.InDelta(t, 0.55, s.Rate(60), 1e-12) // the middle of the cosine
	require.InDelta(t, 0.1, s.Rate(110), 1e-12)
	require.InDelta(t, 0.1, s.Rate(1000), 1e-12)
	require.Equal(t, 3.0, Schedule{Peak: 3, Constant: true}.Rate(99))
	require.Equal(t, []float64{1, 2, 3, 4, 4}, func() (rates []float64) {
		for i := range 5 {
			rates = append(rates, Schedule{Peak: 4, Warmup: 4, Total: 5, Constant: true}.Rate(i))
		}
		return rates
	}())
}

func TestAveragingForgetsTheStart(t *testing.T) {
	weight := 1.0 // of the value at the start
	for i := range 60 {
		weight *= Averaging(i, 0.99)
	}
	require.Less(t, weight, 1e-6)
	require.Equal(t, 0.99, Averaging(100000, 0.99))
}

func TestFade(t *testing.T) {
	require.Equal(t, 1.0, Fade(0, 100, 0))
	require.InDelta(t, 0.5, Fade(20, 100, 0), 1e-12)
	require.Equal(t, 0.0, Fade(40, 100, 0))
	require.Equal(t, 0.3, Fade(99, 100, 0.3))
	require.Greater(t, Fade(19, 100, 0.5), 0.5)
	require.Equal(t, 0.5, Fade(20, 100, 0.5), "half is left after a fifth, and stays")
	require.Equal(t, 0.5, Fade(99, 100, 0.5))
	require.Equal(t, 1.0, Fade(99, 100, 1))
}
