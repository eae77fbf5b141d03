package tensor

import (
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/require"
)

func TestABlockIsItsMembersSideBySide(t *testing.T) {
	set, g := NewSet(), NewGraph()
	a, b := set.Variable(Parameter, "a", 3), set.Variable(Parameter, "b", 2, 50)
	alone, still := set.Variable(Parameter, "alone", 1), set.Variable(Parameter, "still", 2)
	ta, tb := g.Variable(a), g.Variable(b)
	add(tb.Reshape(100), tb.Reshape(100)) // nothing is made of it, so that b has no gradient
	y := add(add(ta, ta), g.Input("x", 3))
	seed := g.Input("seed", 3)
	g.Backward(y, seed)
	da := ta.Gradient().Keep()

	blocks := set.Join([]*Variable{a, b, still})
	require.Len(t, blocks, 1)
	require.Equal(t, 64+128+64, blocks[0].Elements())
	require.Equal(t, blocks, set.Join([]*Variable{a, b, still}), "joined once")
	require.Panics(t, func() { set.Join([]*Variable{a, b}) }, "joined with another")
	require.Panics(t, func() { set.Join([]*Variable{alone, a}) })
	require.Panics(t, func() { set.Join([]*Variable{alone, set.Variable(Moment, "m", 1)}) }, "two roles")

	before := len(g.ops)
	whole, d := g.Variable(blocks[0]), g.Gradients(blocks[0])
	require.Len(t, g.ops, before, "one zeroing instead of one")
	g.Dispatch(accumulate, &addParams{uint32(whole.Elements())}, d, whole) // every member += its gradient
	p := compile(t, set, g)
	require.Equal(t, 1+2+1, p.Dispatches(), "the gradient of a sum, two of a and one update; nobody reads the sums")

	device := p.device.(interface {
		gpu.Device
		Values(gpu.Buffer) []float64
	})
	values := make([]float32, 100)
	for i := range values {
		values[i] = float32(i)
	}
	require.NoError(t, set.Write(b, values))
	require.NoError(t, set.Write(a, []float32{10, 20, 30}))
	require.NoError(t, p.Write(seed, []float32{1, 2, 3}))
	for range 2 { // gradients start from zero again
		require.NoError(t, p.Run(t.Context()))
	}
	gradient := read(t, p, da)
	got, err := set.Read(t.Context(), a, b, alone, still)
	require.NoError(t, err)
	require.Equal(t, [][]float32{{14, 28, 42}, values, {0}, {0, 0}}, got)
	require.Equal(t, []float32{2, 4, 6}, gradient)
	padding := device.Values(set.Buffer(blocks[0]))[3:64]
	require.Equal(t, make([]float64, 61), padding)
	require.Equal(t, int64(4*(64+128+64+1+1)), set.Bytes(), "with alone and m")
	require.Panics(t, func() { set.Join([]*Variable{alone}) }, "it has memory of its own")
}

func TestBlocksHaveTheirSize(t *testing.T) {
	set := NewSet()
	var variables []*Variable
	for _, name := range []string{"a", "b", "c"} {
		variables = append(variables, set.Variable(Moment, name, blockMost/2-1))
	}
	blocks := set.Join(variables)
	require.Len(t, blocks, 2)
	require.Equal(t, blockMost, blocks[0].Elements())
	large := set.Join([]*Variable{set.Variable(Moment, "small", 1), set.Variable(Moment, "large", blockMost+1), set.Variable(Moment, "last", 1)})
	require.Len(t, large, 3, "what is larger is alone")
	require.Equal(t, blockMost+blockAlignment, large[1].Elements())
}

// A plan computes what depends on parameters alone again after their block was written.
func TestABlockThatIsWrittenChangesItsMembers(t *testing.T) {
	set, g := NewSet(), NewGraph()
	a := set.Variable(Parameter, "a", 2)
	double := add(g.Variable(a), g.Variable(a)).Keep() // before the block is written
	block := set.Join([]*Variable{a})[0]
	x := g.Input("x", 2)
	g.Dispatch(accumulate, &addParams{2}, x, g.Variable(block))
	after := add(g.Variable(a), g.Variable(a)).Keep()
	d := reference.Open()
	p, err := Compile(t.Context(), d, set, g)
	require.NoError(t, err)
	defer p.Release()
	reader := NewGraph() // another graph, which has a alone
	other := add(reader.Input("zero", 2), add(reader.Variable(a), reader.Variable(a))).Keep()
	q, err := Compile(t.Context(), d, set, reader)
	require.NoError(t, err)
	defer q.Release()
	require.Equal(t, 1, q.Dispatches(), "the other depends on parameters alone")
	require.NoError(t, q.Run(t.Context()))

	require.NoError(t, p.Write(x, []float32{1, 2}))
	require.NoError(t, p.Run(t.Context()))
	require.Equal(t, []float32{0, 0}, read(t, p, double))
	require.Equal(t, []float32{2, 4}, read(t, p, after))
	require.NoError(t, q.Run(t.Context()))
	require.Equal(t, []float32{2, 4}, read(t, q, other))
}
