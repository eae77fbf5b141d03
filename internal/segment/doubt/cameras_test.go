package doubt

import (
	"math/rand/v2"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/trust"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The camera of a data set is learned if the set marks what another one does not. The sets that
// mark none of that are the others.
func TestCamerasOfPartlyMarkedData(t *testing.T) {
	r, learner, seen := rand.New(rand.NewPCG(1, 2)), Learner{}, map[string]*trust.Photographs{}
	for folder, masks := range map[string][][]string{
		"discs and cups": {{"d.png", "c.png"}, {"d.png", ""}}, "discs": {{"d.png", ""}}, "few discs": {{"d.png", ""}}, "no photographs": {{"d.png", "c.png"}},
	} {
		for i := range 16 {
			learner.Cases = append(learner.Cases, dataset.Case{Folder: folder, Masks: masks})
			if folder == "no photographs" || folder == "few discs" && i > 3 {
				continue
			}
			if seen[folder] == nil {
				seen[folder] = &trust.Photographs{Name: folder}
			}
			look := make([]float32, 12)
			for j := range look {
				look[j] = float32(r.NormFloat64())
			}
			seen[folder].Looks, seen[folder].Parts = append(seen[folder].Looks, look), append(seen[folder].Parts, i%4)
		}
	}
	cameras := learner.cameras([]string{"disc", "cup"}, seen)
	require.Len(t, cameras, 1)
	assert.Equal(t, "discs and cups", cameras[0].Name)
	assert.Equal(t, []string{"cup"}, cameras[0].Classes, "all sets mark discs")
	require.Len(t, cameras[0].Others, 1, "four photographs say little")
	assert.Equal(t, "discs", cameras[0].Others[0].To)
	assert.Empty(t, learner.cameras([]string{"disc"}, seen))
}

// A camera stays if nine of ten ratios of runs that had set it aside are near, or if there are none.
func TestUnsureCameras(t *testing.T) {
	learner := Learner{}
	for i := range 10 {
		for name, far := range map[string]int{"steady": 1, "wrong": 2} {
			r := trust.Residual{Camera: name, Error: .1}
			if i < far {
				r.Error = .11
			}
			learner.ratios = append(learner.ratios, r)
		}
	}
	for name, unsure := range map[string]bool{"steady": false, "wrong": true, "never set aside": false} {
		assert.Equal(t, unsure, learner.unsure(weights.Camera{Name: name}), name)
	}
}

// Photographs that the weights have seen teach no camera anew, nor one that folds found unsure.
func TestFoldsTaughtLast(t *testing.T) {
	taught := &weights.Trust{Images: 9, FoldsOf: trust.FoldsToDoubtBy, Cameras: []weights.Camera{{Name: "steady"}}}
	m, learner := &weights.Model{Metadata: weights.Metadata{Classes: []string{"disc"}, Trust: taught}}, &Learner{Cases: make([]dataset.Case, 100)}
	known, err := learner.Learn(t.Context(), m)
	require.NoError(t, err)
	assert.Same(t, taught, known)
}
