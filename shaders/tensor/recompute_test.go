package tensor

import (
	"testing"

	"mrprism/shaders/gpu"

	"github.com/stretchr/testify/require"
)

// times is y = a b, whose gradient needs both.
var times = &Kernel{
	Name: "times", Arguments: sum.Arguments, Variants: sum.Variants,
	Body: Body(func(p *addParams, a []gpu.Array) {
		for i := range p.N {
			a[2].F[i] = a[0].F[i] * a[1].F[i]
		}
	}),
}

func multiply(a, b *Tensor) *Tensor {
	return a.Graph().Apply(timesKind, &addParams{uint32(a.Elements())}, a.Shape(), a, b)
}

var timesKind = simple("Times", times, func(op *Op) {
	a, b := op.Inputs[0], op.Inputs[1]
	for _, pair := range [][2]*Tensor{{a, b}, {b, a}} {
		if pair[0].NeedsGradient() {
			d := op.Graph().New("d times", a.Shape())
			op.Dispatch(times, op.Attributes, op.Output().Gradient(), pair[1], d)
			op.Dispatch(accumulate, op.Attributes, d, pair[0].Gradient())
		}
	}
})

// recomputed is a part that is computed again for its gradient.
func recomputed(g *Graph, build func() *Tensor) *Tensor { return g.Part(true, build) }

// A chain of squares, in parts or not: the same values and gradients, in less memory.
func TestRecompute(t *testing.T) {
	const steps, n = 12, 4
	run := func(part func(g *Graph, build func() *Tensor) *Tensor) (y, d []float32, bytes int64, dispatches int) {
		g := NewGraph()
		x := g.Input("x", n).Track()
		value := x
		for range steps / 4 {
			from := value
			value = part(g, func() *Tensor {
				inner := from
				for range 4 {
					inner = multiply(inner, inner)
				}
				return inner.Reshape(2, n/2)
			}).Reshape(n)
			value = add(value, from) // a second use, outside
		}
		g.Backward(value, g.Constant("seed", []float32{1, 1, 1, 1}, n))
		kept, gradient := value.Keep(), x.Gradient().Keep()
		p := compile(t, NewSet(), g)
		require.NoError(t, p.Write(x, []float32{1, 0.5, -0.9, 0}))
		require.NoError(t, p.Run(t.Context()))
		return read(t, p, kept), read(t, p, gradient), p.Bytes(), p.Dispatches()
	}
	wantY, wantD, bytes, dispatches := run(func(_ *Graph, build func() *Tensor) *Tensor { return build() })
	y, d, fewer, more := run(recomputed)
	require.Equal(t, wantY, y)
	require.Equal(t, wantD, d)
	require.Less(t, fewer, bytes)
	require.Equal(t, dispatches+steps-steps/4, more, "all but what nobody reads again, the results of the parts")
}

// countKind counts how often it runs, and gives twice the count.
var countKind = &Kind{Name: "Count", Once: true, Compute: func(op *Op) {
	op.Dispatch(accumulate, &addParams{1}, op.Inputs[0], op.Outputs[1])
	op.Dispatch(sum, &addParams{1}, op.Outputs[1], op.Outputs[1], op.Outputs[0])
}}

func TestOnceIsDoneOnce(t *testing.T) {
	g, set := NewGraph(), NewSet()
	count := set.Variable(Statistic, "count", 1)
	x, one := g.Input("x", 1).Track(), g.Constant("one", []float32{1}, 1)
	y := g.Part(true, func() *Tensor {
		before := multiply(x, x)
		counted := g.New("counted", []int{1})
		g.Append(countKind, nil, []*Tensor{counted, g.Variable(count)}, one)
		return multiply(multiply(before, before), counted)
	})
	g.Backward(y, one)
	d := x.Gradient().Keep()
	p := compile(t, set, g)
	require.NoError(t, p.Write(x, []float32{3}))
	require.NoError(t, p.Run(t.Context()))
	counts, err := set.Read(t.Context(), count)
	require.NoError(t, err)
	require.Equal(t, []float32{1}, counts[0])
	require.Equal(t, []float32{2 * 4 * 27}, read(t, p, d), "of 2 x⁴")
}

// sumNeedingKind is Sum whose gradient reads the first input again.
var sumNeedingKind = simple("Sum", sum, func(op *Op) {
	sumKind.Gradient(op)
	op.Dispatch(accumulate, op.Attributes, op.Inputs[0], op.Inputs[1].Gradient())
})

// Operators of a part that is computed again are fused where they would be if nothing were computed
// again.
func TestRecomputedOperatorsFuseAsWithout(t *testing.T) {
	run := func(part func(g *Graph, build func() *Tensor) *Tensor, kind *Kind) (fused int) {
		g := NewGraph()
		a, b := g.Input("a", 2).Track(), g.Input("b", 2).Track()
		y := part(g, func() *Tensor { return g.Apply(kind, &addParams{2}, []int{2}, scale(a, 3), b) })
		g.Backward(y, g.Constant("seed", []float32{1, 1}, 2))
		y.Keep()
		a.Gradient().Keep()
		b.Gradient().Keep()
		rule := scaleAndSum[0]
		for _, op := range g.rewritten(gpu.Info{}, [][]Rewrite{{func(r *Rewriter, op *Op) bool {
			if op.Kind == kind {
				op.Kind = sumKind
			}
			return rule(r, op)
		}}}) {
			if p, ok := op.Attributes.(*scaleParams); ok && p.Plus == 1 {
				fused++
			}
		}
		return fused
	}
	plain := func(_ *Graph, build func() *Tensor) *Tensor { return build() }
	require.Equal(t, 1, run(plain, sumKind))
	require.Equal(t, 1, run(recomputed, sumKind), "the gradient of a sum reads nothing: the sum is not computed again")
	require.Zero(t, run(plain, sumNeedingKind))
	require.Zero(t, run(recomputed, sumNeedingKind))
}

func TestAPartHasNoParts(t *testing.T) {
	g := NewGraph()
	x := g.Input("x", 1).Track()
	require.Panics(t, func() {
		g.Part(true, func() *Tensor { return g.Part(true, func() *Tensor { return multiply(x, x) }) })
	})
}
