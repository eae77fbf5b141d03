//go:build !js && cgo

package webgpu

import (
	"time"

	"mrprism/internal/gpu"
)

// pace splits a recording's commands into submissions of about a tenth of a second, so that no driver's watchdog (2 to 10 s) sees
// a longer one, a context can end the work between them, and a software adapter leaves the machine to others now and then. It
// learns from one replay to the next.
type pace struct {
	step, least int // commands in one submission: now, and at least
}

const (
	longSubmission  = 200 * time.Millisecond // halves the step
	shortSubmission = 50 * time.Millisecond  // doubles it
	longestStep     = 1024
)

// slow says of adapters that may be software.
func slow(kind gpu.Kind) bool { return kind == gpu.KindCPU || kind == gpu.KindUnknown }

func newPace(kind gpu.Kind) pace {
	if slow(kind) {
		return pace{step: 16, least: 1}
	}
	return pace{step: 256, least: 16}
}

// inFlight is how many submissions a device may be behind.
func inFlight(kind gpu.Kind) int {
	if slow(kind) {
		return 2
	}
	return 8
}

// finished tells that a submission of n commands took so long.
func (p *pace) finished(n int, took time.Duration) {
	switch {
	case took > longSubmission:
		p.step = max(p.least, min(p.step, n)/2)
	case took < shortSubmission && n >= p.step:
		p.step = min(2*p.step, longestStep)
	}
}
