package segment

import (
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/trust"
	"mrprism/shaders/gpu/gputest"
	"mrprism/weights"
	_ "mrprism/weights/shipped"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A photograph that is too dark and flat for the search is searched in even light. What ships then
// finds the disc where it finds it in the photograph as taken, and says that this is less sure.
func TestDarkPhotograph(t *testing.T) {
	m, err := weights.Load("fundus")
	require.NoError(t, err)
	e, img := engine(t, gputest.Require(t, "processor"), m), photograph(400, 400)
	want, err := e.Segment(t.Context(), img, Options{})
	require.NoError(t, err)
	require.False(t, e.last.place.even)
	look := dataset.AsTaken
	look.Contrast, look.Brightness = .12, -.35
	got, err := e.Segment(t.Context(), (&dataset.Loaded{Image: img}).With(look).Image, Options{})
	require.NoError(t, err)
	require.True(t, got.Found && e.last.place.even)
	assert.InDelta(t, want.ROI.X, got.ROI.X, 10)
	assert.InDelta(t, want.ROI.Y, got.ROI.Y, 10)
	assert.Greater(t, got.Figures[trust.Unstable], elsewhere)
}
