//go:build !js

package segment_test

import (
	"testing"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Views of an eye differ a little, and equally at each call.
func TestRepeat(t *testing.T) {
	e := shipped(t, "fundus")
	stages := map[string]int{}
	o := segment.Options{ROI: "auto", Recurrences: segment.Trained, Progress: func(stage string, done, total int) { stages[stage]++ }}
	img := imageio.Convert(synthetic.Photograph(11, 768, 576))
	r, err := e.Segment(t.Context(), img, o)
	require.NoError(t, err)
	require.True(t, r.Found)
	made, err := e.Repeat(t.Context(), img, &r.Maps, o)
	require.NoError(t, err)
	again, err := e.Repeat(t.Context(), img, &r.Maps, o)
	require.NoError(t, err)
	assert.Equal(t, made, again)
	assert.Equal(t, 8, made.Views)
	assert.Equal(t, 16, stages["repeat"])
	require.Len(t, made.Structures, 2)
	assert.Greater(t, *made.VerticalRatio, 0.)
	assert.Less(t, *made.VerticalRatio, .1)
	disc := r.Measurements.Structures[0]
	assert.Less(t, made.Structures[0].Area, .1*float64(disc.Area))
	assert.Less(t, made.Structures[0].Height, .1*float64(disc.Height))

	black := *img
	black.Pix = make([]uint8, len(img.Pix))
	_, err = e.Repeat(t.Context(), &black, &r.Maps, o)
	assert.ErrorContains(t, err, "0 of 8 turned, shifted and dimmed views show all structures")
}
