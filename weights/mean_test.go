package weights

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// run is a float32 file of one tensor.
func run(side string, values ...float32) *File {
	return &File{Metadata: map[string]string{"side": side, "metrics": `{"x":1}`, "ranges": `{"l":2}`, "seed": "7"}, Tensors: []Tensor{NewF32("w", []int{len(values)}, values)}}
}

func TestMean(t *testing.T) {
	a, b := run("64", 1, -2), run("64", 4, 4)
	mean, err := Mean([]string{"a", "b", "c"}, []*File{a, b, run("64", 1, 1)})
	require.NoError(t, err)
	values, err := mean.Tensor("w").Float32()
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 1}, values)
	assert.Equal(t, "7", mean.Metadata["seed"], "the first's")
	assert.Equal(t, "{}", mean.Metadata["metrics"], "nobody has measured it yet")
	assert.NotContains(t, mean.Metadata, "ranges")
	assert.Contains(t, mean.Metadata["mean_of"], b.ContentSum())
	assert.Contains(t, a.Metadata, "ranges", "the files are as before")
	sealed := run("64", 6, 6)
	sealed.Seal()
	sum := sealed.ContentSum()
	sealed.Metadata["title"] = "another, as export -title gives it"
	mean, err = Mean([]string{"a", "sealed"}, []*File{a, sealed})
	require.NoError(t, err)
	assert.Contains(t, mean.Metadata["mean_of"], sum, "as the file is stored")

	with := func(key, value string) *File {
		f := run("64", 5, 5)
		f.Metadata[key] = value
		return f
	}
	for want, other := range map[string]*File{
		`b has side "128", a has "64"`:                                  run("128", 1, 2),
		"b beside a: weights do not fit this model: 1 of another shape": run("64", 1, 2, 3),
		"b has the same weights":                                        a,
		`b has pieces "single", a has ""`:                               with("pieces", "single"),
		`b has nesting "none", a has ""`:                                with("nesting", "none"),
		`b has mirrored "averaged", a has ""`:                           with("mirrored", "averaged"),
		`b has recipe "paper", a has ""`:                                with("recipe", "paper"),
	} {
		_, err := Mean([]string{"a", "b"}, []*File{a, other})
		assert.ErrorContains(t, err, want)
	}
}

// Int8 and float16 count as the float32 values that they stand for. The mean has no metadata that
// are true only of its parts.
func TestMeanOfSmallFiles(t *testing.T) {
	model := func(value float32, data string) *File {
		values := make([]float32, 32*32)
		for i := range values {
			values[i] = value
		}
		return &File{Metadata: map[string]string{"metrics": "{}", "data": data, "trust": "{}"}, Tensors: []Tensor{NewF32("l.weight", []int{32, 32}, values)}}
	}
	small, err := Quantize(model(3, "first")) // 3 is 127 of its scale
	require.NoError(t, err)
	small.Metadata["ranges"] = `{"l":2}`
	half, err := Halve(model(4, "second"))
	require.NoError(t, err)
	floats := model(8, "first")
	names := []string{"a", "b", "c"}
	mean, err := Mean(names, []*File{small, half, floats})
	require.NoError(t, err)
	require.Len(t, mean.Tensors, 1, "scales are left out")
	assert.Equal(t, F32, mean.Tensors[0].DType)
	values, err := mean.Tensors[0].Float32()
	require.NoError(t, err)
	assert.InDelta(t, 5, values[7], 1e-6)
	assert.Empty(t, mean.Metadata["quantization"])
	assert.NotContains(t, mean.Metadata, "ranges")
	assert.Equal(t, "first + second", mean.Metadata["data"])
	assert.NotContains(t, mean.Metadata, "trust")
	assert.Contains(t, mean.Metadata["mean_of"], small.ContentSum(), "as it is stored")
	assert.Equal(t, I8, small.Tensors[0].DType, "the files are as before")

	for _, order := range [][]*File{{small, half, floats}, {floats, small, half}} {
		mean, err = Mean(names, order)
		require.NoError(t, err)
	}
}

// Runs from different random weights are refused, however similar their gains and variances are.
func TestMeanOfStrangers(t *testing.T) {
	model := func(values ...float32) *File {
		return &File{Metadata: map[string]string{}, Tensors: []Tensor{NewF32("l.weight", []int{2, 2}, values), NewF32("norm.weight", []int{2}, []float32{9, 9 + values[0]})}}
	}
	_, err := Mean([]string{"a", "b", "c"}, []*File{model(1, 2, -1, 2), model(1.5, 2, -1, 1), model(2, -1, 2, 1)})
	require.ErrorContains(t, err, "a and c began from different random weights: the cosine between them is 0.00")
	_, err = Mean([]string{"a", "b"}, []*File{model(1, 2, -1, 2), model(1.5, 2, -1, 1)})
	require.NoError(t, err)
}
