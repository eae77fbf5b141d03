package rivals

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"mrprism/model"
	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wave is what testdata/methods.py calls so: the values of an input or a parameter.
func wave(name string, elements int) []float32 {
	start, shift := 0.0, 0.0
	for _, b := range []byte(name) {
		start += float64(b)
	}
	if strings.HasSuffix(name, "deviation") {
		shift = 1
	}
	values := make([]float32, elements)
	for i := range values {
		values[i] = float32(math.Sin(1.7*float64(i)+start)/2 + shift)
	}
	return values
}

// parts are those parts of methods that are more than heads on the decoder: what they compute of
// inputs.
var parts = map[string]struct {
	raters, classes int
	inputs          map[string][]int
	outputs         func(n *model.Network, in map[string]*tensor.Tensor) map[string]*tensor.Tensor
}{
	"pionono": {3, 2, map[string][]int{"f": {2, 3, 4, 16}, "draws": {2, 24}}, func(n *model.Network, in map[string]*tensor.Tensor) map[string]*tensor.Tensor {
		mean, lower := latentMean(n), latentLower(n)
		z := conv.GroupedLinear(in["draws"], lower, mean)
		return map[string]*tensor.Tensor{"rated": pointwise.Sigmoid(latentHead(n, in["f"], z)), "kl": latentKL(n, mean, lower)}
	}},
	"padl": {3, 2, map[string][]int{"x": {2, 3, 4, 6}}, func(n *model.Network, in map[string]*tensor.Tensor) map[string]*tensor.Tensor {
		p := newPreferences(n, in["x"])
		return map[string]*tensor.Tensor{"meta": p.meta, "metaError": p.metaError, "own": p.own, "ownError": p.ownError}
	}},
	"tab": {2, 1, map[string][]int{"e": {1, 3, 2, 5}, "x": {1, 6, 4, 4}}, func(n *model.Network, in map[string]*tensor.Tensor) map[string]*tensor.Tensor {
		n.ConP[0], n.DivPHeads, n.MaxKeys = 8, 2, 16
		maps := preferenceMaps(n, in["e"])
		mean, deviation, factors := gaussian(n, tabHeads(n, in["x"], maps))
		return map[string]*tensor.Tensor{"maps": maps, "mean": mean, "deviation": deviation, "factors": factors}
	}},
	"mrnet": {3, 1, map[string][]int{"bridge": {2, 3, 2, 4}, "v": {2, 3, 1}, "x": {2, 6, 5, 3}, "coarse": {2, 6, 5, 1}, "raters": {2, 6, 5, 3, 1}}, func(n *model.Network, in map[string]*tensor.Tensor) map[string]*tensor.Tensor {
		y := refine(n, in["x"], pointwise.Sigmoid(in["coarse"]), pointwise.Sigmoid(in["raters"]))
		return map[string]*tensor.Tensor{"heeded": heed(n, "mrnet", in["bridge"], in["v"]), "y": y}
	}},
	"adversary": {1, 2, map[string][]int{"x": {1, 32, 32, 2}, "label": {1, 32, 32, 2}, "present": {1, 1, 2}}, func(n *model.Network, in map[string]*tensor.Tensor) map[string]*tensor.Tensor {
		n.Stem = 1
		s := &model.Step{Graph: n.Graph, Present: in["present"]}
		return map[string]*tensor.Tensor{
			"judged": pointwise.Sigmoid(discriminate(n, "judge", pointwise.Scale(in["x"], 0.02))), "rough": roughness(s, in["x"], in["label"]),
			"band": boundary(in["label"]), "entropy": uncertainty(in["x"]),
		}
	}},
}

// Parts of methods compute what a second writing in PyTorch computes, and so do all their
// gradients.
func TestMethodsAgainstTheTwin(t *testing.T) {
	text, err := os.ReadFile("testdata/methods.json")
	require.NoError(t, err)
	var goldens map[string]struct{ Outputs, Gradients map[string][]float32 }
	require.NoError(t, json.Unmarshal(text, &goldens))
	require.Equal(t, len(parts), len(goldens))
	for name, part := range parts {
		t.Run(name, func(t *testing.T) {
			set, g := tensor.NewSet(), tensor.NewGraph()
			n := &model.Network{Config: model.Config{Raters: part.raters, Classes: part.classes}, Builder: &nn.Builder{Graph: g, Set: set, Training: true}}
			made := map[string]*tensor.Tensor{}
			for name, shape := range part.inputs {
				made[name] = g.Input(name, shape...).Track()
			}
			outputs, loss := part.outputs(n, made), (*tensor.Tensor)(nil)
			for name, y := range outputs {
				weight := g.Constant("seed", wave("seed of "+name, y.Elements()), y.Shape()...)
				term := pointwise.Sum(pointwise.Multiply(y.Keep(), weight))
				if loss != nil {
					term = pointwise.Add(loss, term)
				}
				loss = term
			}
			g.Backward(loss, g.Constant("one", []float32{1}, 1))
			for _, v := range set.Variables(tensor.Parameter) {
				made[v.Name] = g.Variable(v)
			}
			for name, x := range made {
				if goldens[t.Name()[len("TestMethodsAgainstTheTwin/"):]].Gradients[name] != nil {
					x.Gradient().Keep()
				}
			}
			plan, err := shaders.Compile(t.Context(), reference.Open(), set, g)
			require.NoError(t, err)
			for _, v := range set.Variables(tensor.Parameter) {
				require.NoError(t, set.Write(v, wave(v.Name, v.Elements())))
			}
			for name := range part.inputs {
				require.NoError(t, plan.Write(made[name], wave(name, made[name].Elements())))
			}
			require.NoError(t, plan.Run(t.Context()))
			golden := goldens[name]
			require.Len(t, golden.Outputs, len(outputs))
			for name, want := range golden.Outputs {
				requireNear(t, name, want, read(t, plan, outputs[name])[0])
			}
			for name, want := range golden.Gradients {
				require.NotNil(t, made[name], name)
				requireNear(t, "gradient of "+name, want, read(t, plan, made[name].Gradient())[0])
			}
			for _, v := range set.Variables(tensor.Parameter) {
				assert.Contains(t, golden.Gradients, v.Name)
			}
		})
	}
}

// requireNear requires that values differ from others by at most 1e-4 of their norm.
func requireNear(t *testing.T, name string, want, got []float32) {
	t.Helper()
	require.Len(t, got, len(want), name)
	difference := make([]float32, len(want))
	for i := range want {
		difference[i] = got[i] - want[i]
	}
	assert.LessOrEqual(t, norm(difference), 1e-4*norm(want), name)
}
