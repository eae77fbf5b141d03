package training

import (
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/compute/gpu/reference"
	"mrprism/model"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The default recipe teaches the mask alone at first: heads and passes keep their first values, and
// the mask learns to the bit what it learns beside them. A run that stops before, at or after the
// change goes on as if it had not stopped.
func TestMaskFirst(t *testing.T) {
	data := writeData(t, 5)
	ours, err := model.NewRecipe("default")
	require.NoError(t, err)
	run := func(share float64, until ...int) string {
		o := options(t, data)
		o.Recipe, o.Recipe.MaskFirst = ours, share
		for _, step := range until {
			train(t, reference.Open(), o, step)
			o.Resume = true
		}
		return filepath.Join(o.Out, "eyes.f32.safetensors")
	}
	whole, start := decode(t, run(0.5, 4)), decode(t, run(0.5, 1))
	half := decode(t, run(0.5, 2))
	together := decode(t, run(0, 4))
	for _, v := range whole.Tensors {
		if strings.HasPrefix(v.Name, "encoder.") || strings.HasPrefix(v.Name, "conp.") {
			require.Equal(t, together.Tensor(v.Name).Data, v.Data, v.Name)
		} else {
			require.Equal(t, start.Tensor(v.Name).Data, half.Tensor(v.Name).Data, "%s waits", v.Name)
		}
	}
	assert.NotEqual(t, half.Tensor("divp.stem.weight").Data, whole.Tensor("divp.stem.weight").Data)
	for stop := 1; stop < 4; stop++ {
		resumed := decode(t, run(0.5, stop, 4))
		for _, v := range whole.Tensors {
			require.Equal(t, v.Data, resumed.Tensor(v.Name).Data, "%s, stopped after %d", v.Name, stop)
		}
	}
}
