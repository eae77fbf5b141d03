package train

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/segment"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"
	"mrprism/weights"
	_ "mrprism/weights/shipped"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run starts from a state dict of PyTorch. Variables that it lacks get random values, and a note
// names them.
func TestInitFromPyTorch(t *testing.T) {
	data, _ := finished(t)
	folder := t.TempDir()
	file, err := weights.Decode(must(os.ReadFile("../../weights/format/torch/testdata/resnet.safetensors")))
	require.NoError(t, err)
	dict := &weights.File{}
	for _, v := range file.Tensors {
		if name, found := strings.CutPrefix(v.Name, "state."); found {
			v.Name = "backbone." + name
			dict.Tensors = append(dict.Tensors, v)
		}
	}
	write := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, content, 0o644))
		return path
	}
	drawn, _, err := resume(t, options(t, data))
	require.NoError(t, err)
	o := options(t, data)
	o.Init = write("resnet.safetensors", must(dict.Encode()))
	o.Names = write("map.json", must(json.Marshal(map[string]any{"names": map[string]any{"backbone.": "encoder.", "backbone.fc.": nil}})))
	trainer, notes, err := resume(t, o)
	require.NoError(t, err)
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], o.Init+": 60 of the network's ")
	assert.Contains(t, notes[0], "; at random start encoder.bridge.*, conp.*, divp.*")
	read := func(trainer *Trainer, v *tensor.Variable) []float32 {
		values, err := trainer.set.Read(t.Context(), trainer.set.Lookup(v.Name))
		require.NoError(t, err)
		return values[0]
	}
	for _, v := range trainer.set.Variables(tensor.Parameter, tensor.Statistic) {
		theirs := dict.Tensor("backbone." + strings.TrimPrefix(v.Name, "encoder."))
		if theirs == nil {
			require.Equal(t, read(drawn, v), read(trainer, v), v.Name)
			continue
		}
		want, err := theirs.Float32()
		require.NoError(t, err)
		require.ElementsMatch(t, want, read(trainer, v), v.Name)
	}

	trainer.Close()

	o.Config = "compact"
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, o.Init+": configuration compact with names "+o.Names)
	require.ErrorContains(t, err, "60 tensors of another shape\n  backbone.conv1.weight is [8 3 7 7], encoder.conv1.weight takes [32 3 7 7]\n")
	o.Config, o.Names = "tiny", ""
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, "names")
	o.Init = "fundus"
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, "fundus: the model has configuration compact-anchored-evidence, and config is tiny")
	o.Init = "fungus"
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, "fungus: there is no such file (did you mean fundus?); the shipped models are ")
	o.Init, o.Names = "", "resnet"
	require.ErrorContains(t, o.Check(), "names resnet")
	_, err = New(t.Context(), reference.Open(), o, nil)
	require.Error(t, err)
}

// A run with three raters starts from a model of two: the third begins as the first, and where
// raters are an input the two share its weights, so that masks stay the same.
func TestInitOfOtherRaters(t *testing.T) {
	_, files := finished(t)
	scenario := synthetic.Scenario{Name: "three", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}, {Name: "bob", Noise: 0.05}, {Name: "eve", Noise: 0.05}}}
	o := options(t, filepath.Join(t.TempDir(), "three"))
	require.NoError(t, synthetic.WriteDataset(t.Context(), o.Data[0], scenario, 5, 64, 1))
	o.Out, o.Init = filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "two.safetensors")
	require.NoError(t, os.WriteFile(o.Init, files["eyes.f32.safetensors"], 0o644))
	trainer, notes, err := resume(t, o)
	require.NoError(t, err)
	assert.Equal(t, []string{"the 3 raters begin as the 2 of " + o.Init}, notes)
	model, other := must(weights.Decode(files["eyes.f32.safetensors"])), 0
	for _, v := range trainer.set.Variables(tensor.Parameter, tensor.Statistic) {
		got := must(trainer.set.Read(t.Context(), v))[0]
		if had := model.Tensor(v.Name); slices.Equal(had.Shape, v.Shape) {
			require.Equal(t, must(had.Float32()), got, v.Name)
		} else {
			other++
		}
	}
	assert.Equal(t, 15, other)
	masks := func(path string, c *dataset.Loaded, raters ...int) (maps [][]float32) {
		m := must(weights.Load(path))
		engine := must(segment.New(t.Context(), reference.Open(), m, ""))
		defer engine.Close()
		r := must(engine.Segment(t.Context(), c.Image, segment.Options{}))
		for k := range 2 {
			maps = append(maps, r.Probability(k))
			for _, rater := range raters {
				maps = append(maps, r.Rater(rater, k))
			}
		}
		return maps
	}
	file := must(trainer.averaged(t.Context()))
	file.Seal()
	three := filepath.Join(t.TempDir(), "three.safetensors")
	require.NoError(t, os.WriteFile(three, must(file.Encode()), 0o644))
	c := must(dataset.Load(trainer.Dataset.Cases[0]))
	want, got := masks(o.Init, c, 0, 1, 0), masks(three, c, 0, 1, 2)
	for i := range want {
		assert.InDeltaSlice(t, want[i], got[i], 1e-5)
	}
}

func TestSharedByFewer(t *testing.T) {
	assert.Equal(t, []float32{1, 2, 5, 6}, shared([]float32{1, 2, 3, 5, 6, 7}, 1, 3, 2, false))
	assert.Equal(t, []float32{4, 2, 12, 6}, shared([]float32{1, 2, 3, 5, 6, 7}, 1, 3, 2, true))
	assert.Equal(t, []float32{0.5, 2, 0.5}, shared([]float32{1, 2}, 1, 2, 3, true))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
