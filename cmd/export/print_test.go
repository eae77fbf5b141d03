package main

import (
	"math"
	"testing"

	"mrprism/model"
	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"mrprism/weights/format/onnx"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A graph of one function of a number is printed as nodes that compute it. The function takes |x|
// where it is none of x.
func TestScalars(t *testing.T) {
	const height, width, classes = 4, 5, 3
	for _, k := range pointwise.Scalars {
		values := make([]float32, height*width*classes)
		for i := range values {
			if values[i] = 0.3*float32(i) - 8; math.IsNaN(k.Scalar.Value(float64(values[i]))) {
				values[i] *= -1
			}
		}
		name, function := k.Name, func(x *tensor.Tensor) *tensor.Tensor { return pointwise.Apply(k, x) }
		graph := tensor.NewGraph()
		x := graph.Input("x", 1, height, width, classes)
		u := &model.Unrolled{Graph: graph, X: x, Outputs: []model.Output{{Name: "y", Tensor: function(x)}}}
		g := onnx.NewGraph("test")
		outputs, err := newPrinter(g).print(t.Context(), reference.Open(), tensor.NewSet(), u)
		require.NoError(t, err, name)
		g.Output("y", outputs[0])
		got, err := interpret(&g.Model, map[string]array{"x": {[]int{1, classes, height, width}, channelsFirst(values, classes)}})
		require.NoError(t, err, name)
		want := shadertest.Evaluate(t, func(g *tensor.Graph) *tensor.Tensor {
			return function(g.Constant("x", values, 1, height, width, classes))
		})
		assert.Less(t, furthest(t, name, got["y"].values, channelsFirst(want, classes)), 1e-6, name) // ours is read as float32
	}
}

// Inference of every configuration has operators that export writes. Beside functions of one
// number, and those that ONNX has too, export writes no others.
func TestKinds(t *testing.T) {
	found := map[*tensor.Kind]bool{}
	for _, k := range pointwise.Scalars {
		found[k] = true
	}
	for _, name := range []string{"tiny", "tiny-steered", "tiny-evidence", "tiny-agnet", "compact", "mobile", "paper"} {
		c, err := model.NewConfig(name, 3, 2)
		require.NoError(t, err)
		set := model.Variables(c)
		for _, u := range []*model.Unrolled{model.Unroll(c, set, 256, 2, true), model.UnrollEncoder(c, set, 256)} {
			shaders.Portable(u.Graph)
			p := newPrinter(onnx.NewGraph("test"))
			p.trace(u.Graph)
			for _, op := range u.Graph.Ops() {
				if !p.fixed[op.Output().Storage()] {
					found[op.Kind] = true
					assert.NotNil(t, p.kindOf(op).print, "%s has no printer", op.Kind.Name)
				}
			}
		}
	}
	for k := range kinds() {
		assert.True(t, found[k], "no inference has %s", k.Name)
	}
}

// What export cannot write is an error with the operator's name and its layer.
func TestUnprintable(t *testing.T) {
	for want, build := range map[string]func(b *nn.Builder, x *tensor.Tensor) *tensor.Tensor{
		`operator Blur of layer "there"`: func(_ *nn.Builder, x *tensor.Tensor) *tensor.Tensor {
			return pointwise.ReLU(pool.GaussianBlur(x, 1, 3))
		},
		"of one stride": func(b *nn.Builder, x *tensor.Tensor) *tensor.Tensor {
			w := b.Graph.Constant("w", make([]float32, 27), 3, 3, 3, 1)
			return conv.Conv2D(x, w, nil, conv.Window{StrideY: 1, StrideX: 2})
		},
		"whole factors": func(_ *nn.Builder, x *tensor.Tensor) *tensor.Tensor { return pool.Resize(x, 12, 12) },
	} {
		g, set := tensor.NewGraph(), tensor.NewSet()
		x := g.Input("x", 1, 8, 8, 3)
		back := g.Layered("there")
		y := build(&nn.Builder{Graph: g, Set: set}, x)
		back()
		u := &model.Unrolled{Graph: g, X: x, Outputs: []model.Output{{Name: "y", Tensor: y}}}
		_, err := newPrinter(onnx.NewGraph("test")).print(t.Context(), reference.Open(), set, u)
		assert.ErrorContains(t, err, want)
	}
}
