package segment

import (
	"testing"

	"mrprism/internal/data/roi"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The wider but fainter piece goes. Pixels that faint pixels join to the kept piece stay, and so do
// pixels too faint to see.
func TestOnePiece(t *testing.T) {
	first := []float32{
		.9, .2, .6, .05,
		.0, .0, .0, .05,
		.3, .0, .0, .0,
		.3, .4, .8, .4,
	}
	second := []float32{
		.4, .0, .0, .0,
		.0, .0, .0, .0,
		.0, .0, .3, .0,
		.0, .0, .0, .0,
	}
	maps := make([]float32, 32)
	for i := range first {
		maps[2*i], maps[2*i+1] = first[i], second[i]
	}
	others := onePiece(maps, 4, 2, (&model.Config{Classes: 2, Independent: true}).Inside)
	assert.Equal(t, []int{1, 0}, others, "a piece of one pixel beside one of two")
	assert.Equal(t, []float32{
		.9, .2, .6, .05,
		.0, .0, .0, .05,
		.0, .0, .0, .0,
		.0, .0, .0, .0,
	}, channel(maps, 0, 2))
	assert.Equal(t, second, channel(maps, 1, 2), "nothing above one half")
}

// If there are two discs, as of two eyes side by side, the kept cup is in the kept disc. The piece
// of the second level is in the piece of the first level.
func TestPiecesOfOneEye(t *testing.T) {
	outer := []float32{
		.9, .9, .0, .8,
		.9, .9, .0, .8,
		.9, .0, .0, .8,
		.0, .0, .0, .8,
	}
	inner := []float32{
		.0, .7, .0, .8,
		.0, .0, .0, .8,
		.0, .0, .0, .8,
		.0, .0, .0, .8,
	}
	for _, c := range []model.Config{{Classes: 2}, {Classes: 1, Levels: true}} {
		maps := make([]float32, 32)
		for i := range outer {
			maps[2*i], maps[2*i+1] = outer[i], inner[i]
		}
		assert.Equal(t, []int{1, 0}, onePiece(maps, 4, 2, c.Inside), "a cup outside of the kept disc is none")
		for i := range outer {
			want := outer[i]
			if i%4 == 3 {
				want = 0
			}
			assert.Equal(t, want, maps[2*i])
			assert.Equal(t, min(inner[i], want), maps[2*i+1])
		}
	}
}

// A model of single pieces shows one piece of each structure in every pass. Other models show all
// pieces.
func TestSinglePieces(t *testing.T) {
	most := map[bool]int{}
	for _, single := range []bool{true, false} {
		about := segmenttest.Raters()
		about.SinglePieces = single
		f, err := segmenttest.Untrained(about)
		require.NoError(t, err)
		sharpen(t, f.Tensor("conp.head.weight"))
		r, err := engine(t, reference.Open(), seal(t, f)).Segment(t.Context(), photograph(90, 90), Options{Recurrences: 1, ROI: "none"})
		require.NoError(t, err)
		for _, maps := range r.masks {
			most[single] = max(most[single], len(roi.Pieces(maps, r.side, faint)))
		}
	}
	assert.Equal(t, 1, most[true])
	assert.Greater(t, most[false], 1, "or this test says little")
}

// Only a model of independent structures may have the second structure outside of the first one,
// also in the raters' maps.
func TestIndependentStructures(t *testing.T) {
	for _, independent := range []bool{true, false} {
		about := segmenttest.Raters()
		about.Classes, about.Independent = []string{"disc", "cup"}, independent
		f, err := segmenttest.Untrained(about)
		require.NoError(t, err)
		r, err := engine(t, reference.Open(), seal(t, f)).Segment(t.Context(), photograph(90, 90), Options{Recurrences: 1, ROI: "none"})
		require.NoError(t, err)
		for _, maps := range append(r.masks, r.raters) {
			outside := 0
			for i := 0; i < len(maps); i += 2 {
				if maps[i+1] > maps[i] {
					outside++
				}
			}
			assert.Equal(t, independent, outside > 0, "%d", outside)
		}
	}
}

// sharpen turns a faint mask into zeros and ones.
func sharpen(t *testing.T, w *weights.Tensor) {
	t.Helper()
	values, err := w.Float32()
	require.NoError(t, err)
	for i := range values {
		values[i] *= 100
	}
	*w = weights.NewF32(w.Name, w.Shape, values)
}
