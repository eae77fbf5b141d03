package rivals

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"mrprism/model"
	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The guided filter, and its gradients by all that goes in, are those of PyTorch, which solves the
// least squares of each window (testdata/guided_filter.py).
func TestGuidedFilterAgainstPyTorch(t *testing.T) {
	data, err := os.ReadFile("testdata/guided_filter.json")
	require.NoError(t, err)
	var shape struct{ Shape []int }
	require.NoError(t, json.Unmarshal(data, &shape))
	golden := map[string][]float32{}
	require.NoError(t, json.Unmarshal(data, &golden))
	large := slices.Clone(shape.Shape)
	large[1], large[2] = 2*large[1], 2*large[2]
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		g, set := tensor.NewGraph(), tensor.NewSet()
		parameter := func(name string, shape ...int) *tensor.Tensor {
			return g.Variable(set.Variable(tensor.Parameter, name, shape...))
		}
		names := []string{"o", "small", "guide", "t"}
		in := []*tensor.Tensor{parameter("o", shape.Shape...), parameter("small", shape.Shape...), parameter("guide", large...), parameter("t", shape.Shape...)}
		y := guidedFilter(in[0], in[1], in[2], in[3]).Keep()
		one := g.Constant("one", []float32{1}, 1)
		g.Backward(pointwise.Sum(pointwise.Multiply(y, g.Constant("factor", golden["factor"], large...))), one)
		var gradients []*tensor.Tensor
		for _, x := range in {
			gradients = append(gradients, x.Gradient().Keep())
		}
		plan, err := shaders.Compile(t.Context(), d, set, g)
		require.NoError(t, err)
		defer plan.Release()
		for _, name := range names {
			require.NoError(t, set.Write(set.Lookup(name), golden[name]))
		}
		require.NoError(t, plan.Run(t.Context()))
		assert.InDeltaSlice(t, golden["result"], read(t, plan, y)[0], 2e-4)
		for i, gradient := range read(t, plan, gradients...) {
			for j, want := range golden["d"+names[i]] {
				assert.InDelta(t, want, gradient[j], 1e-3*max(1, float64(max(want, -want))), "by %s[%d]", names[i], j)
			}
		}
	})
}

// AG-Net's mask is its last side output. The other three only help in training.
func TestAGNetShowsItsLastSide(t *testing.T) {
	c, set := methodConfig(t, &agNet, 3, 2), tensor.NewSet()
	for _, v := range model.Variables(c).Variables() {
		assert.False(t, strings.Contains(v.Name, ".side"), v.Name)
	}
	s := model.NewStep(set, c, alone(t), 2, 64)
	terms := s.Terms[0].Method
	last, y := terms[len(terms)-1], s.Recurrence[0].Y.Keep()
	require.Equal(t, "side4", last.Name)
	last.Value.Keep()
	plan := planOf(t, s, set)
	b := discs(s, 3)
	b.Draw(s, alone(t), rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, s.Write(plan, b, 1))
	require.NoError(t, plan.Run(t.Context()))
	loss := 0.
	for i, p := range read(t, plan, y)[0] { // against the mean vote, a mean over pixels and images
		inside := min(max(float64(p), model.Lowest), 1-model.Lowest)
		vote, pixel, k := 0., i/2, i%2
		for m := range 3 {
			vote += float64(b.Z[(pixel*3+m)*2+k]) / 3
		}
		loss -= (vote*math.Log(inside) + (1-vote)*math.Log(1-inside)) / (2 * 64 * 64)
	}
	assert.InDelta(t, loss, read(t, plan, last.Value)[0][0], 1e-4)
}
