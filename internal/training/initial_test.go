package training

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/gpu/reference"
	"mrprism/internal/tensor"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run starts from a state dict of PyTorch: what that has is taken, all else is what the seed draws, and is told.
func TestInitFromPyTorch(t *testing.T) {
	data, _ := finished(t)
	folder := t.TempDir()
	file, err := weights.Decode(must(os.ReadFile("../torch/testdata/resnet.safetensors")))
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

	o.Config = "compact"
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, o.Init+": configuration compact with names "+o.Names)
	require.ErrorContains(t, err, "60 tensors of another shape\n  backbone.conv1.weight is [8 3 7 7], encoder.conv1.weight takes [32 3 7 7]\n")
	o.Config, o.Names = "tiny", ""
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, "-names")
	o.Init, o.Names = "", "resnet"
	require.ErrorContains(t, o.Check(), "names resnet")
	_, err = New(t.Context(), reference.Open(), o, nil)
	require.Error(t, err)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
