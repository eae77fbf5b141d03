package model

import (
	"math"
	"strings"
	"testing"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/gputest"
	"mrprism/internal/gpu/reference"
	"mrprism/internal/tensor"
	"mrprism/weights"
	"mrprism/weights/shipped"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In the encoder all convolutions are of int8 with int8, and only the image and what comes from the pooling are rounded apart.
func TestInt8Encoder(t *testing.T) {
	m, err := shipped.Open("fundus")
	require.NoError(t, err)
	c, err := NewConfig(m.Metadata.Configuration, len(m.Metadata.Raters), len(m.Metadata.Classes))
	require.NoError(t, err)
	c.Precision, c.Ranges = Int8, m.Metadata.Ranges
	for layer := range AnyRanges(c) {
		assert.Contains(t, c.Ranges, layer)
	}
	set := tensor.NewSet()
	defer set.Release()
	in, err := NewInference(t.Context(), reference.Open(), set, c, 64)
	require.NoError(t, err)
	defer in.Release()
	programs := map[string]int{}
	commands, _ := in.encoder.Commands()
	for _, c := range commands {
		kernel, _, _ := strings.Cut(c.Program.Name, "/")
		programs[kernel]++
	}
	assert.Equal(t, map[string]int{"quantize": 2, "max_pool_forward": 1, "conv2d_int8": 29}, programs)
}

// The masks of shipped weights in int8 are those in floats but for few pixels at the edges.
func TestInt8Masks(t *testing.T) {
	m, err := shipped.Open("fundus")
	require.NoError(t, err)
	c, err := NewConfig(m.Metadata.Configuration, len(m.Metadata.Raters), len(m.Metadata.Classes))
	require.NoError(t, err)
	c.Ranges = m.Metadata.Ranges
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
