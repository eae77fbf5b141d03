package tensor

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/require"
)

type addParams struct{ N uint32 }

// sum is y = a + b, a kernel of the tests; it runs on the reference alone.
var sum = &Kernel{
	Name: "sum", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite},
	Body: Body(func(p *addParams, a []gpu.Array) {
		for i := range p.N {
			a[2].F[i] = a[0].F[i] + a[1].F[i]
		}
	}),
	Variants: []Variant{{Source: "const SIZE: u32 = 64u;", Groups: func(p any) [3]int { return Linear(int(p.(*addParams).N), 64) }}},
}

// accumulate is y += a.
var accumulate = &Kernel{
	Name: "accumulate", Arguments: []gpu.Access{gpu.Read, gpu.ReadWrite},
	Body: Body(func(p *addParams, a []gpu.Array) {
		for i := range p.N {
			a[1].F[i] += a[0].F[i]
		}
	}),
	Variants: sum.Variants,
}

func add(a, b *Tensor) *Tensor {
	return a.Graph().Apply(sumKind, &addParams{uint32(a.Elements())}, a.Shape(), a, b)
}

// simple is the kind of an operator that one kernel computes.
func simple(name string, k *Kernel, gradient func(op *Op)) *Kind {
	return &Kind{Name: name, Gradient: gradient, Compute: func(op *Op) {
		op.Dispatch(k, op.Attributes, slices.Concat(op.Inputs, op.Outputs)...)
	}}
}

var sumKind = simple("Sum", sum, func(op *Op) {
	for _, x := range op.Inputs {
		if x.NeedsGradient() {
			op.Dispatch(accumulate, op.Attributes, op.Output().Gradient(), x.Gradient())
		}
	}
})

func compile(t *testing.T, set *Set, g *Graph) *Plan {
	t.Helper()
	p, err := Compile(t.Context(), reference.Open(), set, g)
	require.NoError(t, err)
	t.Cleanup(p.Release)
	return p
}

func read(t *testing.T, p *Plan, x *Tensor) []float32 {
	t.Helper()
	values, err := p.Read(t.Context(), x)
	require.NoError(t, err)
	return values[0]
}

func TestGradientsAddUpOverUses(t *testing.T) {
	g := NewGraph()
	x := g.Input("x", 2).Track()
	y := add(add(x, x), x) // 3x
	g.Backward(y, g.Constant("seed", []float32{1, 10}, 2))
	d := x.Gradient().Keep()
	p := compile(t, NewSet(), g)
	for range 2 { // a replay starts from zero again
		require.NoError(t, p.Run(t.Context()))
		require.Equal(t, []float32{3, 30}, read(t, p, d))
	}
}

func TestReshapeSharesTheGradientAndDetachStopsIt(t *testing.T) {
	g := NewGraph()
	x := g.Input("x", 2, 2).Track()
	require.False(t, x.Detach().NeedsGradient())
	y := add(x.Reshape(4), x.Detach().Reshape(4))
	g.Backward(y, g.Constant("seed", []float32{1, 2, 3, 4}, 4))
	d := x.Gradient().Keep()
	p := compile(t, NewSet(), g)
	require.NoError(t, p.Run(t.Context()))
	require.Equal(t, []float32{1, 2, 3, 4}, read(t, p, d))
}

func TestNodesThatNobodyReadsAreDropped(t *testing.T) {
	g := NewGraph()
	x := g.Input("x", 8)
	kept := add(x, x).Keep()
	for range 5 {
		add(kept, kept)
	}
	p := compile(t, NewSet(), g)
	require.Equal(t, 1, p.Dispatches())
	require.NoError(t, p.Write(x, []float32{1, 2, 3, 4, 5, 6, 7, 8}))
	require.NoError(t, p.Run(t.Context()))
	require.Equal(t, []float32{2, 4, 6, 8, 10, 12, 14, 16}, read(t, p, kept))
	_, err := p.Read(t.Context(), add(kept, kept))
	require.ErrorContains(t, err, "not kept")
}

func TestSharedMemoryNeverHoldsTwoLivingTensors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		g := NewGraph()
		tensors := []*Tensor{g.Input("x", 1+r.IntN(50))}
		for range 30 {
			a := tensors[r.IntN(len(tensors))]
			tensors = append(tensors, add(a, a))
		}
		tensors[len(tensors)-1].Keep()
		nodes := g.lower(live(g.ops))
		slots := assign(nodes, nil)
		first, last := map[*storage]int{}, map[*storage]int{}
		for i := range nodes {
			for _, s := range nodes[i].touched() {
				if _, ok := first[s]; !ok {
					first[s] = i
				}
				last[s] = i
			}
		}
		for a, slotA := range slots.of {
			require.GreaterOrEqual(t, slots.slots[slotA].elements, a.elements)
			for b, slotB := range slots.of {
				if a != b && slotA == slotB {
					require.True(t, last[a] < first[b] || last[b] < first[a], "%v and %v share memory while both live", a, b)
				}
			}
		}
		require.LessOrEqual(t, len(slots.slots), 3, "a chain needs no more than input, output and one between")
	}
}

func TestMistakesPanicWithNames(t *testing.T) {
	g, other := NewGraph(), NewGraph()
	x := g.Input("image", 2, 3)
	require.PanicsWithValue(t, "tensor: reshape image[2 3] to [7] changes the number of elements", func() { x.Reshape(7) })
	require.Panics(t, func() { g.Dispatch(sum, &addParams{6}, x, x) })
	require.Panics(t, func() { g.Dispatch(accumulate, &addParams{6}, x, x) }, "written and read in one dispatch")
	require.Panics(t, func() { g.Dispatch(accumulate, &addParams{6}, other.Input("y", 6), x) })
	set := NewSet()
	set.Variable(Parameter, "w", 2, 3)
	require.Same(t, set.Variable(Parameter, "w", 2, 3), set.Lookup("w"))
	require.Panics(t, func() { set.Variable(Parameter, "w", 3, 2) })
	require.Panics(t, func() { set.Variable(Moment, "w", 2, 3) })
	require.Panics(t, func() { set.Variable(Parameter, "empty", 0) })
}

func TestConstantsAreStoredOnce(t *testing.T) {
	g := NewGraph()
	a := g.Constant("c", []float32{1, 2}, 2)
	require.Same(t, a, g.Constant("c", []float32{1, 2}, 2))
	require.NotSame(t, a, g.Constant("c", []float32{1, 3}, 2))
	require.NotSame(t, a, g.Constant("c", []float32{1, 2}, 1, 2))
	require.Panics(t, func() { g.Constant("c", []float32{1, 2}, 3) })
}

func TestFirstValuesDependOnSeedAndNameAlone(t *testing.T) {
	draw := func(seed uint64, names ...string) []float32 {
		set := NewSet()
		for _, n := range names {
			set.Variable(Parameter, n, 4).Initial = func(_ int, r *rand.Rand) float64 { return r.NormFloat64() }
		}
		require.NoError(t, set.Allocate(t.Context(), reference.Open()))
		require.NoError(t, set.Initialise(seed))
		values, err := set.Read(t.Context(), set.Lookup(names[0]))
		require.NoError(t, err)
		return values[0]
	}
	require.Equal(t, draw(1, "a"), draw(1, "a", "b"))
	require.NotEqual(t, draw(1, "a"), draw(2, "a"))
	require.NotEqual(t, draw(1, "a"), draw(1, "b"))
}

func TestLinearCoversEveryInvocationWithinTheLimit(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 65535 * 64, 65535*64 + 1, 300_000_000} {
		g := Linear(n, 64)
		require.GreaterOrEqual(t, g[0]*g[1]*64, n)
		require.LessOrEqual(t, slices.Max(g[:]), 65535)
		require.Less(t, (g[0]*g[1]-g[1])*64, n, "no row too many")
	}
}

func TestCommandsCountEveryTensorOnce(t *testing.T) {
	g := NewGraph()
	x := g.Input("x", 5)
	d := g.New("d", []int{3})
	g.Zero(d)
	g.Dispatch(accumulate, &addParams{3}, g.Input("seed", 3), d)
	d.Keep()
	add(x, x).Keep()
	list := compile(t, NewSet(), g).Commands()
	commands, bytes := list.Commands, list.Bytes
	require.Len(t, commands, 3)
	require.Nil(t, commands[0].Program)
	require.Equal(t, "accumulate", commands[1].Program.Name)
	require.Equal(t, "sum", commands[2].Program.Name)
	require.Equal(t, []int64{4 * 3, 4 * (3 + 3), 4 * (5 + 5)}, bytes)
}
