package segment

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/segment/segmenttest"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/weights"
)

// A finder finds the region that it finds alone, also turned, and the model draws what it draws in
// that region.
func TestFinder(t *testing.T) {
	img := photograph(240, 200)
	about := segmenttest.Fundus()
	about.Name, about.Classes, about.Seed, about.Turned = "finder", []string{"disc"}, 4, true
	small, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	large, err := segmenttest.Untrained(segmenttest.Fundus())
	require.NoError(t, err)
	require.NoError(t, large.Join(small))
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		segment := func(m *weights.Model, region string) *Result {
			r, err := engine(t, d, m).Segment(t.Context(), img, Options{Recurrences: 1, ROI: region})
			require.NoError(t, err)
			return r
		}
		both := segment(seal(t, large), "auto")
		plain := open(t, segmenttest.Fundus())
		assert.Equal(t, segment(seal(t, small), "auto").ROI, both.ROI)
		own := segment(plain, "auto")
		assert.NotEqual(t, own.ROI, both.ROI, "or this test says little")
		assert.Equal(t, own.Looks["whole"], both.Looks["whole"], "what the model sees of the photograph")
		assert.Equal(t, segment(plain, fmt.Sprintf("%d,%d,%d", both.ROI.X, both.ROI.Y, both.ROI.Side)).Probability(1), both.Probability(1))
		assert.Greater(t, engine(t, d, seal(t, large)).Bytes(), engine(t, d, plain).Bytes())
	})
}

// What cannot look for the anchor is refused.
func TestFindersThatDoNotFit(t *testing.T) {
	for want, change := range map[string]func(*weights.Metadata){
		"marks disc, cup":  func(m *weights.Metadata) { m.Classes = []string{"disc", "cup"} },
		`looks for "disc"`: func(m *weights.Metadata) { m.Classes = []string{"cup"} },
		"sees 128 pixels":  func(m *weights.Metadata) { m.Side = 128 },
	} {
		large, err := segmenttest.Untrained(segmenttest.Fundus())
		require.NoError(t, err)
		about := segmenttest.Fundus()
		about.Classes, about.Anchor = []string{"disc"}, ""
		change(&about)
		small, err := segmenttest.Untrained(about)
		require.NoError(t, err)
		assert.ErrorContains(t, large.Join(small), want)
		assert.NotContains(t, large.Metadata, "finder")
	}
}
