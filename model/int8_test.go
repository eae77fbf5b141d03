package model

import (
	"maps"
	"math"
	"strings"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"
	"mrprism/weights"
	_ "mrprism/weights/shipped"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All convolutions that depend on the image alone, the encoder and the first map of ConP with its
// keys and values, are of int8. Only the image, what comes from the pooling, and the bridge, which
// Features reads in floats, are rounded apart.
func TestInt8Encoder(t *testing.T) {
	m, err := weights.Load("fundus")
	require.NoError(t, err)
	c, err := NewConfig(m.Metadata.Configuration, len(m.Metadata.Raters), len(m.Metadata.Classes))
	require.NoError(t, err)
	c.Levels = true
	c.Precision, c.Ranges = Int8, m.Metadata.Ranges
	for layer := range AnyRanges(c) {
		assert.Contains(t, c.Ranges, layer)
	}
	encoder, _ := kernelsOf(t, c)
	assert.Equal(t, map[string]int{"quantize": 4, "max_pool_forward": 1, "conv2d_int8": 31}, encoder)
}

// Attention is in int8 where its ranges are known, and as it was where weights were exported before
// it had any.
func TestInt8Attention(t *testing.T) {
	c, err := NewConfig("compact-steered", 3, 2)
	require.NoError(t, err)
	c.Precision, c.Ranges = Int8, AnyRanges(c)
	_, kernels := kernelsOf(t, c)
	assert.Equal(t, 9, kernels["attention_int8"])
	assert.Zero(t, kernels["attention_forward"])
	maps.DeleteFunc(c.Ranges, func(layer string, _ float32) bool {
		return strings.Contains(layer, "attention.") || strings.HasPrefix(layer, "divp.heads.")
	})
	_, kernels = kernelsOf(t, c)
	assert.Equal(t, 9, kernels["attention_forward"])
	assert.Zero(t, kernels["attention_int8"])
}

// kernelsOf are the numbers of dispatches by kernel, of the encoder and of a recurrence.
func kernelsOf(t *testing.T, c Config) (encoder, recurrence map[string]int) {
	t.Helper()
	set := tensor.NewSet()
	defer set.Release()
	in, err := NewInference(t.Context(), reference.Open(), set, c, 64)
	require.NoError(t, err)
	defer in.Release()
	count := func(list tensor.Commands) map[string]int {
		kernels := map[string]int{}
		for _, c := range list.Commands {
			kernel, _, _ := strings.Cut(c.Program.Name, "/")
			kernels[kernel]++
		}
		return kernels
	}
	inEncoder, inRecurrence, _, _ := in.Commands()
	return count(inEncoder), count(inRecurrence)
}

// rangesOf are the ranges of one image.
func rangesOf(t *testing.T, d gpu.Device, c Config, side int, x []float32, fill func(set *tensor.Set)) map[string]float32 {
	t.Helper()
	set := tensor.NewSet()
	defer set.Release()
	in, err := NewRanges(t.Context(), d, set, c, side)
	require.NoError(t, err)
	defer in.Release()
	fill(set)
	require.NoError(t, in.Encode(t.Context(), x))
	for range 4 {
		_, err := in.Recur(t.Context())
		require.NoError(t, err)
	}
	return in.Seen()
}

// The masks of shipped weights in int8 are those in floats but for few pixels at the edges.
func TestInt8Masks(t *testing.T) {
	m, err := weights.Load("fundus")
	require.NoError(t, err)
	c, err := NewConfig(m.Metadata.Configuration, len(m.Metadata.Raters), len(m.Metadata.Classes))
	require.NoError(t, err)
	c.Levels = true
	plain, err := weights.Dequantize(m.File)
	require.NoError(t, err)
	const side = 128
	x := photographed(side)
	fill := func(set *tensor.Set) {
		for _, v := range set.Variables(tensor.Parameter, tensor.Statistic) {
			values, err := plain.Tensor(v.Name).Float32()
			require.NoError(t, err)
			require.NoError(t, set.Write(v, values))
		}
	}
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		if d.Info().InGo() {
			return // minutes; TestInt8 of package segment computes there too
		}
		c.Ranges = rangesOf(t, d, c, side, x, fill)
		want, _ := passesIn(t, d, c, F32, side, x, fill)
		got, _ := passesIn(t, d, c, Int8, side, x, fill)
		for i := range want {
			off, crossed, inside := 0.0, 0, 0
			for j, p := range want[i] {
				off += math.Abs(float64(p)-float64(got[i][j])) / float64(len(want[i]))
				if p > 0.5 {
					inside++
				}
				if (p > 0.5) != (got[i][j] > 0.5) {
					crossed++
				}
			}
			t.Logf("map %d: %.5f off in the mean, %d of %d values on the other side of one half", i, off, crossed, len(want[i]))
			assert.Less(t, off, 0.002, "map %d", i) // ten times what it is
			assert.LessOrEqual(t, crossed, len(want[i])/1000, "map %d", i)
			assert.Positive(t, inside, "an empty mask tells nothing")
		}
	})
}
