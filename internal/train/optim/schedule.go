// Package optim gives the learning rate, the momentum of averaged weights and fading losses over a
// run.
package optim

import "math"

// Schedule is a learning rate over a run of Total steps: a linear warm-up over Warmup steps to
// Peak, then a cosine to Last × Peak. If Constant is set, the rate stays at Peak after the
// warm-up.
type Schedule struct {
	Peak          float64
	Warmup, Total int
	Last          float64
	Constant      bool
}

// Rate is the learning rate of step t = 0, 1, ….
func (s Schedule) Rate(t int) float64 {
	switch {
	case t < s.Warmup:
		return s.Peak * float64(t+1) / float64(s.Warmup)
	case s.Constant:
		return s.Peak
	}
	done := min(1, float64(t-s.Warmup)/float64(max(1, s.Total-s.Warmup)))
	return s.Peak * (s.Last + (1-s.Last)*(1+math.Cos(math.Pi*done))/2)
}

// Averaging is the momentum of the weights' moving average at step t. It grows up to limit. Its
// small values in early steps make the average forget the random start.
func Averaging(t int, limit float64) float64 { return min(limit, float64(1+t)/float64(10+t)) }

// Fade is the factor of a fading loss at step t = 0, 1, …. It falls from 1 by a quarter in each
// tenth of a run of total steps, down to floor. After a fifth of the run it is about one half. (In
// PAPER.md §3.12 it is 0 after a fifth; the two have not been compared.)
func Fade(t, total int, floor float64) float64 {
	return max(floor, 1-2.5*float64(t)/float64(max(1, total)))
}
