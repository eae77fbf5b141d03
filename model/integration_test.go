package model

import (
	"math"
	"testing"

	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A step of the ConvLSTM, in numbers: with weights of zero the gates are those of the biases.
func TestLSTMStep(t *testing.T) {
	set, g := tensor.NewSet(), tensor.NewGraph()
	n := &Network{Builder: &nn.Builder{Graph: g, Set: set}}
	x, state := g.Input("x", 1, 2, 2, 1), g.Input("state", 1, 2, 2, 1)
	y := n.LSTMStep("lstm", x, state, state).Keep()
	plan, err := shaders.Compile(t.Context(), reference.Open(), set, g)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	biases := map[string]float32{"input": 0.3, "forget": -0.4, "output": 1.1, "candidate": 0.7}
	for gate, bias := range biases {
		weight := set.Lookup("lstm." + gate + ".weight")
		require.Equal(t, []int{3, 3, 2, 1}, weight.Shape)
		require.NoError(t, set.Write(weight, make([]float32, weight.Elements())))
		require.NoError(t, set.Write(set.Lookup("lstm."+gate+".bias"), []float32{bias}))
	}
	require.NoError(t, plan.Write(x, []float32{1, 2, 3, 4}))
	require.NoError(t, plan.Write(state, []float32{0, 1, -1, 0.5}))
	require.NoError(t, plan.Run(t.Context()))
	sigma := func(gate string) float64 { return pointwise.Logistic(float64(biases[gate])) }
	for i, cell := range []float64{0, 1, -1, 0.5} {
		cell = sigma("forget")*cell + sigma("input")*math.Tanh(float64(biases["candidate"]))
		assert.InDelta(t, sigma("output")*math.Tanh(cell), read(t, plan, y)[0][i], 1e-6)
	}
}
