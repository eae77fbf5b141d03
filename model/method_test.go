package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mrprism/internal/compute/tensor"

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

// The gradient of every term of every method's loss agrees with the term: along the gradient by the
// parameters after the decoder, the term changes as the gradient's norm says. A label is missing.
func TestMethodsAgainstFiniteDifferences(t *testing.T) {
	for _, m := range Methods {
		terms := len(NewStep(tensor.NewSet(), methodConfig(t, m, 3, 2), recipe(t, MaskAlone), 2, 64).Terms[0].Method)
		for term := range terms {
			c, set, r := methodConfig(t, m, 3, 2), tensor.NewSet(), recipe(t, MaskAlone)
			s := NewStep(set, c, r, 2, 64)
			of := s.Terms[0].Method[term]
			value := of.Value.Keep()
			s.Backward(value)
			var parameters []*tensor.Variable
			var gradients []*tensor.Tensor
			for _, v := range set.Variables(tensor.Parameter) {
				if x := s.Graph.Variable(v); x.HasGradient() && !strings.HasPrefix(v.Name, "encoder.") && !strings.HasPrefix(v.Name, "conp.stage") {
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
				return float64(read(t, plan, value)[0][0])
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
			assert.InEpsilon(t, length, (moved(step)-moved(-step))/(2*step), 0.01, "%s: %s", m.Name, of.Name)
		}
	}
}
