package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mrprism/internal/compute/gpu/reference"
	"mrprism/internal/compute/nn"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders"
	"mrprism/shaders/pointwise"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// methodConfig is the tiny network of a method.
func methodConfig(t *testing.T, m *Method, raters, classes int) Config {
	t.Helper()
	c, err := NewConfig("tiny-"+m.Name, raters, classes)
	require.NoError(t, err)
	require.Same(t, m, c.Method)
	return c
}

// The gradient of every term of every method's loss agrees with the term, by the parameters after the
// decoder.
func TestMethodsAgainstFiniteDifferences(t *testing.T) {
	for _, m := range Methods {
		terms := len(NewStep(tensor.NewSet(), methodConfig(t, m, 3, 2), recipe(t, MaskAlone), 2, 64).Terms[0].Method)
		for term := range terms {
			c, set, r := methodConfig(t, m, 3, 2), tensor.NewSet(), recipe(t, MaskAlone)
			s := NewStep(set, c, r, 2, 64)
			of := s.Terms[0].Method[term]
			requireSlope(t, s, set, r, of.Value, func(name string) bool {
				return !strings.HasPrefix(name, "encoder.") && !strings.HasPrefix(name, "conp.stage")
			})
		}
	}
}

// requireSlope requires that a loss changes along its gradient, by the chosen parameters, as the
// gradient's norm says. A label is missing.
func requireSlope(t *testing.T, s *Step, set *tensor.Set, r Recipe, loss *tensor.Tensor, chosen func(name string) bool) {
	t.Helper()
	s.Backward(loss.Keep())
	var parameters []*tensor.Variable
	var gradients []*tensor.Tensor
	for _, v := range set.Variables(tensor.Parameter) {
		if x := s.Graph.Variable(v); x.HasGradient() && chosen(v.Name) {
			parameters, gradients = append(parameters, v), append(gradients, x.Gradient().Keep())
		}
	}
	plan := s.running(t, set)
	b := discs(s, 3)
	b.Valid[1] = 0
	b.Draw(s, r, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, s.Write(plan, b, 1))

	at := func() float64 {
		require.NoError(t, plan.Run(t.Context()))
		return float64(read(t, plan, loss)[0][0])
	}
	at()
	slopes, length := read(t, plan, gradients...), 0.0
	for _, g := range slopes {
		length += norm(g) * norm(g)
	}
	require.Positive(t, length)
	length = math.Sqrt(length)
	values, err := set.Read(t.Context(), parameters...)
	require.NoError(t, err)
	const step = 1e-2
	moved := func(by float64) float64 {
		for i, v := range parameters {
			x := slices.Clone(values[i])
			for j, g := range slopes[i] {
				x[j] += float32(by * float64(g) / length)
			}
			require.NoError(t, set.Write(v, x))
		}
		return at()
	}
	assert.InEpsilon(t, length, (moved(step)-moved(-step))/(2*step), 0.01, "%v", loss)
}

// A step of the ConvLSTM, in numbers: with weights of zero the gates are those of the biases.
func TestLSTMStep(t *testing.T) {
	set, g := tensor.NewSet(), tensor.NewGraph()
	n := &Network{Builder: &nn.Builder{Graph: g, Set: set}}
	x, state := g.Input("x", 1, 2, 2, 1), g.Input("state", 1, 2, 2, 1)
	y := n.lstmStep("lstm", x, state, state).Keep()
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

// Both integrations that replace attention learn, and their names lead back to them.
func TestIntegrations(t *testing.T) {
	for _, name := range []string{"concat", "convlstm"} {
		c, err := NewConfig("tiny-"+name+"-steered", 3, 2)
		require.NoError(t, err)
		parsed, err := ParseIntegration(name)
		require.NoError(t, err)
		require.Equal(t, parsed, c.Integration)
		r, set := recipe(t, "recurrent"), tensor.NewSet()
		s := NewStep(set, c, r, 2, 64)
		requireSlope(t, s, set, r, s.Terms[1].Mask, func(name string) bool {
			return strings.Contains(name, ".concat.") || strings.Contains(name, ".lstm.")
		})
		require.Nil(t, set.Lookup("conp.stage1.attention.query.weight"))
	}
	_, err := ParseIntegration("sum")
	require.ErrorContains(t, err, "use attention, concat or convlstm")
}
