package shaders

import (
	"math"
	"testing"

	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
)

// Attention is in int8 where the ranges of queries, keys and values are known, all three. Watch
// receives these and the inputs of convolutions.
func TestRewriteToInt8(t *testing.T) {
	build := func(g *rewriteGraph) []*tensor.Tensor {
		defer g.Layered("a")()
		x := g.in(1, 4, 4, 8)
		q := conv.Linear(pointwise.AddBroadcast(x, g.table(1, 4, 4, 8)), g.param("q", 8, 8), nil)
		kv := pointwise.Concat(conv.Linear(x, g.param("k", 8, 8), nil), conv.Linear(x, g.param("v", 8, 8), nil))
		y := attention.Attention(q.Reshape(1, 16, 8), kv.Reshape(1, 16, 16), 2).Reshape(1, 4, 4, 8)
		return []*tensor.Tensor{conv.Conv2D(y, g.param("w", 3, 3, 8, 8), nil, conv.Square(1, 1))}
	}
	kinds := func(q Int8) (found []string) {
		g := newRewriteGraph(t)
		build(g)[0].Keep()
		q.Rewrite(g.Graph)
		for _, op := range g.Ops() {
			found = append(found, op.Kind.Name)
		}
		return found
	}
	watched := map[string]float32{}
	kinds(Int8{Watch: func(layer string, _ *tensor.Tensor) { watched[layer] = 12 }})
	assert.Equal(t, map[string]float32{"a": 12, "a.queries": 12, "a.keys": 12, "a.values": 12}, watched)
	assert.Subset(t, kinds(Int8{Ranges: watched}), []string{"AttentionInt8", "Conv2DInt8"})
	for _, missing := range []string{"a.queries", "a.keys", "a.values"} {
		some := map[string]float32{"a": 12}
		for layer, r := range watched {
			if layer != missing {
				some[layer] = r
			}
		}
		assert.NotContains(t, kinds(Int8{Ranges: some}), "AttentionInt8", missing)
	}
	g := newRewriteGraph(t)
	results := build(g)
	names, tensors := []string{}, results
	Int8{Watch: func(layer string, x *tensor.Tensor) { names, tensors = append(names, layer), append(tensors, x.Keep()) }}.Rewrite(g.Graph)
	exact, _ := g.run(tensors)
	off := func(factor float32) float64 { // the results' error by their size, for factor times the true ranges
		ranges := map[string]float32{}
		for i, layer := range names {
			for _, v := range exact[1+i] {
				ranges[layer] = max(ranges[layer], factor*max(v, -v))
			}
		}
		g := newRewriteGraph(t)
		got, _ := g.run(build(g), Int8{Ranges: ranges}.forDevice(false)...)
		difference, size := 0.0, 0.0
		for i, v := range exact[0] {
			difference += math.Abs(float64(got[0][i] - v))
			size += math.Abs(float64(v))
		}
		return difference / size
	}
	assert.Less(t, off(1), 0.1, "steps of 1/127 of the largest value, in scores that reach ±60 and decide between keys")
	assert.Greater(t, off(0.5), 0.5, "ranges of half the largest value cut off what lies beyond")
}
