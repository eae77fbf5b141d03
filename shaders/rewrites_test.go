package shaders

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/internal/compute/gpu/reference"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rewriteGraph builds operators on inputs and parameters of random values.
type rewriteGraph struct {
	*tensor.Graph
	t          *testing.T
	set        *tensor.Set
	values     map[*tensor.Tensor][]float32
	parameters map[*tensor.Variable][]float32
	random     *rand.Rand
}

func newRewriteGraph(t *testing.T) *rewriteGraph {
	return &rewriteGraph{
		tensor.NewGraph(), t, tensor.NewSet(), map[*tensor.Tensor][]float32{}, map[*tensor.Variable][]float32{}, rand.New(rand.NewPCG(1, 2)),
	}
}

func (g *rewriteGraph) draw(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(g.random.NormFloat64())
	}
	return values
}

func (g *rewriteGraph) in(shape ...int) *tensor.Tensor {
	x := g.Input("x", shape...)
	g.values[x] = g.draw(x.Elements())
	return x
}

func (g *rewriteGraph) param(name string, shape ...int) *tensor.Tensor {
	v := g.set.Variable(tensor.Parameter, name, shape...)
	g.parameters[v] = g.draw(v.Elements())
	return g.Variable(v)
}

func (g *rewriteGraph) table(shape ...int) *tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return g.Constant("table", g.draw(n), shape...)
}

// Run compiles the graph with the rewrites of the phases and reads the results on the reference.
func (g *rewriteGraph) run(results []*tensor.Tensor, phases ...[]tensor.Rewrite) (values [][]float32, dispatches int) {
	for _, y := range results {
		y.Keep()
	}
	plan, err := tensor.Compile(g.t.Context(), reference.Open(), g.set, g.Graph, phases...)
	require.NoError(g.t, err)
	defer plan.Release()
	for v, x := range g.parameters {
		require.NoError(g.t, g.set.Write(v, x))
	}
	for x, v := range g.values {
		require.NoError(g.t, plan.Write(x, v))
	}
	require.NoError(g.t, plan.Run(g.t.Context()))
	values, err = plan.Read(g.t.Context(), results...)
	require.NoError(g.t, err)
	g.set.Release()
	return values, plan.Dispatches()
}

// Every rewrite before the fusions gives what the operators give one by one, in the dispatches that
// it promises. The fusions have tests beside their operators: TestConvolutionAbsorbs and the like.
func TestRewrites(t *testing.T) {
	for _, c := range []struct {
		name          string
		build         func(g *rewriteGraph) []*tensor.Tensor
		apart, joined int // dispatches of a run, without what depends on parameters alone
	}{
		{"an operator again", func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(1, 4, 4, 8)
			return []*tensor.Tensor{pointwise.Add(pointwise.GELU(pool.Average(x, 2, 2, conv.Square(2, 0))), pointwise.ReLU(pool.Average(x, 2, 2, conv.Square(2, 0))))}
		}, 5, 4},
		{"batch norm and ReLU", func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(1, 3, 3, 4)
			variance := g.Constant("variance", []float32{1, 2, 3, 4}, 4)
			return []*tensor.Tensor{pointwise.ReLU(norm.BatchNorm(x, g.param("s", 4), g.param("b", 4), g.param("m", 4), variance, false, 1e-5, 0.1))}
		}, 2, 1},
		{"pool of a sum with a table", func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{pool.Average(pointwise.AddBroadcast(g.in(1, 4, 6, 4), g.table(1, 4, 6, 4)), 2, 2, conv.Square(2, 0))}
		}, 2, 2},
		{"keys and values", func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(2, 3, 5, 8)
			key := conv.Linear(pointwise.AddBroadcast(x, g.table(1, 3, 5, 8)), g.param("k", 8, 6), nil)
			return []*tensor.Tensor{pointwise.Concat(key, conv.Linear(x, g.param("v", 8, 6), g.param("vb", 6)))}
		}, 4, 2}, // one map, and the table for both images
		{"keys and values of one image", func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(1, 3, 5, 8)
			key := conv.Linear(pointwise.AddBroadcast(x, g.table(1, 3, 5, 8)), g.param("k", 8, 6), nil)
			return []*tensor.Tensor{pointwise.Concat(key, conv.Linear(x, g.param("v", 8, 6), g.param("vb", 6)))}
		}, 4, 1},
		{"convolution of maps side by side", func(g *rewriteGraph) []*tensor.Tensor {
			both := pointwise.Concat(g.in(1, 4, 4, 8), g.in(1, 4, 4, 12))
			return []*tensor.Tensor{conv.Conv2D(both, g.param("w", 3, 3, 20, 8), g.param("b", 8), conv.Square(1, 1)), conv.Linear(both, g.param("l", 20, 4), g.param("lb", 4))}
		}, 3, 4},
		{"product of two maps", func(g *rewriteGraph) []*tensor.Tensor {
			y := conv.Linear(g.in(5, 4), g.param("a", 4, 8), g.param("ab", 8))
			return []*tensor.Tensor{conv.Linear(y, g.param("b", 8, 6), g.param("bb", 6))}
		}, 2, 1},
		{"a map that narrows stays", func(g *rewriteGraph) []*tensor.Tensor {
			y := conv.Linear(g.in(5, 8), g.param("a", 8, 4), nil)
			return []*tensor.Tensor{conv.Linear(y, g.param("b", 4, 6), nil)}
		}, 2, 2},
		{"queries beside another map", func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(1, 3, 5, 8)
			other := conv.Linear(x, g.param("o", 8, 10), g.param("ob", 10))
			return []*tensor.Tensor{other, conv.Linear(pointwise.AddBroadcast(x, g.table(1, 3, 5, 8)), g.param("q", 8, 6), nil)}
		}, 3, 1},
		{"queries of a map, and that map", func(g *rewriteGraph) []*tensor.Tensor {
			y := conv.Linear(g.in(1, 3, 5, 8), g.param("a", 8, 8), g.param("ab", 8))
			return []*tensor.Tensor{y, conv.Linear(pointwise.AddBroadcast(y, g.table(1, 3, 5, 8)), g.param("q", 8, 6), g.param("qb", 6))}
		}, 3, 1},
		{"queries before another map", func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(1, 3, 5, 8)
			q := conv.Linear(pointwise.AddBroadcast(x, g.table(1, 3, 5, 8)), g.param("q", 8, 6), nil)
			return []*tensor.Tensor{pointwise.GELU(q), conv.Linear(x, g.param("o", 8, 10), nil)}
		}, 4, 2},
	} {
		g := newRewriteGraph(t)
		want, apart := g.run(c.build(g))
		g = newRewriteGraph(t)
		got, joined := g.run(c.build(g), Int8{}.phases(false)...)
		assert.Equal(t, []int{c.apart, c.joined}, []int{apart, joined}, c.name)
		for i := range want {
			assert.InDeltaSlice(t, want[i], got[i], 1e-5, c.name)
		}
	}
}

// For other runtimes batch norm and the attention's factor are in the parameters of the layers
// before them.
func TestPortable(t *testing.T) {
	build := func(g *rewriteGraph) []*tensor.Tensor {
		variance := g.Constant("variance", []float32{1, 2, 3, 4, 5, 6, 7, 8}, 8)
		normalised := func(name string, x *tensor.Tensor) *tensor.Tensor {
			return norm.BatchNorm(x, g.param(name+"s", 8), g.param(name+"b", 8), g.param(name+"m", 8), variance, false, 1e-5, 0.1)
		}
		e := pointwise.ReLU(normalised("1", conv.Conv2D(g.in(1, 4, 4, 3), g.param("w", 3, 3, 3, 8), nil, conv.Square(1, 1))))
		x := normalised("2", conv.Conv2D(pointwise.Concat(e, g.in(1, 4, 4, 8)), g.param("c", 3, 3, 16, 8), g.param("cb", 8), conv.Square(1, 1)))
		kv := pointwise.Concat(conv.Linear(x, g.param("k", 8, 8), nil), conv.Linear(x, g.param("v", 8, 8), nil))
		return []*tensor.Tensor{attention.Attention(conv.Linear(x, g.param("q", 8, 8), g.param("qb", 8)).Reshape(1, 16, 8), kv.Reshape(1, 16, 16), 2)}
	}
	g := newRewriteGraph(t)
	want, _ := g.run(build(g))
	for _, scaled := range []bool{false, true} {
		g = newRewriteGraph(t)
		got, _ := g.run(build(g), portable(scaled)...)
		assert.InDeltaSlice(t, want[0], got[0], 1e-5)
		g = newRewriteGraph(t)
		y := build(g)[0]
		Portable(g.Graph, scaled)
		for _, op := range g.Ops() {
			assert.NotEqual(t, "BatchNorm", op.Kind.Name)
			if op.Output().Storage() == y.Storage() {
				assert.Equal(t, scaled, op.Attributes.(*attention.Params).Scale == 1)
				assert.EqualValues(t, 2, op.Attributes.(*attention.Params).Heads)
			}
		}
	}
}

// Attention is in int8 where the ranges of queries, keys and values are known, all three. Watch is
// told of them, and of what convolutions are given.
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
	want, _ := g.run(build(g))
	g = newRewriteGraph(t)
	got, _ := g.run(build(g), Int8{Ranges: watched}.phases(false)...)
	off, size := 0.0, 0.0
	for i := range want[0] {
		off += math.Abs(float64(got[0][i] - want[0][i]))
		size += math.Abs(float64(want[0][i]))
	}
	assert.Less(t, off/size, 0.15, "steps of 12/127 in keys, queries, values and sums of 72 products")
	assert.Positive(t, off)
}

// Maps between the inputs and the first operator that needs F32 are stored as halves; parameters
// are rounded once.
func TestStoreHalves(t *testing.T) {
	g := newRewriteGraph(t)
	x, w := g.in(1, 4, 4, 8), g.param("w", 8, 8)
	y := pointwise.ReLU(conv.Linear(x, w, g.param("b", 8)))
	z := conv.Linear(pointwise.AddBroadcast(y, conv.Linear(g.table(1, 4, 4, 8), w, nil)), w, nil)
	loss := pointwise.Sum(pointwise.Sigmoid(z))
	StoreHalves(g.Graph)
	var kinds []string
	for _, op := range g.Ops() {
		kinds = append(kinds, op.Kind.Name)
	}
	halves := func(kinds []string) int {
		return len(slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return k != "Halve" }))
	}
	assert.Equal(t, 4, halves(kinds), "x, w, b and the table: %v", kinds)
	assert.Contains(t, kinds, "Widen")
	assert.Equal(t, []string{"f16", "f16", "f32"}, []string{y.Type().String(), z.Type().String(), loss.Type().String()})
}
