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

	for want, other := range map[string]*File{
		`b has side "128", a has "64"`:                                  run("128", 1, 2),
		"b beside a: weights do not fit this model: 1 of another shape": run("64", 1, 2, 3),
		"b has the same weights":                                        a,
	} {
		_, err := Mean([]string{"a", "b"}, []*File{a, other})
		assert.ErrorContains(t, err, want)
	}
}
