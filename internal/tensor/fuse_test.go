package tensor

import (
	"testing"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/reference"

	"github.com/stretchr/testify/require"
)

type scaleParams struct {
	N, Plus uint32 // Plus: 1 adds the second argument
	Factor  float32
}

// scaled is y = factor a, or factor a + b once it has absorbed a sum.
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
	Absorb: func(params any, next *Kernel, _ any, at int) (Absorbed, bool) {
		p := *params.(*scaleParams)
		if next != sum || p.Plus == 1 {
			return Absorbed{}, false
		}
		p.Plus = 1
		return Absorbed{Params: &p, From: map[int]int{1: 1 - at, 2: 2}}, true
	},
}

func scale(a *Tensor, factor float32) *Tensor {
	y := a.Graph().New("scaled", a.Shape(), a)
	a.Graph().Dispatch(scaled, &scaleParams{N: uint32(a.Elements()), Factor: factor}, a, a, y)
	return y
}

func TestAKernelAbsorbsWhatFollows(t *testing.T) {
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
			p := compile(t, NewSet(), g)
			require.Equal(t, c.dispatches, p.Dispatches())
			require.NoError(t, p.Write(a, []float32{1, 2}))
			require.NoError(t, p.Write(b, []float32{10, 20}))
			require.NoError(t, p.Run(t.Context()))
			require.Equal(t, c.want, read(t, p, y))
		})
	}
}

// What a kernel reads may change before the dispatch that it would absorb; then it stays where it is.
func TestAbsorbingDoesNotPassAWrite(t *testing.T) {
	g, set := NewGraph(), NewSet()
	x, v := g.Input("x", 2), g.Variable(set.Variable(Shared, "v", 2))
	y := scale(v, 3)
	g.Dispatch(accumulate, &addParams{2}, x, v)
	z := add(y, x).Keep()
	p := compile(t, set, g)
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
