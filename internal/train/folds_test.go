package train

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/model"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// With -folds, settle learns an image from the run that had set it aside. The model keeps the
// weights of -init to the bit, the order of the folds matters, and a run that was stopped goes on
// as if it had not been.
func TestFolds(t *testing.T) {
	data := writeData(t, 10)
	ours, err := model.NewRecipe("default")
	require.NoError(t, err)
	run := func(change func(o *Options), until int) string {
		o := options(t, data)
		o.Recipe = ours
		change(&o)
		train(t, reference.Open(), o, until)
		return filepath.Join(o.Out, "eyes.f32.safetensors")
	}
	own := run(func(*Options) {}, 8)
	file := decode(t, own)
	about, err := weights.ParseMetadata(file.Metadata)
	require.NoError(t, err)
	about.Title, about.Mirrored, about.Ranges = "Eyes", true, map[string]float32{"encoder.conv1": 2}
	file.Metadata, err = about.Map()
	require.NoError(t, err)
	file.Seal()
	content, err := file.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(own, content, 0o644))
	folds := []string{
		run(func(o *Options) { o.Fold, o.Seed = Fold{1, 2}, 2 }, 4), run(func(o *Options) { o.Fold, o.Seed = Fold{2, 2}, 3 }, 4),
	}
	evidence := func(folds ...string) func(o *Options) {
		return func(o *Options) {
			o.Recipe, err = model.NewRecipe("evidence")
			require.NoError(t, err)
			o.Recipe.Unspoilt, o.Init, o.Folds = true, own, folds
		}
	}
	made := run(evidence(folds...), 8)
	before, after := decode(t, own), decode(t, made)
	for _, v := range before.Tensors {
		if strings.HasPrefix(v.Name, "settle.") {
			assert.NotEqual(t, v.Data, after.Tensor(v.Name).Data, v.Name)
		} else {
			assert.Equal(t, v.Data, after.Tensor(v.Name).Data, v.Name)
		}
	}
	for _, key := range []string{"title", "mirrored", "ranges"} {
		assert.Equal(t, before.Metadata[key], after.Metadata[key], "what is known of the network stays known")
		assert.NotEmpty(t, after.Metadata[key], key)
	}
	const learnt = "settle.down1.weight"
	exchanged := decode(t, run(evidence(folds[1], folds[0]), 8))
	assert.NotEqual(t, after.Tensor(learnt).Data, exchanged.Tensor(learnt).Data)

	var folder string
	stopped := run(func(o *Options) { evidence(folds...)(o); folder = o.Out }, 3)
	_ = stopped
	resumed := decode(t, run(func(o *Options) { evidence(folds...)(o); o.Out, o.Resume, o.Init = folder, true, "" }, 8))
	assert.Equal(t, after.Tensor(learnt).Data, resumed.Tensor(learnt).Data)
	assert.Equal(t, after.Metadata["ranges"], resumed.Metadata["ranges"])
	assert.Equal(t, after.Tensor("conp.head.weight").Data, resumed.Tensor("conp.head.weight").Data)

	for wanted, change := range map[string]func(o *Options){
		"recipe evidence": func(o *Options) { o.Recipe = ours },
		"two or more":     func(o *Options) { o.Folds = folds[:1] },
		"by init":         func(o *Options) { o.Init = "" },
		"validate":        func(o *Options) { o.Validate = 0.2 },
		"no such file":    func(o *Options) { o.Folds = []string{folds[0], "nowhere"} },
	} {
		o := options(t, data)
		evidence(folds...)(&o)
		change(&o)
		_, err := New(t.Context(), reference.Open(), o, nil)
		assert.ErrorContains(t, err, wanted)
	}
}

func decode(t *testing.T, path string) *weights.File {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := weights.Decode(data)
	require.NoError(t, err)
	return file
}
