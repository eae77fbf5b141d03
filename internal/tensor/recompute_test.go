package tensor

import (
	"testing"

	"mrprism/internal/gpu"

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
	g := a.Graph()
	p := &addParams{uint32(a.Elements())}
	y := g.New("times", a.Shape(), a, b)
	g.Dispatch(times, p, a, b, y)
	g.OnBackward(y, func() {
		for _, pair := range [][2]*Tensor{{a, b}, {b, a}} {
			if pair[0].NeedsGradient() {
				d := g.New("d times", a.Shape())
				g.Dispatch(times, p, y.Gradient(), pair[1], d)
				g.Dispatch(accumulate, p, d, pair[0].Gradient())
			}
		}
	})
	return y
}

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
	y, d, fewer, more := run((*Graph).Recompute)
	require.Equal(t, wantY, y)
	require.Equal(t, wantD, d)
	require.Less(t, fewer, bytes)
	require.Equal(t, dispatches+steps-steps/4, more, "all but what nobody reads again, the results of the parts")
}

func TestOnceIsDoneOnce(t *testing.T) {
	g, set := NewGraph(), NewSet()
	count := set.Variable(Statistic, "count", 1)
	x, one := g.Input("x", 1).Track(), g.Constant("one", []float32{1}, 1)
	y := g.Recompute(func() *Tensor {
		before := multiply(x, x)
		counted := g.Once(func() *Tensor {
			g.Dispatch(accumulate, &addParams{1}, one, g.Variable(count))
			return add(g.Variable(count), g.Variable(count))
		})
		return multiply(multiply(before, before), counted.Detach())
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

// Without its gradient a part is an ordinary one: a kernel absorbs what follows it only where it would if nothing were computed again.
func TestRecomputedKernelsAbsorbWhatTheyWould(t *testing.T) {
	run := func(part func(g *Graph, build func() *Tensor) *Tensor, needed bool) int {
		g := NewGraph()
		a, b := g.Input("a", 2).Track(), g.Input("b", 2).Track()
		y := part(g, func() *Tensor {
			first := scale(a, 3)
			g.OnBackward(first, func() { g.Dispatch(accumulate, &addParams{2}, first.Gradient(), a.Gradient()) })
			out := add(first, b)
			if needed { // by the gradient alone
				g.OnBackward(out, func() { g.Dispatch(accumulate, &addParams{2}, first, b.Gradient()) })
			}
			return out
		})
		g.Backward(y, g.Constant("seed", []float32{1, 1}, 2))
		y.Keep()
		a.Gradient().Keep()
		b.Gradient().Keep()
		absorbed := 0
		for _, n := range fuse(live(g.nodes), gpu.Info{}) {
			if p, ok := n.params.(*scaleParams); ok && p.Plus == 1 {
				absorbed++
			}
		}
		return absorbed
	}
	plain := func(_ *Graph, build func() *Tensor) *Tensor { return build() }
	require.Equal(t, 1, run(plain, false))
	require.Equal(t, 1, run((*Graph).Recompute, false), "the gradient of a sum reads nothing: it is not computed again")
	require.Zero(t, run(plain, true))
	require.Zero(t, run((*Graph).Recompute, true))
}

func TestRecomputeRefuses(t *testing.T) {
	g := NewGraph()
	x := g.Input("x", 1).Track()
	require.Panics(t, func() {
		g.Recompute(func() *Tensor { return g.Recompute(func() *Tensor { return multiply(x, x) }) })
	}, "within itself")
	for name, build := range map[string]func(calls int, x *Tensor) *Tensor{
		"an input": func(_ int, x *Tensor) *Tensor { return multiply(x, x.Graph().Input("inner", 1)) },
		"more":     func(calls int, x *Tensor) *Tensor { return chain(x, calls) },
		"less":     func(calls int, x *Tensor) *Tensor { return chain(x, 4-calls) },
	} {
		t.Run(name, func(t *testing.T) {
			g, calls := NewGraph(), 0
			x := g.Input("x", 1).Track()
			y := g.Recompute(func() *Tensor { calls++; return build(calls, x) })
			require.Panics(t, func() { g.Backward(y, g.Constant("seed", []float32{1}, 1)) })
		})
	}
}

func chain(x *Tensor, n int) *Tensor {
	for range n {
		x = multiply(x, x)
	}
	return x
}
