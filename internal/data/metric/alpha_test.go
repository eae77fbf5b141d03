package metric

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Krippendorff's alpha by its matrix of coincidences was computed with NumPy.
func TestAlphaOfOtherPrograms(t *testing.T) {
	var c, last Coincidences // the raters' marks of eight pixels, of which one rater has not seen two
	c.Add(Tally{2, 1, 1, 2})
	last.Add(Tally{1, 0, 1})
	last.Add(Tally{0, 1})
	c.Merge(last)
	assert.InDelta(t, 0.6528925619834711, c.Alpha(), 1e-12)
}
