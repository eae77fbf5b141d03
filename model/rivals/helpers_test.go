package rivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/model"
	"mrprism/shaders"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// alone is the recipe of all methods.
func alone(t *testing.T) model.Recipe {
	t.Helper()
	r, err := model.NewRecipe(model.MaskAlone)
	require.NoError(t, err)
	return r
}

// methodConfig is the tiny network of a method.
func methodConfig(t *testing.T, m *model.Method, raters, classes int) model.Config {
	t.Helper()
	c, err := model.NewConfig("tiny-"+m.Name, raters, classes)
	require.NoError(t, err)
	require.Same(t, m, c.Method)
	_, err = model.NewConfig("tiny-"+m.Name+"-steered", raters, classes)
	require.ErrorContains(t, err, "no configuration is named", "a method ends the name")
	return c
}

// step is a step on two images of a method's tiny network with three raters and two structures.
func step(t *testing.T, m *model.Method, set *tensor.Set) *model.Step {
	t.Helper()
	return model.NewStep(set, methodConfig(t, m, 3, 2), alone(t), 2, 64)
}

// discs is a batch of noise in which rater m draws a disc around the middle whose radius grows with
// m and shrinks with the class.
func discs(s *model.Step, seed uint64) model.Batch {
	r := rand.New(rand.NewPCG(seed, 1))
	b := model.Batch{X: make([]float32, s.X.Elements()), Z: make([]float32, s.Z.Elements()), Valid: ones(s.Valid.Elements()), Diagnosis: make([]float32, s.X.Dim(0))}
	b.Diagnosis[0] = 1
	for i := range b.X {
		b.X[i] = float32(r.NormFloat64())
	}
	side, raters, classes := s.Z.Dim(1), s.Z.Dim(3), s.Z.Dim(4)
	for i := range b.Z {
		k, m, x, y := i%classes, i/classes%raters, i/classes/raters%side, i/classes/raters/side%side
		if math.Hypot(float64(x-side/2), float64(y-side/2)) < float64(side)/4+3*float64(m)-5*float64(k) {
			b.Z[i] = 1
		}
	}
	return b
}

// planOf compiles a step for the reference, with the parameters' initial values.
func planOf(t *testing.T, s *model.Step, set *tensor.Set) *tensor.Plan {
	t.Helper()
	plan, err := shaders.Compile(t.Context(), reference.Open(), set, s.Graph)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	return plan
}

func read(t *testing.T, plan *tensor.Plan, tensors ...*tensor.Tensor) [][]float32 {
	t.Helper()
	values, err := plan.Read(t.Context(), tensors...)
	require.NoError(t, err)
	return values
}

func ones(n int) []float32 { return slices.Repeat([]float32{1}, n) }

func norm(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}
