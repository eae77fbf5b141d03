package rivals

import (
	"math/rand/v2"
	"testing"

	"mrprism/model"
	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Latents learn at their own rate: Adam's first step is the rate, up to its sign.
func TestPiononoLatentsLearnFaster(t *testing.T) {
	c, set, r := methodConfig(t, &pionono, 3, 1), tensor.NewSet(), alone(t)
	s := model.NewStep(set, c, r, 2, 64)
	s.Backward(s.Loss())
	o := adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-12}
	update := s.Update(set, o, 0)
	plan, err := shaders.Compile(t.Context(), reference.Open(), set, s.Graph)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	names := map[string]float64{"pionono.mean": 0.02, "pionono.deviation": 0.02, "pionono.head.0.latent.weight": 0.002}
	before := map[string][]float32{}
	for name := range names {
		before[name] = valuesOf(t, set, name)
	}
	b := discs(s, 3)
	b.Draw(s, r, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, s.Write(plan, b, 1))
	require.NoError(t, update.Write(plan, adam.Schedule(o, 1, r.Rate, 1, 0), nil))
	require.NoError(t, plan.Run(t.Context()))
	for name, rate := range names {
		furthest := 0.0
		for i, v := range valuesOf(t, set, name) {
			furthest = max(furthest, float64(v-before[name][i]), float64(before[name][i]-v))
		}
		assert.InEpsilon(t, rate, furthest, 0.01, name)
	}
}

// The logits of five draws are averaged for each rater and structure.
func TestPiononoMeanDraw(t *testing.T) {
	set, g := tensor.NewSet(), tensor.NewGraph()
	n := &model.Network{Config: model.Config{Raters: 3, Classes: 2}, Builder: &nn.Builder{Graph: g, Set: set}}
	const label = 3 * 2
	logits := g.Input("logits", 1, 1, 2, piononoDraws*3, 2)
	mean := meanDraw(n, logits).Keep()
	require.Equal(t, []int{1, 1, 2, 3, 2}, mean.Shape())
	plan, err := shaders.Compile(t.Context(), reference.Open(), set, g)
	require.NoError(t, err)
	values, want := make([]float32, logits.Elements()), make([]float32, mean.Elements())
	for i := range values {
		values[i] = float32(i * i)
		want[i/(piononoDraws*label)*label+i%label] += values[i] / piononoDraws
	}
	require.NoError(t, plan.Write(logits, values))
	require.NoError(t, plan.Run(t.Context()))
	assert.InDeltaSlice(t, want, read(t, plan, mean)[0], 1e-3)
}

// The features are normalised, so that a decoder's maps of any size balance the latents.
func TestPiononoFeatures(t *testing.T) {
	c, set, g := methodConfig(t, &pionono, 3, 1), tensor.NewSet(), tensor.NewGraph()
	n := &model.Network{Config: c, Builder: &nn.Builder{Graph: g, Set: set, Training: true}}
	last := g.Input("last", 1, 4, 4, 16)
	f := latentFeatures(n, model.Maps{Decoder: [4]*tensor.Tensor{3: last}}).Keep()
	plan, err := shaders.Compile(t.Context(), reference.Open(), set, g)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	features := func(size float32) []float32 {
		values := wave("last", last.Elements())
		for i := range values {
			values[i] *= size
		}
		require.NoError(t, plan.Write(last, values))
		require.NoError(t, plan.Run(t.Context()))
		return read(t, plan, f)[0]
	}
	assert.InDeltaSlice(t, features(1), features(10), 1e-3)
}
