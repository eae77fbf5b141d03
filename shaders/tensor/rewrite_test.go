package tensor

import (
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/require"
)

type scaleParams struct {
	N, Plus uint32 // Plus: 1 adds the second argument
	Factor  float32
}

// scaled is y = factor a, or factor a + b.
var scaled = &Kernel{
	Name: "scaled", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite},
	Body: Body(func(p *scaleParams, a []gpu.Array) {
		for i := range p.N {
			a[2].F[i] = float64(p.Factor) * a[0].F[i]
			if p.Plus == 1 {
				a[2].F[i] += a[1].F[i]
			}
		}
	}),
	Variants: []Variant{{Source: "const SIZE: u32 = 64u;", Groups: func(p any) [3]int { return Linear(int(p.(*scaleParams).N), 64) }}},
}

var scaleKind = simple("Scale", scaled, func(op *Op) {
	op.Dispatch(accumulate, &addParams{uint32(op.Output().Elements())}, op.Output().Gradient(), op.Inputs[0].Gradient())
})

func scale(a *Tensor, factor float32) *Tensor {
	return a.Graph().Apply(scaleKind, &scaleParams{N: uint32(a.Elements()), Factor: factor}, a.Shape(), a, a)
}

// scaleAndSum: Scale + Sum → Scale.
var scaleAndSum = []Rewrite{func(r *Rewriter, op *Op) bool {
	if op.Kind != sumKind {
		return false
	}
	for at := range op.Inputs {
		first := r.Sole(op, at)
		if first == nil || first.Kind != scaleKind || first.Attributes.(*scaleParams).Plus == 1 {
			continue
		}
		p := *first.Attributes.(*scaleParams)
		p.Plus = 1
		if r.Fuse(first, op, scaleKind, &p, first.Inputs[0], op.Inputs[1-at]) {
			return true
		}
	}
	return false
}}

// compileWith is compile with rewrites.
func compileWith(t *testing.T, set *Set, g *Graph, rules ...Rewrite) *Plan {
	t.Helper()
	p, err := Compile(t.Context(), reference.Open(), set, g, rules)
	require.NoError(t, err)
	t.Cleanup(p.Release)
	return p
}

func TestOperatorsFuse(t *testing.T) {
	for _, c := range []struct {
		name       string
		build      func(a, b *Tensor) *Tensor
		dispatches int
		want       []float32 // of a = 1, 2 and b = 10, 20
	}{
		{"second operand", func(a, b *Tensor) *Tensor { return add(b, scale(a, 3)) }, 1, []float32{13, 26}},
		{"first operand", func(a, b *Tensor) *Tensor { return add(scale(a, 3), b) }, 1, []float32{13, 26}},
		{"one sum, not two", func(a, b *Tensor) *Tensor { return add(add(scale(a, 3), b), b) }, 2, []float32{23, 46}},
		{"what is computed later", func(a, b *Tensor) *Tensor { y := scale(a, 3); return add(y, add(b, b)) }, 2, []float32{23, 46}},
		{"the later of two", func(a, b *Tensor) *Tensor { return add(scale(a, 3), scale(b, 2)) }, 2, []float32{23, 46}},
		{"read twice", func(a, b *Tensor) *Tensor { y := scale(a, 3); return add(y, y) }, 2, []float32{6, 12}},
		{"read by two", func(a, b *Tensor) *Tensor { y := scale(a, 3); return add(add(y, b), y) }, 3, []float32{16, 32}},
		{"kept", func(a, b *Tensor) *Tensor { return add(scale(a, 3).Keep(), b) }, 2, []float32{13, 26}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewGraph()
			a, b := g.Input("a", 2), g.Input("b", 2)
			y := c.build(a, b).Keep()
			p := compileWith(t, NewSet(), g, scaleAndSum...)
			require.Equal(t, c.dispatches, p.Dispatches())
			require.NoError(t, p.Write(a, []float32{1, 2}))
			require.NoError(t, p.Write(b, []float32{10, 20}))
			require.NoError(t, p.Run(t.Context()))
			require.Equal(t, c.want, read(t, p, y))
		})
	}
}

// Two operators stay apart if an input of the first changes before the second runs.
func TestFusionDoesNotPassAWrite(t *testing.T) {
	g, set := NewGraph(), NewSet()
	x, v := g.Input("x", 2), g.Variable(set.Variable(Shared, "v", 2))
	y := scale(v, 3)
	g.Dispatch(accumulate, &addParams{2}, x, v)
	z := add(y, x).Keep()
	p := compileWith(t, set, g, scaleAndSum...)
	require.Equal(t, 3, p.Dispatches())
	require.NoError(t, set.Write(set.Lookup("v"), []float32{1, 2}))
	require.NoError(t, p.Write(x, []float32{10, 20}))
	require.NoError(t, p.Run(t.Context()))
	require.Equal(t, []float32{13, 26}, read(t, p, z))
}

func TestWhatDependsOnParametersAloneRunsOnce(t *testing.T) {
	set := NewSet()
	weight, shared := set.Variable(Parameter, "w", 2), set.Variable(Shared, "s", 2)
	g := NewGraph()
	x, w := g.Input("x", 2), g.Variable(weight)
	double := add(w, add(w, g.Constant("c", []float32{100, 200}, 2)))
	y := add(x, add(double, g.Variable(shared))).Keep()
	device := reference.Open()
	p, err := Compile(t.Context(), device, set, g)
	require.NoError(t, err)
	defer p.Release()
	require.Equal(t, 2, p.Dispatches())

	training := NewGraph() // w += 1
	training.Dispatch(accumulate, &addParams{2}, training.Constant("one", []float32{1, 1}, 2), training.Variable(weight))
	step, err := Compile(t.Context(), device, set, training)
	require.NoError(t, err)
	defer step.Release()
	require.Equal(t, 1, step.Dispatches())

	run := func(want ...float32) {
		t.Helper()
		require.NoError(t, p.Run(t.Context()))
		require.Equal(t, want, read(t, p, y))
	}
	require.NoError(t, p.Write(x, []float32{1000, 2000}))
	require.NoError(t, set.Write(weight, []float32{1, 2}))
	run(1102, 2204)
	run(1102, 2204)
	require.NoError(t, set.Write(shared, []float32{10000, 0}))
	run(11102, 2204)
	require.NoError(t, set.Write(weight, []float32{2, 3}))
	run(11104, 2206)
	require.NoError(t, step.Run(t.Context()))
	run(11106, 2208)

	version := p.folded
	require.NoError(t, set.Write(shared, []float32{0, 0}))
	run(1106, 2208)
	require.Equal(t, version, p.folded, "a shared variable has no part in it")
}

// RunEarly computes what depends on early inputs alone; each Run computes the rest. Operators of
// different stages are not fused.
func TestEarly(t *testing.T) {
	g, set := NewGraph(), NewSet()
	image, step := g.Input("image", 2).Early(), g.Input("step", 2)
	features := scale(image, 3)
	y := add(features, step).Keep()
	p := compileWith(t, set, g, scaleAndSum...)
	require.Equal(t, 1, p.EarlyDispatches())
	require.Equal(t, 1, p.Dispatches())
	require.NoError(t, p.Write(image, []float32{1, 2}))
	require.NoError(t, p.RunEarly(t.Context()))
	require.NoError(t, p.Write(image, []float32{7, 7})) // too late
	for _, by := range []float32{10, 20} {
		require.NoError(t, p.Write(step, []float32{by, by}))
		require.NoError(t, p.Run(t.Context()))
		require.Equal(t, []float32{3 + by, 6 + by}, read(t, p, y))
	}
}

// Replace takes a pattern apart; Reuse makes equal operators one.
func TestRewritesReplace(t *testing.T) {
	double := func(r *Rewriter, op *Op) bool { // Scale by 2 → Sum
		if op.Kind != scaleKind || op.Attributes.(*scaleParams).Factor != 2 {
			return false
		}
		return r.Replace(op, func() *Tensor { return add(op.Inputs[0], op.Inputs[0]) })
	}
	g := NewGraph()
	x := g.Input("x", 2)
	y := add(scale(x, 2), add(scale(x, 2), scale(x, 5))).Keep()
	p := compileWith(t, NewSet(), g, double, (*Rewriter).Reuse)
	require.Equal(t, 4, p.Dispatches(), "one of two doublings, a scale and two sums")
	require.NoError(t, p.Write(x, []float32{1, 2}))
	require.NoError(t, p.Run(t.Context()))
	require.Equal(t, []float32{9, 18}, read(t, p, y))
}

func TestEqualOperatorsBecomeOne(t *testing.T) {
	for _, c := range []struct {
		name       string
		build      func(x, v *Tensor) *Tensor
		dispatches int
		want, v    []float32 // of x = 10, 20 and v = 1, 2
	}{
		{"the one that becomes equal first stays", func(x, v *Tensor) *Tensor {
			p, q := scale(x, 5), scale(x, 5)
			before := add(scale(q, 2), v) // runs before the equal scale(p, 2)
			return add(before, scale(p, 2))
		}, 4, []float32{201, 402}, []float32{1, 2}},
		{"not past a write of an input", func(x, v *Tensor) *Tensor {
			y := scale(v, 3)
			x.Graph().Dispatch(accumulate, &addParams{2}, x, v)
			return add(y, scale(v, 3))
		}, 4, []float32{36, 72}, []float32{11, 22}},
		{"not past a write of the result", func(x, v *Tensor) *Tensor {
			y := scale(x, 3)
			x.Graph().Dispatch(accumulate, &addParams{2}, x, y)
			return add(y, scale(x, 3))
		}, 4, []float32{70, 140}, []float32{1, 2}},
		{"not what a bare dispatch reads", func(x, v *Tensor) *Tensor {
			y := scale(x, 3)
			x.Graph().Dispatch(accumulate, &addParams{2}, scale(x, 3), v)
			return add(y, x)
		}, 4, []float32{40, 80}, []float32{31, 62}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, set := NewGraph(), NewSet()
			shared := set.Variable(Shared, "v", 2)
			x := g.Input("x", 2)
			y := c.build(x, g.Variable(shared)).Keep()
			p := compileWith(t, set, g, (*Rewriter).Reuse)
			require.Equal(t, c.dispatches, p.Dispatches())
			require.NoError(t, p.Write(x, []float32{10, 20}))
			require.NoError(t, set.Write(shared, []float32{1, 2}))
			require.NoError(t, p.Run(t.Context()))
			require.Equal(t, c.want, read(t, p, y))
			require.Equal(t, c.v, read(t, p, g.Variable(shared)))
		})
	}
}

// A reader of a detached tensor stays detached when it reads the equal tensor made before.
func TestReuseKeepsDetached(t *testing.T) {
	g := NewGraph()
	x, seed := g.Input("x", 1).Track(), g.Input("seed", 1)
	p, q := scale(x, 3), scale(x, 3)
	loss := add(p, q.Detach()).Keep()
	g.Rewrite([]Rewrite{(*Rewriter).Reuse})
	require.Len(t, g.Ops(), 2)
	g.Backward(loss, seed)
	dx := x.Gradient().Keep()
	plan := compileWith(t, NewSet(), g)
	require.NoError(t, plan.Write(x, []float32{2}))
	require.NoError(t, plan.Write(seed, []float32{1}))
	require.NoError(t, plan.Run(t.Context()))
	require.Equal(t, []float32{12}, read(t, plan, loss))
	require.Equal(t, []float32{1}, read(t, plan, dx), "the gradient of scale passes unscaled, once")
}

func TestReplacementsMakeTheirResults(t *testing.T) {
	g := NewGraph()
	scale(g.Input("x", 2), 1).Keep()
	identity := func(r *Rewriter, op *Op) bool { // Scale by 1 → nothing
		return r.Replace(op, func() *Tensor { return op.Inputs[0] })
	}
	require.PanicsWithValue(t, "tensor: the replacement of Scale[x[2] x[2]] → [Scale[2]] does not make its result 0, x[2]",
		func() { g.Rewrite([]Rewrite{identity}) })
}

// Maker knows no operator for a variable, nor for what a bare dispatch writes later, even after a
// change of the operator that wrote it first.
func TestMakerOfWhatSeveralWrite(t *testing.T) {
	g, set := NewGraph(), NewSet()
	x, v := g.Input("x", 2), g.Variable(set.Variable(Shared, "v", 2))
	y := scale(x, 3)
	g.Dispatch(accumulate, &addParams{2}, x, y)
	g.Append(scaleKind, &scaleParams{N: 2, Factor: 1}, []*Tensor{v}, y, y)
	makers := map[string]*Op{}
	looks := func(r *Rewriter, op *Op) bool { // Scale by 3 → Scale by 5
		makers["y"], makers["v"] = r.Maker(y), r.Maker(v)
		if op.Kind != scaleKind || op.Attributes.(*scaleParams).Factor != 3 {
			return false
		}
		require.True(t, r.Fuse(op, op, scaleKind, &scaleParams{N: 2, Factor: 5}, op.Inputs...))
		require.Nil(t, r.Maker(y))
		return true
	}
	g.Rewrite([]Rewrite{looks})
	require.Equal(t, map[string]*Op{"y": nil, "v": nil}, makers)
}
