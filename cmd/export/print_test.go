package main

import (
	"testing"

	"mrprism/internal/compute/gpu/reference"
	"mrprism/internal/compute/nn"
	"mrprism/internal/compute/tensor"
	"mrprism/internal/format/onnx"
	"mrprism/model"
	"mrprism/shaders"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Inference of every configuration has operators that export writes, and export writes no others.
func TestKinds(t *testing.T) {
	found := map[string]bool{}
	for _, name := range []string{"tiny", "tiny-steered", "compact", "paper"} {
		c, err := model.NewConfig(name, 3, 2)
		require.NoError(t, err)
		set := model.Variables(c)
		for _, u := range []*model.Unrolled{model.Unroll(c, set, 256, 2, true), model.UnrollEncoder(c, set, 256)} {
			shaders.Portable(u.Graph, true)
			p := newPrinter(onnx.NewGraph("test"), false)
			p.trace(u.Graph)
			for _, op := range u.Graph.Ops() {
				if !p.fixed[op.Output().Storage()] {
					found[op.Kind.Name] = true
				}
			}
		}
	}
	delete(found, "Concat") // of keys and values: attention reads them before
	for name := range found {
		assert.NotNil(t, kinds()[name].print, "%s has no printer", name)
	}
	for name := range kinds() {
		assert.True(t, found[name], "no inference has %s", name)
	}
}

// What export cannot write is an error with the operator's name and its layer.
func TestUnprintable(t *testing.T) {
	for want, build := range map[string]func(b *nn.Builder, x *tensor.Tensor) *tensor.Tensor{
		`operator Blur of layer "there"`: func(_ *nn.Builder, x *tensor.Tensor) *tensor.Tensor {
			return pointwise.ReLU(pool.GaussianBlur(x, 1, 3))
		},
		"one stride and one padding": func(b *nn.Builder, x *tensor.Tensor) *tensor.Tensor {
			w := b.Graph.Constant("w", make([]float32, 27), 3, 3, 3, 1)
			return conv.Conv2D(x, w, nil, conv.Window{StrideY: 1, StrideX: 2})
		},
		"whole factors": func(_ *nn.Builder, x *tensor.Tensor) *tensor.Tensor { return pool.Resize(x, 12, 12) },
		"a sigmoid":     func(_ *nn.Builder, x *tensor.Tensor) *tensor.Tensor { return pointwise.ClampLog(x, 1e-3, 1) },
	} {
		g, set := tensor.NewGraph(), tensor.NewSet()
		x := g.Input("x", 1, 8, 8, 3)
		back := g.Layered("there")
		y := build(&nn.Builder{Graph: g, Set: set}, x)
		back()
		u := &model.Unrolled{Graph: g, X: x, Outputs: []model.Output{{Name: "y", Tensor: y}}}
		_, err := newPrinter(onnx.NewGraph("test"), false).print(t.Context(), reference.Open(), set, u)
		assert.ErrorContains(t, err, want)
	}
}
