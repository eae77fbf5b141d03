package segment

import (
	"testing"

	"mrprism/internal/segment/segmenttest"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every map of an ensemble is the mean of its members' maps, with raters' weights, mirror images,
// marks, and after a second call.
func TestEnsemble(t *testing.T) {
	img := photograph(96, 80)
	mark := Evidence{Rater: Somebody, Class: "brain", Mask: make([]byte, 96*80)}
	for i := range mark.Mask {
		mark.Mask[i] = byte(255 * (i % 96 / 48))
	}
	for name, c := range map[string]struct {
		configuration string
		options       Options
	}{
		"recurrences": {"tiny", Options{Recurrences: 2, ROI: "none", RaterWeights: []float32{1, .2, .7}}},
		"marks":       {"tiny-evidence", Options{Recurrences: 1, ROI: "10,5,70", Evidence: []Evidence{mark}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := reference.Open()
			about := segmenttest.Raters()
			about.Configuration = c.configuration
			var members []*weights.Model
			var alone []*Result
			for _, seed := range []uint64{1, 2, 3} {
				about.Seed, about.Mirrored = seed, seed == 2
				m := open(t, about)
				r, err := engine(t, d, m).Segment(t.Context(), img, c.options)
				require.NoError(t, err)
				members, alone = append(members, m), append(alone, r)
			}
			whole, err := Ensemble(members)
			require.NoError(t, err)
			e := engine(t, d, whole)
			for again := range 2 {
				got, err := e.Segment(t.Context(), img, c.options)
				require.NoError(t, err)
				for i := range c.options.Recurrences + 1 {
					requireMean(t, got.masks[i], alone[0].masks[i], alone[1].masks[i], alone[2].masks[i])
				}
				requireMean(t, got.raters, alone[0].raters, alone[1].raters, alone[2].raters)
				assert.NotEqual(t, alone[0].masks[0], alone[2].masks[0], "equal members would say little")
				if again == 0 {
					assert.Contains(t, got.Timings, "others")
				}
			}
			assert.Positive(t, e.Bytes()-e.network.Bytes())
		})
	}
}

func requireMean(t *testing.T, got []float32, of ...[]float32) {
	t.Helper()
	for i, v := range got {
		sum := float32(0)
		for _, maps := range of {
			sum += maps[i]
		}
		require.InDelta(t, sum/float32(len(of)), v, 1e-6)
	}
}

// Models that make other maps are no ensemble, and what is known of one model's results is not
// said of the mean's.
func TestWhatIsNoEnsemble(t *testing.T) {
	raters := open(t, segmenttest.Raters())
	for change, about := range map[string]func(*weights.Metadata){
		"classes":           func(m *weights.Metadata) { m.Classes = []string{"heart"} },
		"raters":            func(m *weights.Metadata) { m.Raters = []string{"bob", "ann", "eve"} },
		"sides":             func(m *weights.Metadata) { m.Side = 128 },
		"numbers of passes": func(m *weights.Metadata) { m.Configuration = "tiny-evidence" },
		"nesting":           func(m *weights.Metadata) { m.Independent = true },
	} {
		other := segmenttest.Raters()
		about(&other)
		other.Name = "other"
		_, err := Ensemble([]*weights.Model{raters, open(t, other)})
		require.ErrorContains(t, err, "untrained-raters and other have different "+change)
	}
	trusted := *raters
	trusted.Metadata.Trust = &weights.Trust{}
	whole, err := Ensemble([]*weights.Model{&trusted, raters})
	require.NoError(t, err)
	assert.Nil(t, whole.Metadata.Trust)
	assert.NotEqual(t, raters.SHA256, whole.SHA256)
	assert.Equal(t, "mean of 2 models: untrained-raters, untrained-raters", whole.Metadata.Title)
}
