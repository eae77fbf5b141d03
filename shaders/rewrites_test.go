package shaders

import (
	"math/rand/v2"
	"strings"
	"testing"

	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rewriteGraph builds operators on inputs and parameters of random values, the same in every graph.
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

// whole is an input of whole numbers up to most, times step. 127 and 127 step are among them, for
// each of the last extent.
func (g *rewriteGraph) whole(most int, step float32, shape ...int) *tensor.Tensor {
	x := g.in(shape...)
	for i := range g.values[x] {
		g.values[x][i] = float32(g.random.IntN(2*most+1)-most) * step
		if i < x.Dim(-1) {
			g.values[x][i] = 127 * step
		}
	}
	return x
}

// normalised is batch norm by running statistics.
func (g *rewriteGraph) normalised(name string, x *tensor.Tensor) *tensor.Tensor {
	channels := x.Dim(-1)
	variance := make([]float32, channels)
	for i := range variance {
		variance[i] = float32(i + 1)
	}
	return norm.BatchNorm(x, g.param(name+"scale", channels), g.param(name+"shift", channels), g.param(name+"mean", channels),
		g.Constant("variance", variance, channels), false, 1e-5, 0.1)
}

// of is batch norm by the statistics of x.
func (g *rewriteGraph) of(x *tensor.Tensor) *tensor.Tensor {
	n := x.Dim(-1)
	return norm.BatchNorm(x, g.param("scale", n), g.param("shift", n), g.param("mean", n), g.param("variance", n), true, 1e-5, 0.1)
}

// kinds names the kinds of the operators, in their order.
func (g *rewriteGraph) kinds() string {
	var names []string
	for _, op := range g.Ops() {
		names = append(names, op.Kind.Name)
	}
	return strings.Join(names, " ")
}

func (g *rewriteGraph) table(shape ...int) *tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return g.Constant("table", g.draw(n), shape...)
}

// run compiles the graph with the rules of the phases and reads the results on the reference.
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

// examples are graphs that one rule changes, by the rule's name.
var examples = map[string][]struct {
	build  func(g *rewriteGraph) []*tensor.Tensor
	first  []string // rules that make the pattern
	before string   // the kinds of the operators, before the rule and after it
	after  string
}{
	"BatchNorm(Conv2D | ConvTranspose2x2 | Linear) → the latter by scaled parameters": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{g.normalised("n", conv.Conv2D(g.in(1, 4, 4, 3), g.param("w", 3, 3, 3, 8), g.param("b", 8), conv.Square(1, 1)))}
		},
		before: "Conv2D RunningStatistics BatchNorm", after: "RunningStatistics ScaleAndShift ScaleShift Slice Concat ScaleShift Conv2D",
	}, {
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{g.normalised("n", conv.ConvTranspose2x2(g.in(1, 4, 4, 3), g.param("w", 2, 2, 3, 8), g.param("b", 8)))}
		},
		before: "ConvTranspose2x2 RunningStatistics BatchNorm", after: "RunningStatistics ScaleAndShift ScaleShift Slice Concat ScaleShift ConvTranspose2x2",
	}, {
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{g.normalised("n", conv.Linear(g.in(1, 4, 4, 3), g.param("w", 3, 8), nil))}
		},
		before: "Linear RunningStatistics BatchNorm", after: "RunningStatistics ScaleAndShift ScaleShift Slice Concat ScaleShift Linear",
	}},
	"Attention(q) → Attention(Scale(q)) by the factor 1": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{attention.Attention(g.in(1, 9, 8), g.in(1, 7, 16), 2)}
		},
		before: "Attention", after: "Scale Attention",
	}},
	"Attention → AttentionInt8": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			defer g.Layered("layer")()
			kv := pointwise.Concat(g.whole(127, 1./64, 1, 7, 8), g.whole(127, 1./32, 1, 7, 8))
			return []*tensor.Tensor{attention.Attention(g.whole(127, 1./256, 1, 9, 8), kv, 2)}
		},
		before: "Concat Attention", after: "Scale Scale Concat Quantize Quantize AttentionInt8",
	}},
	"Scale(Linear(x)) → Linear(x) by scaled parameters": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{pointwise.Scale(conv.Linear(g.in(5, 4), g.param("w", 4, 8), g.param("b", 8)), 3)}
		},
		before: "Linear Scale", after: "Scale Scale Linear",
	}},
	"an operator again → the one before": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(5)
			return []*tensor.Tensor{pointwise.Add(pointwise.GELU(x), pointwise.GELU(x))}
		},
		before: "GELU GELU Add", after: "GELU Add",
	}},
	"BatchNorm + ReLU → BatchNorm with ReLU": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{pointwise.ReLU(g.normalised("n", g.in(1, 3, 3, 4)))}
		},
		before: "RunningStatistics BatchNorm ReLU", after: "RunningStatistics BatchNorm",
	}},
	"AveragePool(x + table) → AveragePool(x) + AveragePool(table)": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{pool.Average(pointwise.AddBroadcast(g.in(2, 4, 6, 4), g.table(1, 4, 6, 4)), 2, 2, conv.Square(2, 0))}
		},
		before: "AddBroadcast AveragePool", after: "AveragePool AveragePool AddBroadcast",
	}},
	"Linear(x + table) → Linear(x) + Linear(table)": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{conv.Linear(pointwise.AddBroadcast(g.in(2, 3, 8), g.table(1, 3, 8)), g.param("w", 8, 6), g.param("b", 6))}
		},
		before: "AddBroadcast Linear", after: "Linear Linear AddBroadcast",
	}},
	"Conv2D(Concat(a, b)) → Conv2D(a) + Conv2D(b)": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			both := pointwise.Concat(g.in(1, 4, 4, 8), g.in(1, 4, 4, 12))
			return []*tensor.Tensor{conv.Conv2D(both, g.param("w", 3, 3, 20, 8), g.param("b", 8), conv.Square(1, 1))}
		},
		before: "Concat Conv2D", after: "Slice Conv2D Slice Conv2D Add",
	}, {
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{conv.Linear(pointwise.Concat(g.in(5, 8), g.in(5, 12)), g.param("w", 20, 8), g.param("b", 8))}
		},
		before: "Concat Linear", after: "Slice Linear Slice Linear Add",
	}},
	"Concat(Linear(x), Linear(x)) → Linear(x), wider": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(5, 8)
			return []*tensor.Tensor{pointwise.Concat(conv.Linear(x, g.param("k", 8, 6), nil), conv.Linear(x, g.param("v", 8, 4), g.param("b", 4)))}
		},
		before: "Linear Linear Concat", after: "Concat Concat Linear",
	}},
	"Linear(Linear(x)) → Linear(x) by the product of the weights": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			y := conv.Linear(g.in(5, 4), g.param("a", 4, 8), g.param("ab", 8))
			return []*tensor.Tensor{conv.Linear(y, g.param("b", 8, 6), g.param("bb", 6))}
		},
		before: "Linear Linear", after: "Linear Linear Linear",
	}},
	"Split(Conv2D(x) of 4n + i outputs) → Split(Split(Conv2D(x) of 4n + 4))": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			a, b := pointwise.Split(conv.Conv2D(g.in(1, 4, 4, 5), g.param("w", 3, 3, 5, 6), g.param("b", 6), conv.Square(1, 1)), 2)
			return []*tensor.Tensor{a, b}
		},
		before: "Conv2D Split", after: "Concat Concat Conv2D Split Split",
	}, {
		build: func(g *rewriteGraph) []*tensor.Tensor {
			a, b := pointwise.Split(conv.Conv2D(g.in(1, 4, 4, 5), g.param("w", 3, 3, 5, 10), nil, conv.Square(1, 1)), 3)
			return []*tensor.Tensor{a, b}
		},
		before: "Conv2D Split", after: "Concat Conv2D Split Split",
	}},
	"Linear(x), Linear(x) + table → Split(Linear(x) + table)": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(2, 3, 8)
			other := conv.Linear(x, g.param("o", 8, 10), g.param("ob", 10))
			return []*tensor.Tensor{other, pointwise.AddBroadcast(conv.Linear(x, g.param("q", 8, 6), nil), g.table(1, 3, 6))}
		},
		before: "Linear Linear AddBroadcast", after: "Concat Concat Concat Linear AddBroadcast Split",
	}},
	"Conv2D | Linear | ConvTranspose2x2 → Conv2DInt8": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			defer g.Layered("layer")()
			return []*tensor.Tensor{conv.Conv2D(g.whole(127, 1./64, 1, 5, 4, 6), g.whole(127, 1./1024, 3, 3, 6, 8), g.param("b", 8), conv.Square(1, 1))}
		},
		before: "Conv2D", after: "Quantize Conv2DInt8",
	}, {
		build: func(g *rewriteGraph) []*tensor.Tensor {
			defer g.Layered("layer")()
			return []*tensor.Tensor{conv.ConvTranspose2x2(g.whole(127, 1./64, 1, 5, 4, 6), g.whole(127, 1./1024, 2, 2, 6, 8), g.param("b", 8))}
		},
		before: "ConvTranspose2x2", after: "Quantize Conv2DInt8",
	}, {
		build: func(g *rewriteGraph) []*tensor.Tensor { // of the keys and values of an attention
			defer g.Layered("layer")()
			y := conv.Linear(g.whole(127, 1./64, 1, 5, 4, 6), g.whole(127, 1./1024, 6, 8), g.param("b", 8))
			return []*tensor.Tensor{pointwise.AddBroadcast(y, g.table(1, 5, 4, 8))}
		},
		before: "Linear AddBroadcast", after: "Quantize Conv2DInt8 AddBroadcast",
	}},
	"BatchNorm → ScaleShift": {{
		build:  func(g *rewriteGraph) []*tensor.Tensor { return []*tensor.Tensor{g.normalised("n", g.in(1, 3, 3, 4))} },
		before: "RunningStatistics BatchNorm", after: "RunningStatistics ScaleAndShift ScaleShift",
	}},
	"Conv2D | Linear | ConvTranspose2x2 → Convolution": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			x := conv.Conv2D(g.in(1, 5, 4, 3), g.param("c", 3, 3, 3, 8), g.param("cb", 8), conv.Square(2, 1))
			x = conv.Linear(x, g.param("l", 8, 6), nil)
			return []*tensor.Tensor{conv.ConvTranspose2x2(x, g.param("t", 2, 2, 6, 4), g.param("tb", 4))}
		},
		before: "Conv2D Linear ConvTranspose2x2", after: "Convolution Convolution Convolution",
	}},
	"ClampLog + (Add | AddBroadcast) → ClampLogAdd": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			y := pointwise.Add(g.in(1, 9), pointwise.ClampLog(g.in(1, 9), 0.1, 1))
			return []*tensor.Tensor{y, pointwise.AddBroadcast(pointwise.ClampLog(y, 0.2, 2), g.table(9))}
		},
		before: "ClampLog Add ClampLog AddBroadcast", after: "ClampLogAdd ClampLogAdd",
	}},
	"Sum(a + b) → Sum(a and b, side by side)": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			var passes [2]*tensor.Tensor
			for i := range passes {
				g.Pass(i + 1)
				passes[i] = pointwise.Abs(g.in(1, 64))
			}
			g.Pass(0)
			sum := pointwise.Sum(pointwise.Add(passes[0], passes[1]))
			JoinPasses(sum)
			return []*tensor.Tensor{sum}
		},
		before: "Concat Abs Add Sum", after: "Concat Abs Sum",
	}},
	"BatchNorm + Add + ReLU → BatchNormSum": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{pointwise.ReLU(pointwise.Add(g.of(g.in(1, 3, 3, 4)), g.in(1, 3, 3, 4)))}
		},
		before: "BatchStatistics BatchNorm Add ReLU", after: "BatchStatistics BatchNormSum",
	}, {
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{pointwise.Add(g.in(1, 3, 3, 4), pointwise.ReLU(g.of(g.in(1, 3, 3, 4))))}
		},
		before: "BatchStatistics BatchNorm ReLU Add", after: "BatchStatistics BatchNorm ReLU Add", // the ReLU comes first
	}},
	"BatchStatistics, BatchNorm | BatchNormSum → WholeBatchNorm": {{
		build:  func(g *rewriteGraph) []*tensor.Tensor { return []*tensor.Tensor{g.of(g.in(1, 3, 3, 4))} },
		before: "BatchStatistics BatchNorm", after: "WholeBatchNorm",
	}, {
		build:  func(g *rewriteGraph) []*tensor.Tensor { return []*tensor.Tensor{g.of(g.in(1, 64, 65, 1))} },
		before: "BatchStatistics BatchNorm", after: "BatchStatistics BatchNorm", // too many rows
	}},
	"GroupedLinear + Sigmoid → GroupedLinear": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{pointwise.Sigmoid(conv.GroupedLinear(g.in(9, 12), g.param("w", 3, 4, 5), g.param("b", 3, 5)))}
		},
		before: "GroupedLinear Sigmoid", after: "GroupedLinear",
	}},
	"DepthwiseConv2D + activation → Depthwise": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			return []*tensor.Tensor{pointwise.ReLU6(conv.DepthwiseConv2D(g.in(1, 4, 6, 8), g.param("w", 3, 3, 8), g.param("b", 8), conv.Same(3, 2)))}
		},
		before: "DepthwiseConv2D ReLU6", after: "Depthwise",
	}},
	"Conv2DInt8 + Add(what is int8 too) → Conv2DInt8": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			other := g.whole(127, 1./32, 1, 3, 3, 8)
			next := conv.Conv2DInt8(pointwise.Quantize(other, 1./32), g.param("n", 1, 1, 8, 4), nil, conv.Square(1, 0))
			y := conv.Conv2DInt8(pointwise.Quantize(g.in(1, 3, 3, 8), 1./32), g.param("w", 1, 1, 8, 8), nil, conv.Square(1, 0))
			return []*tensor.Tensor{next, pointwise.Add(y, other)}
		},
		before: "Quantize Conv2DInt8 Quantize Conv2DInt8 Add", after: "Quantize Conv2DInt8 Quantize Conv2DInt8",
	}},
	"Conv2DInt8 + Quantize → Conv2DInt8 to int8": {{
		build: func(g *rewriteGraph) []*tensor.Tensor { // sums are whole results: neither rounds
			weight := g.Constant("weight", []float32{127, 0, 0, 127, 0, 127, -127, 0, 0, 127, 0, -127, -127, 0, 127, 0}, 1, 1, 4, 4)
			y := conv.Conv2DInt8(pointwise.Quantize(g.whole(40, 1, 1, 3, 3, 4), 1), weight, nil, conv.Square(1, 0))
			return []*tensor.Tensor{pointwise.Dequantize(pointwise.Quantize(y, 127).Q, g.Constant("scale", []float32{1, 2, 3, 4}, 4))}
		},
		before: "Quantize Conv2DInt8 Quantize Dequantize", after: "Quantize Conv2DInt8 Dequantize",
	}},
	"Convolution + LayerNorm → LinearNorm": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			y := conv.Linear(g.in(5, 8), g.param("w", 8, 32), g.param("b", 32))
			return []*tensor.Tensor{norm.LayerNorm(y, g.param("s", 32), g.param("h", 32), 1e-5)}
		},
		first:  []string{"Conv2D | Linear | ConvTranspose2x2 → Convolution"},
		before: "Convolution LayerNorm", after: "LinearNorm",
	}},
	"Convolution + Split → Convolution to two": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			a, b := pointwise.Split(conv.Linear(g.in(5, 4), g.param("w", 4, 8), nil), 4)
			return []*tensor.Tensor{a, b}
		},
		first:  []string{"Conv2D | Linear | ConvTranspose2x2 → Convolution"},
		before: "Convolution Split", after: "Convolution",
	}},
	"Convolution + (Add | AddBroadcast | ScaleShift | activation) → Convolution": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			y := conv.Conv2D(g.in(1, 4, 4, 3), g.param("w", 3, 3, 3, 8), nil, conv.Square(1, 1))
			y = pointwise.ReLU(pointwise.Add(g.normalised("n", y), g.in(1, 4, 4, 8)))
			return []*tensor.Tensor{pointwise.Add(g.in(1, 4, 4, 8), y)}
		},
		first:  []string{"Conv2D | Linear | ConvTranspose2x2 → Convolution", "BatchNorm → ScaleShift"},
		before: "Convolution RunningStatistics ScaleAndShift ScaleShift Add ReLU Add", after: "RunningStatistics ScaleAndShift Convolution",
	}, {
		build: func(g *rewriteGraph) []*tensor.Tensor {
			y := conv.Linear(g.in(1, 5, 4), g.param("w", 4, 8), g.param("b", 8))
			return []*tensor.Tensor{pointwise.GELU(pointwise.AddBroadcast(y, g.table(1, 5, 8)))}
		},
		first:  []string{"Conv2D | Linear | ConvTranspose2x2 → Convolution"},
		before: "Convolution AddBroadcast GELU", after: "Convolution",
	}, {
		build: func(g *rewriteGraph) []*tensor.Tensor { // all images share the table
			y := conv.Linear(g.in(3, 5, 4), g.param("w", 4, 8), g.param("b", 8))
			return []*tensor.Tensor{pointwise.ReLU(pointwise.AddBroadcast(y, g.table(1, 5, 8)))}
		},
		first:  []string{"Conv2D | Linear | ConvTranspose2x2 → Convolution"},
		before: "Convolution AddBroadcast ReLU", after: "Convolution",
	}},
	"Convolution, activation → Convolution to both": {{
		build: func(g *rewriteGraph) []*tensor.Tensor {
			y := conv.Linear(g.in(5, 4), g.param("w", 4, 8), g.param("b", 8))
			return []*tensor.Tensor{pointwise.GELU(y), pointwise.Scale(y, 2)}
		},
		first:  []string{"Conv2D | Linear | ConvTranspose2x2 → Convolution"},
		before: "Convolution GELU Scale", after: "Convolution Scale",
	}},
}

// Every rule of the table, alone, turns the operators of its examples into the expected ones, which
// give the same. The examples of int8 have values that int8 holds.
func TestEveryRule(t *testing.T) {
	rules := map[string]tensor.Rewrite{}
	for _, r := range (Int8{Ranges: map[string]float32{"layer": 127. / 64, "layer.queries": 127. / 256, "layer.keys": 127. / 64, "layer.values": 127. / 32}}).table() {
		rules[r.name] = r.apply
		assert.NotEmpty(t, examples[r.name], r.name)
	}
	for name, examples := range examples {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, rules, name)
			for _, c := range examples {
				g := newRewriteGraph(t)
				want, _ := g.run(c.build(g))
				g = newRewriteGraph(t)
				results := c.build(g)
				for _, y := range results {
					y.Keep()
				}
				for _, first := range c.first {
					require.Contains(t, rules, first)
					g.Rewrite([]tensor.Rewrite{rules[first]})
				}
				assert.Equal(t, c.before, g.kinds())
				g.Rewrite([]tensor.Rewrite{rules[name]})
				assert.Equal(t, c.after, g.kinds())
				got, _ := g.run(results)
				for i := range want {
					assert.InDeltaSlice(t, want[i], got[i], 1e-5)
				}
			}
		})
	}
}

// All rules of inference together give what the operators give one by one, in the dispatches that
// they promise.
func TestRulesTogether(t *testing.T) {
	for _, c := range []struct {
		name          string
		build         func(g *rewriteGraph) []*tensor.Tensor
		apart, joined int // dispatches of a run, without what depends on parameters alone
	}{
		{"keys and values", func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(2, 3, 5, 8)
			key := conv.Linear(pointwise.AddBroadcast(x, g.table(1, 3, 5, 8)), g.param("k", 8, 6), nil)
			return []*tensor.Tensor{pointwise.Concat(key, conv.Linear(x, g.param("v", 8, 6), g.param("vb", 6)))}
		}, 4, 1}, // one map, which adds the table to both images
		{"keys and values of one image", func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(1, 3, 5, 8)
			key := conv.Linear(pointwise.AddBroadcast(x, g.table(1, 3, 5, 8)), g.param("k", 8, 6), nil)
			return []*tensor.Tensor{pointwise.Concat(key, conv.Linear(x, g.param("v", 8, 6), g.param("vb", 6)))}
		}, 4, 1},
		{"a map that narrows stays", func(g *rewriteGraph) []*tensor.Tensor {
			y := conv.Linear(g.in(5, 8), g.param("a", 8, 4), nil)
			return []*tensor.Tensor{conv.Linear(y, g.param("b", 4, 6), nil)}
		}, 2, 2},
		{"queries beside another map", func(g *rewriteGraph) []*tensor.Tensor {
			x := g.in(1, 3, 5, 8)
			other := conv.Linear(x, g.param("o", 8, 12), g.param("ob", 12))
			return []*tensor.Tensor{other, conv.Linear(pointwise.AddBroadcast(x, g.table(1, 3, 5, 8)), g.param("q", 8, 4), nil)}
		}, 3, 1},
		{"a quad of outputs stays together", func(g *rewriteGraph) []*tensor.Tensor {
			a, b := pointwise.Split(conv.Conv2D(g.in(1, 4, 4, 8), g.param("w", 3, 3, 8, 8), g.param("b", 8), conv.Square(1, 1)), 2)
			return []*tensor.Tensor{a, b}
		}, 2, 2},
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
		got, joined := g.run(c.build(g), Int8{}.forDevice(false)...)
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
		e := pointwise.ReLU(g.normalised("1", conv.Conv2D(g.in(1, 4, 4, 3), g.param("w", 3, 3, 3, 8), nil, conv.Square(1, 1))))
		x := g.normalised("2", conv.Conv2D(pointwise.Concat(e, g.in(1, 4, 4, 8)), g.param("c", 3, 3, 16, 8), g.param("cb", 8), conv.Square(1, 1)))
		kv := pointwise.Concat(conv.Linear(x, g.param("k", 8, 8), nil), conv.Linear(x, g.param("v", 8, 8), nil))
		return []*tensor.Tensor{attention.Attention(conv.Linear(x, g.param("q", 8, 8), g.param("qb", 8)).Reshape(1, 16, 8), kv.Reshape(1, 16, 16), 2)}
	}
	g := newRewriteGraph(t)
	want, _ := g.run(build(g))
	g = newRewriteGraph(t)
	got, _ := g.run(build(g), forOthers()...)
	assert.InDeltaSlice(t, want[0], got[0], 1e-5)
	g = newRewriteGraph(t)
	y := build(g)[0]
	Portable(g.Graph)
	for _, op := range g.Ops() {
		assert.NotEqual(t, "BatchNorm", op.Kind.Name)
		if op.Output().Storage() == y.Storage() {
			assert.EqualValues(t, 1, op.Attributes.(*attention.Params).Scale)
			assert.EqualValues(t, 2, op.Attributes.(*attention.Params).Heads)
		}
	}
}
