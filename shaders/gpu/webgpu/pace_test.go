//go:build !js && cgo

package webgpu

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"mrprism/shaders/gpu"
)

// Submissions of commands that take 30 ms each settle at a few commands; quick ones grow to the
// longest.
func TestPaceSettles(t *testing.T) {
	for _, c := range []struct {
		command           time.Duration
		shortest, longest int
	}{
		{30 * time.Millisecond, 1, 6},
		{3 * time.Second, 1, 1},
		{time.Microsecond, longestStep, longestStep},
	} {
		p := newPace(gpu.KindCPU)
		for range 20 {
			p.finished(p.step, time.Duration(p.step)*c.command)
		}
		assert.GreaterOrEqual(t, p.step, c.shortest, "%v", c.command)
		assert.LessOrEqual(t, p.step, c.longest, "%v", c.command)
	}
}
