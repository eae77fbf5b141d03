//go:build !js && cgo

package webgpu

import (
	"time"

	"mrprism/shaders/gpu"
)

// pace splits a recording's commands into submissions of about a tenth of a second. This has three
// reasons: a driver's watchdog kills work of 2 to 10 s, a context can only end the work between
// submissions, and a software adapter would block the machine. pace learns from each replay.
type pace struct {
	step, least int // commands in one submission: now, and at least
}

const (
	longSubmission  = 200 * time.Millisecond // halves the step
	shortSubmission = 50 * time.Millisecond  // doubles it
	longestStep     = 1024
)

// slow says whether an adapter may be a software adapter.
func slow(kind gpu.Kind) bool { return kind == gpu.KindCPU || kind == gpu.KindUnknown }

func newPace(kind gpu.Kind) pace {
	if slow(kind) {
		return pace{step: 16, least: 1}
	}
	return pace{step: 256, least: 16}
}

// inFlight is the largest number of unfinished submissions.
func inFlight(kind gpu.Kind) int {
	if slow(kind) {
		return 2
	}
	return 8
}

// finished learns from a submission of n commands.
func (p *pace) finished(n int, took time.Duration) {
	switch {
	case took > longSubmission:
		p.step = max(p.least, min(p.step, n)/2)
	case took < shortSubmission && n >= p.step:
		p.step = min(2*p.step, longestStep)
	}
}
