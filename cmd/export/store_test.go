package main

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// floats writes a random model of disc and cup in float32.
func floats(t *testing.T, path string, change func(*weights.File)) {
	t.Helper()
	file, err := segmenttest.Untrained(segmenttest.Fundus())
	require.NoError(t, err)
	change(file)
	file.Seal()
	data, err := file.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

// Float32 weights become f16 and int8, which open like all weights.
func TestStore(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name+".safetensors") }
	floats(t, at("source"), func(*weights.File) {})

	code, stdout, stderr := call(t, "-weights", at("source"), "-f16", at("half"), "-int8", at("small"))
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stdout, at("half")+": untrained-fundus as f16, ")
	source, err := computing.Weights(at("source"))
	require.NoError(t, err)
	for name, kind := range map[string]weights.DType{"half": weights.F16, "small": weights.I8} {
		m, err := computing.Weights(at(name))
		require.NoError(t, err)
		kinds := map[weights.DType]int{}
		for _, v := range m.Tensors {
			kinds[v.DType]++
		}
		assert.Positive(t, kinds[kind])
		plain, err := weights.Dequantize(m.File)
		require.NoError(t, err)
		for _, v := range source.Tensors {
			want, err := v.Float32()
			require.NoError(t, err)
			got, err := plain.Tensor(v.Name).Float32()
			require.NoError(t, err)
			assert.InDeltaSlice(t, want, got, 0.02, "%s: a 254th of the largest weight", v.Name)
		}
	}

	code, _, stderr = call(t, "-weights", at("source"), "-int8", at("mirrored"), "-mirror")
	require.Equal(t, cli.Done, code, stderr)
	mirrored, err := computing.Weights(at("mirrored"))
	require.NoError(t, err)
	small, err := computing.Weights(at("small"))
	require.NoError(t, err)
	assert.ElementsMatch(t, small.Tensors, mirrored.Tensors)
	assert.True(t, mirrored.Metadata.Mirrored)
	small.Metadata.Mirrored = true // all that -mirror changes
	assert.Equal(t, small.Metadata, mirrored.Metadata)

	floats(t, at("both"), func(f *weights.File) { f.Metadata["mirrored"] = "averaged" })
	code, _, stderr = call(t, "-weights", at("both"), "-f16", at("one way"), "-mirror=false")
	require.Equal(t, cli.Done, code, stderr)
	back, err := computing.Weights(at("one way"))
	require.NoError(t, err)
	assert.False(t, back.Metadata.Mirrored)

	for want, args := range map[string][]string{
		"already (":          {"-weights", at("small"), "-int8", at("again")},
		"as F16 already":     {"-weights", at("half"), "-f16", at("again")},
		"there is no folder": {"-weights", at("source"), "-f16", filepath.Join(folder, "none", "x.safetensors")},
	} {
		code, _, stderr := call(t, args...)
		assert.Equal(t, cli.Failed, code, want)
		assert.Contains(t, stderr, want)
	}
	for want, args := range map[string][]string{
		"not written together": {"-weights", at("source"), "-f16", at("again"), "-onnx", "x.onnx"},
		"another file":         {"-weights", at("source"), "-int8", at("source")},
		"is there twice":       {"-weights", at("source"), "-mean", at("half"), "-f32", at("half")},
		"a name is missing":    {"-weights", at("source"), "-mean", at("half") + ",", "-f32", at("again")},
		"-also has no effect":  {"-weights", at("source"), "-f16", at("again"), "-also", "data"},
		"-folds has no effect": {"-weights", at("source"), "-f16", at("again"), "-folds", at("source")},
		"-mirror has no effect on -onnx, but on -ranges": {"-weights", at("source"), "-mirror", "-onnx", "x.onnx"},
		"but on -f32, -f16, -int8":                       {"-weights", at("source"), "-mean", at("half"), "-onnx", "x.onnx"},
	} {
		code, _, stderr := call(t, args...)
		assert.Equal(t, cli.Usage, code, want)
		assert.Contains(t, stderr, want)
	}
	floats(t, at("source"), func(f *weights.File) {
		v := f.Tensor("encoder.layer2.0.conv1.weight")
		values := make([]float32, v.Elements())
		values[7] = 70000
		*v = weights.NewF32(v.Name, v.Shape, values)
	})
	code, stdout, stderr = call(t, "-weights", at("source"), "-f16", at("again"))
	assert.Equal(t, cli.Failed, code, stdout)
	assert.Contains(t, stderr, "encoder.layer2.0.conv1.weight: element 7 is 70000")
	assert.NoFileExists(t, at("again"))
}

// The mean of two runs opens as a run's weights do and lies between them.
func TestMean(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name+".safetensors") }
	const name = "encoder.layer2.0.conv1.weight"
	for i, path := range []string{at("a"), at("b")} {
		floats(t, path, func(f *weights.File) {
			v := f.Tensor(name)
			values, err := v.Float32()
			require.NoError(t, err)
			values[7] = float32(i + 1)
			*v = weights.NewF32(v.Name, v.Shape, values)
		})
	}
	code, stdout, stderr := call(t, "-weights", at("a"), "-mean", at("b"), "-f32", at("mean"), "-int8", at("small"))
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stdout, at("mean")+": untrained-fundus as f32, ")
	small, err := computing.Weights(at("small"))
	require.NoError(t, err)
	assert.Equal(t, weights.I8, small.Tensor(name).DType)
	m, err := computing.Weights(at("mean"))
	require.NoError(t, err)
	values, err := m.Tensor(name).Float32()
	require.NoError(t, err)
	assert.Equal(t, float32(1.5), values[7])

	// What ships is int8: it is averaged as what it stands for.
	code, _, stderr = call(t, "-weights", at("small"), "-mean", at("a"), "-f32", at("again"))
	require.Equal(t, cli.Done, code, stderr)
	m, err = computing.Weights(at("again"))
	require.NoError(t, err)
	assert.Empty(t, m.Metadata.Quantization)
	assert.Equal(t, weights.F32, m.Tensor(name).DType)
	values, err = m.Tensor(name).Float32()
	require.NoError(t, err)
	assert.InDelta(t, 1.25, values[7], 0.01, "1.5 is 127 of its scale")

	code, _, stderr = call(t, "-weights", at("small"), "-f16", at("none"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "small.safetensors has its weights as I8 already")
}

// -panels moves the bias and the shifts, and keeps each panel's mask.
func TestWeighPanels(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name+".safetensors") }
	floats(t, at("source"), func(f *weights.File) {
		f.Metadata["panels"] = `[{"name":"drishti","shift":[1,2],"weight":0.5},{"name":"rimone","shift":[-1,-2],"weight":0.5}]`
	})
	code, _, stderr := call(t, "-weights", at("source"), "-f32", at("weighed"), "-panels", "drishti=3,rimone=1")
	require.Equal(t, cli.Done, code, stderr)
	var biases [][]float32
	for _, name := range []string{"source", "weighed"} {
		m, err := computing.Weights(at(name))
		require.NoError(t, err)
		bias, err := m.Tensor(model.MaskBias).Float32()
		require.NoError(t, err)
		biases = append(biases, bias)
		if name == "weighed" {
			assert.Equal(t, []weights.Panel{{Name: "drishti", Shift: []float64{.5, 1}, Weight: .75}, {Name: "rimone", Shift: []float64{-1.5, -3}, Weight: .25}}, m.Metadata.Panels)
		}
	}
	assert.InDelta(t, .5, biases[1][0]-biases[0][0], 1e-6)
	assert.InDelta(t, 1, biases[1][1]-biases[0][1], 1e-6)
	for given, want := range map[string]string{"drishti": "NAME=WEIGHT", "refuge=1": "which are drishti, rimone", "drishti=0": "are 0"} {
		code, _, stderr := call(t, "-weights", at("source"), "-f32", at("none"), "-panels", given)
		assert.NotEqual(t, cli.Done, code)
		assert.Contains(t, stderr, want)
	}
}

// -finder joins a network for the search, also of int8 weights, and later exports keep it.
func TestJoinAFinder(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name+".safetensors") }
	floats(t, at("source"), func(*weights.File) {})
	about := segmenttest.Fundus()
	about.Name, about.Classes, about.Anchor = "finder", []string{"disc"}, ""
	f, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	data, err := segmenttest.Encode(f)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at("finder"), data, 0o644))

	code, _, stderr := call(t, "-weights", at("source"), "-finder", at("finder"), "-f32", at("both"))
	require.Equal(t, cli.Done, code, stderr)
	code, _, stderr = call(t, "-weights", at("both"), "-int8", at("small"))
	require.Equal(t, cli.Done, code, stderr)
	m, err := computing.Weights(at("small"))
	require.NoError(t, err)
	small, err := m.Finder()
	require.NoError(t, err)
	require.Equal(t, "finder", small.Metadata.Name)
	alone, err := computing.Weights(at("finder"))
	require.NoError(t, err)
	for _, want := range alone.Tensors {
		require.Equal(t, want.Data, small.Tensor(want.Name).Data, want.Name)
	}

	code, _, stderr = call(t, "-weights", at("source"), "-finder", at("source"), "-f32", at("none"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "-finder: untrained-fundus marks disc, cup")
}
