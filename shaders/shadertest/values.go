package shadertest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// Probability is a value well inside (0, 1).
func Probability(_, _ int, r *rand.Rand) float64 { return 0.05 + 0.9*r.Float64() }

// ClearOf draws normal values with a deviation, away from a function's kinks: within 5 · 2⁻¹⁰ · |k|
// of a kink k, finite differences and halves may fall on its other side.
func ClearOf(deviation float64, kinks ...float64) func(_, _ int, r *rand.Rand) float64 {
	return func(_, _ int, r *rand.Rand) float64 {
		for {
			v := deviation * r.NormFloat64()
			if !slices.ContainsFunc(kinks, func(k float64) bool { return math.Abs(v-k) <= 0.005*(2+math.Abs(k)) }) {
				return v
			}
		}
	}
}

// OneMissing is validity (B, M, K) in which rater 1 of image 0 did not label the first structure.
func OneMissing(g *tensor.Graph, batch, raters, classes int) *tensor.Tensor {
	v := make([]float32, batch*raters*classes)
	for i := range v {
		v[i] = 1
	}
	v[classes] = 0
	return g.Constant("valid", v, batch, raters, classes)
}

// Evaluate runs a graph without inputs on the reference.
func Evaluate(t *testing.T, build func(g *tensor.Graph) *tensor.Tensor) []float32 {
	t.Helper()
	g := tensor.NewGraph()
	y := build(g).Keep()
	plan, err := shaders.Compile(t.Context(), reference.Open(), tensor.NewSet(), g)
	require.NoError(t, err)
	require.NoError(t, plan.Run(t.Context()))
	values, err := plan.Read(t.Context(), y)
	require.NoError(t, err)
	return values[0]
}

// Far fills the inputs of a batch norm with the hard case for variances: x of deviation 1 about 3.
// The other inputs are positive, as variances are.
func Far(input, _ int, r *rand.Rand) float64 {
	if input == 0 {
		return 3 + r.NormFloat64()
	}
	return 0.5 + r.Float64()
}

// BatchNormReLU is ReLU of BatchNorm, which the rewrites make one operator.
func BatchNormReLU(x, scale, bias, runningMean, runningVariance *tensor.Tensor, training bool, eps, momentum float32) *tensor.Tensor {
	return pointwise.ReLU(norm.BatchNorm(x, scale, bias, runningMean, runningVariance, training, eps, momentum))
}

// BatchNormSum is ReLU of the sum of BatchNorm and x, which the rewrites make one operator in training.
func BatchNormSum(x, scale, bias, runningMean, runningVariance *tensor.Tensor, training bool, eps, momentum float32) *tensor.Tensor {
	return pointwise.ReLU(pointwise.Add(norm.BatchNorm(x, scale, bias, runningMean, runningVariance, training, eps, momentum), x))
}
