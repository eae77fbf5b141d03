package nn

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A file may know some ranges of attention only: a missing one is not a step of 0.
func TestAttentionStepsNeedAllRanges(t *testing.T) {
	all := map[string]float32{"a.queries": 127, "a.keys": 254, "a.values": 381}
	steps, int8 := (&Builder{Ranges: all}).attentionSteps("a", 16)
	assert.True(t, int8)
	assert.Equal(t, attentionSteps{1, 2, 3}, steps)
	for missing := range all {
		some := maps.Clone(all)
		delete(some, missing)
		steps, int8 = (&Builder{Ranges: some}).attentionSteps("a", 16)
		assert.False(t, int8, missing)
		assert.Equal(t, attentionSteps{1, 1, 1}, steps, missing)
	}
}
