package segment

import (
	"slices"
	"testing"

	"mrprism/internal/files/imageio"
	"mrprism/internal/segment/segmenttest"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// leftHalf is a mark of an image: inside on the left, nothing said in the last quarter of the rows.
func leftHalf(w, h int) []byte {
	mask := make([]byte, w*h)
	for i := range mask {
		switch {
		case i/w >= 3*h/4:
			mask[i] = Unsaid
		case i%w < w/2:
			mask[i] = 255
		}
	}
	return mask
}

// A given mark is its rater's map where he has spoken, and moves the mask. Taking it away gives the
// first result again, and what is recalculated is what a new engine computes. This holds for models
// that also look at the mirror image.
func TestEvidence(t *testing.T) {
	d := reference.Open()
	for _, mirrored := range []bool{false, true} {
		about := segmenttest.Raters()
		about.Configuration, about.Mirrored = "tiny-evidence", mirrored
		file := open(t, about)
		e := engine(t, d, file)
		img := photograph(64, 64) // as large as the network's maps
		marked := Options{ROI: "none", Recurrences: 2, Evidence: []Evidence{{Rater: "bob", Mask: leftHalf(64, 64)}}}
		without, err := e.Segment(t.Context(), img, Options{ROI: "none", Recurrences: 2})
		require.NoError(t, err)
		assert.Equal(t, 0, without.Recurrences, "nothing is computed twice without a mark")
		with, err := e.Recalculate(t.Context(), marked)
		require.NoError(t, err)
		assert.Equal(t, 2, with.Recurrences)
		assert.NotContains(t, with.Timings, "encode2")
		bob, mask, others := with.Rater(1, 0), with.Probability(0), with.Others(0)
		for i := range bob {
			x, y := i%64, i/64
			if y >= 44 || x > 28 && x < 36 || x < 4 || x > 59 || y < 4 { // near the mark's borders pixels are mixed
				continue
			}
			said := float32(0)
			if x < 32 {
				said = 1
			}
			require.InDelta(t, said, bob[i], 1e-5)
			require.InDelta(t, (said+2*others[i])/3, mask[i], 1e-4, "the mean of bob's mark and of what two others are expected to mark")
		}
		assert.NotEqual(t, without.Probability(0), mask)
		// The reference keeps more digits than the state of a mirrored view that is put aside.
		assert.InDeltaSlice(t, without.Probability(0), with.Recurrence(0, 0), 1e-6, "Rec0 has seen no mark")

		again, err := e.Recalculate(t.Context(), Options{Recurrences: 2})
		require.NoError(t, err)
		assert.InDeltaSlice(t, without.Probability(0), again.Probability(0), 1e-6)
		assert.InDeltaSlice(t, without.Rater(2, 0), again.Rater(2, 0), 1e-6)
		fresh, err := engine(t, d, file).Segment(t.Context(), img, marked)
		require.NoError(t, err)
		assert.InDeltaSlice(t, fresh.Probability(0), mask, 1e-6)
		assert.InDeltaSlice(t, fresh.Rater(2, 0), with.Rater(2, 0), 1e-6)
	}
}

// Raters' weights act on the mask without another pass: all weight on one rater shows his own map,
// moved as all are to the mean mask.
func TestWeightsOfSettledRaters(t *testing.T) {
	about := segmenttest.Raters()
	about.Configuration = "tiny-evidence"
	e := engine(t, reference.Open(), open(t, about))
	equal, err := e.Segment(t.Context(), photograph(64, 64), Options{ROI: "none"})
	require.NoError(t, err)
	alone, err := e.Recalculate(t.Context(), Options{RaterWeights: []float32{0, 0, 1}})
	require.NoError(t, err)
	for i, v := range equal.Probability(0) {
		mean := (equal.Rater(0, 0)[i] + equal.Rater(1, 0)[i] + equal.Rater(2, 0)[i]) / 3
		require.InDelta(t, min(max(v+equal.Rater(2, 0)[i]-mean, 0), 1), alone.Probability(0)[i], 5e-3)
		if i > 500 {
			break
		}
	}
}

// A change of weights runs no pass, and gives what a new engine computes: with a mark and without,
// mirrored too. Its result stays what it was when the weights change again.
func TestWeightsNeedNoPass(t *testing.T) {
	d := reference.Open()
	for _, mirrored := range []bool{false, true} {
		about := segmenttest.Raters()
		about.Configuration, about.Mirrored = "tiny-evidence", mirrored
		file := open(t, about)
		e, img := engine(t, d, file), photograph(96, 64)
		for _, marks := range [][]Evidence{nil, {{Rater: "bob", Mask: leftHalf(96, 64)}}} {
			o := Options{ROI: "none", Recurrences: 2, Evidence: marks}
			first, err := e.Segment(t.Context(), img, o)
			require.NoError(t, err)
			before := first.Probability(0)
			weighed := o
			weighed.RaterWeights = []float32{1, 0.2, 0}
			weighed.Progress = func(stage string, _, _ int) { t.Errorf("stage %s runs", stage) }
			got, err := e.Recalculate(t.Context(), weighed)
			require.NoError(t, err)
			assert.NotContains(t, got.Timings, "rec0")
			weighed.Progress = nil
			want, err := engine(t, d, file).Segment(t.Context(), img, weighed)
			require.NoError(t, err)
			assert.InDeltaSlice(t, want.Probability(0), got.Probability(0), 1e-6, "the reference keeps more digits than a state put aside")
			assert.Equal(t, want.Measurements.Structures[0].Area, got.Measurements.Structures[0].Area)
			assert.NotEqual(t, before, got.Probability(0))
			assert.Equal(t, before, first.Probability(0))
			again, err := e.Recalculate(t.Context(), o)
			require.NoError(t, err)
			assert.Equal(t, before, again.Probability(0), "equal weights give the first result again")
			assert.Equal(t, first.Measurements, again.Measurements)
		}
	}
}

// What does not fit the model or the image is refused by name.
func TestRefusedEvidence(t *testing.T) {
	raters, levels := segmenttest.Raters(), segmenttest.Fundus()
	raters.Configuration, levels.Configuration = "tiny-evidence", "tiny-evidence"
	img := &imageio.Image{W: 64, H: 64, Pix: make([]byte, 3*64*64)}
	mask := leftHalf(64, 64)
	grey := slices.Clone(mask)
	grey[7] = 100
	for wanted, refused := range map[string]struct {
		about    string
		evidence []Evidence
	}{
		`"zoe": model untrained-raters takes marks of you, ann, bob, eve`:  {"raters", []Evidence{{"zoe", "", mask}}},
		`about "liver": the structures of model`:                           {"raters", []Evidence{{"ann", "liver", mask}}},
		"a mask of 12 pixels for an image of 64×64":                        {"raters", []Evidence{{"ann", "brain", mask[:12]}}},
		"pixel at 7, 0 has the value 100":                                  {"raters", []Evidence{{"ann", "brain", grey}}},
		"given twice":                                                      {"raters", []Evidence{{"ann", "brain", mask}, {"ann", "", mask}}},
		`"atleast2": model untrained-fundus takes marks of you`:            {"levels", []Evidence{{"atleast2", "disc", mask}}},
		`about "": the structures of model untrained-fundus are disc, cup`: {"levels", []Evidence{{Somebody, "", mask}}},
		"does not take marks":                                              {"old", []Evidence{{"ann", "", mask}}},
	} {
		about := segmenttest.Raters()
		switch refused.about {
		case "raters":
			about = raters
		case "levels":
			about = levels
		}
		_, err := engine(t, reference.Open(), open(t, about)).Segment(t.Context(), img, Options{ROI: "none", Evidence: refused.evidence})
		var wrong *OptionError
		require.ErrorAs(t, err, &wrong, wanted)
		assert.ErrorContains(t, err, wanted)
	}
}
