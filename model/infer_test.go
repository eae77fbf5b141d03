package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noise is an image of 64×64 pixels, normalised.
func noise() []float32 {
	r := rand.New(rand.NewPCG(5, 5))
	x := make([]float32, 3*64*64)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// The dispatches of encoder and one pass, and of four passes with the raters' labels, are budgets:
// what grows them must be worth it.
func TestDispatchBudget(t *testing.T) {
	for config, budget := range map[string]struct{ one, four int }{"compact": {118, 377}, "compact-steered": {119, 384}, "mobile": {148, 407}, "paper": {128, 369}} {
		c, err := NewConfig(config, 4, 2)
		require.NoError(t, err)
		set := tensor.NewSet()
		in, err := NewInference(t.Context(), reference.Open(), set, c, 256)
		require.NoError(t, err)
		assert.LessOrEqual(t, in.EncoderDispatches()+in.RecurrenceDispatches(), budget.one, config)
		assert.LessOrEqual(t, in.Dispatches(4), budget.four, "%s: %d + 4·%d + %d", config, in.EncoderDispatches(), in.RecurrenceDispatches(), in.labels.Dispatches())
		in.Release()
		set.Release()
	}
}

// A weight that is not a number, as a failing device might make it, never shows as a mask.
func TestNotANumberIsNoMask(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		c := tiny(t, 2, 1)
		set := Variables(c)
		defer set.Release()
		in, err := NewInference(t.Context(), d, set, c, 64)
		require.NoError(t, err)
		defer in.Release()
		for _, name := range []string{"conp.head.bias", "divp.heads.output.bias", "conp.stage1.norm1.weight", "encoder.bridge.1.running_var"} {
			require.NoError(t, set.Initialise(1))
			v := set.Lookup(name)
			require.NoError(t, set.Write(v, repeat(float32(math.NaN()), v.Elements())))
			require.NoError(t, in.Encode(t.Context(), noise()))
			_, err = in.Recur(t.Context())
			assert.ErrorIs(t, err, ErrNotFinite, name)
		}
	})
}

// A rater's weight, as a share of the largest, is a factor on his confidence, the same in every
// pixel and structure: ConP sees its logarithm, clamped.
func TestRaterWeights(t *testing.T) {
	c := tiny(t, 3, 2)
	set := Variables(c)
	in, err := NewInference(t.Context(), reference.Open(), set, c, 64)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	mask := func(weights ...float32) []float32 {
		require.NoError(t, in.SetRaterWeights(weights))
		require.NoError(t, in.Encode(t.Context(), noise()))
		y, err := in.Recur(t.Context())
		require.NoError(t, err)
		return y
	}
	equal := mask()
	assert.True(t, slices.Equal(equal, mask(1, 1, 1)))
	assert.True(t, slices.Equal(equal, mask(0.2, 0.2, 0.2)), "equal weights are none")
	assert.True(t, slices.Equal(equal, mask(0, 0, 0)))
	assert.False(t, slices.Equal(equal, mask(1, 1, 0.1)), "the mask moves")
	assert.True(t, slices.Equal(mask(0.5, 0.5, 0.05), mask(1, 1, 0.1)), "it is shares of the largest that count")
	assert.True(t, slices.Equal(mask(1, 1, 0), mask(1, 1, Lowest)))
	for _, bad := range [][]float32{{1, 1}, {1, 1, 1, 1}, {1, 1, -0.1}, {1, 1, 1.1}, {1, 1, float32(math.NaN())}} {
		assert.Error(t, in.SetRaterWeights(bad), "%v", bad)
	}

	// the weights stand for themselves: log weight is added to the log confidence
	require.NoError(t, in.SetRaterWeights(nil))
	require.NoError(t, in.Encode(t.Context(), noise()))
	confidence := repeat(0.5, in.between.Elements())
	for i := range confidence {
		if i/2%3 == 2 {
			confidence[i] *= 0.1
		}
	}
	require.NoError(t, set.Write(in.between, confidence))
	y, err := in.Recur(t.Context())
	require.NoError(t, err)
	assert.Less(t, distance(y, mask(1, 1, 0.1)), 1e-6)
}

func TestInferenceRefusesASide(t *testing.T) {
	for _, side := range []int{0, -64, 100} {
		_, err := NewInference(t.Context(), reference.Open(), tensor.NewSet(), tiny(t, 1, 1), side)
		assert.ErrorContains(t, err, "multiple of 64")
	}
}
