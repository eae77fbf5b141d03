package tensor

import (
	"math"
	"strings"
	"testing"

	"mrprism/shaders/gpu"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHeaders(t *testing.T) {
	v := &Variant{Source: "var<storage> x: array<real>;", Enables: "enable subgroups;", Header: func(params any) string {
		return Constants(map[string]int{"ROWS": params.(int), "COLUMNS": 2})
	}}
	assert.Equal(t, "enable subgroups;\nalias real = f32;\nalias real4 = vec4<f32>;\nconst HALF: bool = false;\nconst FRESH: bool = false;\n"+invocation+
		"const COLUMNS: u32 = 2u;\nconst ROWS: u32 = 4u;\n\nvar<storage> x: array<real>;", v.source(full, false, 4))
	assert.Contains(t, v.source(short, true, 4), "enable f16;\nalias real = f16;\nalias real4 = vec4<f16>;\nconst HALF: bool = true;\nconst FRESH: bool = true;")
	assert.Contains(t, v.source(mixed, false, 4), "alias real4 = vec4<f16>;\nconst HALF: bool = false;")
	v.Source = "var<storage> x: array<f32>;"
	assert.Panics(t, func() { v.source(short, false, 4) })
}

// halves is y[i] = x[i] + p[i] + 1/3, p a variable, in floats of the given type, on the reference.
func halves(t *testing.T, floats gpu.ElementType) (set *Set, p *Variable, plan *Plan, x, y *Tensor) {
	t.Helper()
	kernel := *sum
	kernel.Variants = []Variant{{Source: "var<storage> x: array<real>;", Groups: sum.Variants[0].Groups}}
	set = NewSet()
	p = set.Variable(Parameter, "p", 3)
	require.NoError(t, set.Store(floats))
	g := NewGraphOf(set.Floats())
	x = g.Input("x", 3)
	third := g.Constant("third", []float32{1. / 3, 1. / 3, 1. / 3}, 3)
	first := g.New("first", []int{3})
	y = g.New("y", []int{3}).Keep()
	g.Dispatch(&kernel, &addParams{3}, x, g.Variable(p), first)
	g.Dispatch(&kernel, &addParams{3}, first, third, y)
	plan = compile(t, set, g)
	return set, p, plan, x, y
}

// What a plan of halves owns, its constants, inputs and variables take two bytes an element; what
// goes in and comes out is rounded.
func TestPlanOfHalves(t *testing.T) {
	results := map[gpu.ElementType][]float32{}
	for _, floats := range []gpu.ElementType{gpu.F32, gpu.F16} {
		set, p, plan, x, y := halves(t, floats)
		words := int64(floats.Size()*3+3) / 4
		assert.Equal(t, 4*words, set.Bytes(), "the variable")
		assert.Equal(t, 4*4*words, plan.Bytes(), "x, third, x + p and y")
		for _, s := range []*Tensor{x, y} {
			assert.Equal(t, floats, plan.Buffer(s).Spec().Type)
		}
		commands := plan.Commands().Commands
		assert.Equal(t, floats == gpu.F16, strings.HasSuffix(commands[0].Program.Name, short.suffix()))
		require.NoError(t, set.Write(p, []float32{0.1, -0.1, 1000}))
		require.NoError(t, plan.Write(x, []float32{0, float32(math.Inf(1)), 0.1}))
		require.NoError(t, plan.Run(t.Context()))
		values, err := plan.Read(t.Context(), y)
		require.NoError(t, err)
		results[floats] = values[0]
		read, err := set.Read(t.Context(), p)
		require.NoError(t, err)
		assert.InDelta(t, 0.1, read[0][0], 0.1/(1<<11))
		assert.Equal(t, floats == gpu.F16, read[0][0] != 0.1)
	}
	for i, want := range results[gpu.F32] {
		if math.IsInf(float64(want), 0) {
			assert.Equal(t, want, results[gpu.F16][i])
			continue
		}
		assert.InEpsilon(t, want, results[gpu.F16][i], 1.0/(1<<10)) // of the terms and of the sum: half a step each, 2^-11
		assert.NotEqual(t, want, results[gpu.F16][i])
	}
}

func TestHalvesRefused(t *testing.T) {
	set, p, plan, x, _ := halves(t, gpu.F16)
	require.NoError(t, plan.Write(x, []float32{65519, float32(math.Inf(-1)), float32(math.NaN())}))
	assert.ErrorContains(t, plan.Write(x, []float32{0, -65520, 0}), "element 1 of x[3] is -65520, and f16 ends at 65504")
	assert.ErrorContains(t, set.Write(p, []float32{1e6, 0, 0}), "element 0 of p is 1e+06")
	require.NoError(t, set.Store(gpu.F16))
	assert.ErrorContains(t, set.Store(gpu.F32), "stored as f16 already")
	assert.Panics(t, func() { NewGraph().Variable(p) })
	assert.Panics(t, func() { NewGraphOf(gpu.F16).Constant("large", []float32{1e5}, 1) })
}
