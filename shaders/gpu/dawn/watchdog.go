//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"context"
	"time"

	"mrprism/shaders/gpu"
)

// Drivers kill work that takes seconds, and a context can end a run only between submissions. Run
// therefore submits recordings in portions with an expected time of submissionTime. The device
// learns the cost of steps from the measured time of each portion. The cost of a step that never
// ran is the mean of the new steps of the last portion, and at least a guess for the kind of
// adapter.
const (
	submissionTime = 100 * time.Millisecond
	mostInFlight   = 2 // submissions: one computes while the next is encoded
)

// A graphics card computes while the next submission is encoded. On a card the first portion of a
// run is therefore short, and each further portion may be twice as long.
const firstPortion = 32 // steps

// mostSteps is the largest first portion of a run, 0 for any.
func mostSteps(kind gpu.Kind) int {
	if kind == gpu.KindDiscrete {
		return firstPortion
	}
	return 0
}

// firstGuess is the cost of a step on an adapter that has not run any.
func firstGuess(kind gpu.Kind) time.Duration {
	switch kind {
	case gpu.KindCPU:
		return 5 * time.Millisecond
	case gpu.KindDiscrete:
		return 20 * time.Microsecond
	}
	return 500 * time.Microsecond
}

// expected is the expected cost of a step.
func (d *device) expected(s *step) time.Duration {
	if s.cost == 0 {
		return d.guess
	}
	return s.cost
}

// portion is the number of steps in the next submission, at least one, and at most most
// unless that is 0.
func (d *device) portion(steps []*step, most int) int {
	var total time.Duration
	for i, s := range steps {
		if total += d.expected(s); (total > submissionTime || i == most) && i > 0 {
			return i
		}
	}
	return len(steps)
}

// submission is unfinished work.
type submission struct {
	*pending
	steps []*step
	at    time.Time
}

// doneTime is when a submission was seen to end. It is exact if drain waited for the end.
type doneTime struct {
	at    time.Time
	exact bool
}

// follow begins to watch the work just submitted. steps are those of the last submission.
func (d *device) follow(steps []*step) submission {
	p := d.l.begin(d.instance, callbacks().done, func(info callbackInfo) uint64 {
		return d.l.QueueOnSubmittedWorkDone(d.queue, info)
	})
	unregister(p.user) // the callback has no arguments
	return submission{p, steps, time.Now()}
}

// drain waits until at most most submissions are unfinished.
func (d *device) drain(ctx context.Context, most int) error {
	for len(d.flight) > most {
		s := d.flight[0]
		exact := !d.l.completed(d.instance, s.future)
		if exact {
			if _, err := s.wait(ctx); err != nil {
				return err
			}
		}
		d.flight = d.flight[1:]
		done := doneTime{time.Now(), exact}
		began := s.at
		known := true
		if d.lastDone.at.After(began) {
			began, known = d.lastDone.at, d.lastDone.exact
		}
		if exact && known {
			d.learn(s.steps, done.at.Sub(began))
		}
		d.lastDone = done
	}
	return nil
}

// learn corrects the cost of steps from the time that they took together.
func (d *device) learn(steps []*step, took time.Duration) {
	var total, fresh time.Duration
	news := 0
	for _, s := range steps {
		total += d.expected(s)
	}
	scale := float64(took) / float64(total)
	for _, s := range steps {
		cost := max(time.Duration(scale*float64(d.expected(s))), time.Microsecond)
		if s.cost == 0 {
			fresh += cost
			news++
		}
		s.cost = cost
	}
	if news > 0 {
		d.guess = max(firstGuess(d.About.Kind), fresh/time.Duration(news))
	}
}
