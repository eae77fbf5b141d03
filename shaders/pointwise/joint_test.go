package pointwise_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// ran compiles a graph with values of its inputs and variables, and runs it once. It returns the
// number of dispatches of each entry point, and the results' values.
func ran(t *testing.T, d gpu.Device, set *tensor.Set, g *tensor.Graph, values map[any][]float32, results ...*tensor.Tensor) (map[string]int, [][]float32) {
	t.Helper()
	plan, err := shaders.Compile(t.Context(), d, set, g)
	require.NoError(t, err)
	defer plan.Release()
	defer set.Release()
	for of, v := range values {
		if x, ok := of.(*tensor.Tensor); ok {
			require.NoError(t, plan.Write(x, v))
		} else {
			require.NoError(t, set.Write(of.(*tensor.Variable), v))
		}
	}
	entries := map[string]int{}
	for _, c := range plan.Commands().Commands {
		if c.Program != nil {
			entries[c.Program.Entry]++
		}
	}
	require.NoError(t, plan.Run(t.Context()))
	read, err := plan.Read(t.Context(), results...)
	require.NoError(t, err)
	return entries, read
}

// quarters are n multiples of ¼, whose sums are exact in halves too.
func quarters(r *rand.Rand, n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(r.IntN(9)) / 4
	}
	return values
}

// Few dispatches add sums to the gradients of a block's members. A sum waits for others, but not
// until its source changes; and sums of whole quads do not wait for others.
func TestJointSums(t *testing.T) {
	shadertest.EachVariant(t, func(device string, d gpu.Device) {
		for floats, dispatches := range map[gpu.ElementType]int{gpu.F32: 4, gpu.F16: 5} {
			if !shadertest.CanStore(d, floats) {
				continue
			}
			g, set, r := tensor.NewGraph(), tensor.NewSet(), rand.New(rand.NewPCG(1, 2))
			values := map[any][]float32{}
			var members []*tensor.Variable
			var wants [][]float32
			member := func(shape ...int) *tensor.Tensor {
				v := set.Variable(tensor.Parameter, fmt.Sprint(len(members)), shape...)
				members, wants = append(members, v), append(wants, make([]float32, v.Elements()))
				return g.Variable(v)
			}
			input := func(floats gpu.ElementType, shape ...int) *tensor.Tensor {
				x := g.InputOf(floats, "input", shape...)
				values[x] = quarters(r, x.Elements())
				return x
			}
			sum := func(to int, x *tensor.Tensor, factor float32) {
				pointwise.SumRows(x, g.Variable(members[to]).Gradient())
				for i, v := range values[x] {
					wants[to][i%len(wants[to])] += factor * v
				}
			}
			for range 2 { // 12 of quads, of which 7 fill a dispatch, and 4 of columns
				for _, shape := range [][2]int{{1, 4}, {2, 1200}, {16, 8}, {17, 12}, {300, 36}, {70, 64}, {3, 5}, {40, 3}} {
					member(shape[1])
					sum(len(members)-1, input(floats, shape[0], shape[1]), 1)
				}
			}
			x := input(floats, 20, 4)
			doubled := g.InputOf(floats, "doubled", 20, 4)
			for _, v := range values[x] {
				values[doubled] = append(values[doubled], 2*v)
			}
			sum(0, x, 1)
			pointwise.Accumulate(x, doubled) // the sixth that waits has to run before
			sum(0, x, 3)
			a, b, z := member(6, 4), member(6, 8), input(gpu.F32, 6, 12)
			loss := pointwise.Sum(pointwise.Multiply(pointwise.Concat(a, b), z))
			for i, v := range values[z] {
				if row, column := i/12, i%12; column < 4 {
					wants[16][row*4+column] = v
				} else {
					wants[17][row*8+column-4] = v
				}
			}
			// Two slices of one weight, and a concat whose gradient is a sum over rows.
			w, e, f, rows := member(2, 6, 4), member(1, 4), member(1, 8), input(gpu.F32, 20, 12)
			whole := pointwise.AddBroadcast(g.Constant("zeros", make([]float32, 240), 20, 12), pointwise.Concat(e, f))
			loss = pointwise.Add(loss, pointwise.Sum(pointwise.Multiply(whole, rows)))
			for _, from := range []int{0, 2} {
				part := pointwise.Slice(w, from, 2+2*from)
				by := input(gpu.F32, part.Shape()...)
				loss = pointwise.Add(loss, pointwise.Sum(pointwise.Multiply(part, by)))
				for i, v := range values[by] {
					n := part.Dim(1) * 4
					wants[18][i/n*24+from*4+i%n] = v
				}
			}
			for i, v := range values[rows] {
				if column := i % 12; column < 4 {
					wants[19][column] += v
				} else {
					wants[20][column-4] += v
				}
			}
			g.Backward(loss, g.Constant("one", []float32{1}, 1))
			block := set.Join(members)[0]
			entries, got := ran(t, d, set, g, values, pointwise.Scale(g.Gradients(block), 1).Keep())
			require.Equal(t, dispatches, entries["add_sums"], "%s: %v", device, entries)
			require.Zero(t, entries["reduce_rows_add"]+entries["reduce_rows_add_sliced"]+entries["concat_backward"]+entries["slice_backward"])
			for i, at := 0, 0; i < len(members); i++ {
				require.Equal(t, wants[i], got[0][at:][:len(wants[i])], "%s: %v", device, members[i].Shape)
				at += (len(wants[i]) + 63) / 64 * 64
			}
		}
	})
}

// One dispatch moves the elements of a block's members: here it transposes, joins and cuts. What
// was made of its results is moved by a second one, and what has other sizes by dispatches of its own.
func TestJointMoves(t *testing.T) {
	shadertest.EachVariant(t, func(device string, d gpu.Device) {
		g, set, r := tensor.NewGraph(), tensor.NewSet(), rand.New(rand.NewPCG(3, 4))
		values := map[any][]float32{}
		var members []*tensor.Variable
		member := func(shape ...int) (*tensor.Tensor, []float32) {
			v := set.Variable(tensor.Parameter, fmt.Sprint(len(members)), shape...)
			members, values[v] = append(members, v), quarters(r, v.Elements())
			return g.Variable(v), values[v]
		}
		var results []*tensor.Tensor
		var wants [][]float32
		take := func(y *tensor.Tensor, of func(i int) float32) {
			want := make([]float32, y.Elements())
			for i := range want {
				want[i] = 2 * of(i)
			}
			results, wants = append(results, pointwise.Scale(y, 2).Keep()), append(wants, want)
		}
		a, as := member(3, 8, 20)
		b, bs := member(3, 8, 12)
		odd, odds := member(5, 4)
		take(pointwise.Transposed(a), func(i int) float32 { return as[i/160*160+i%8*20+i/8%20] })
		take(pointwise.Slice(b, 2, 6), func(i int) float32 { return bs[i/48*96+24+i%48] })
		both := pointwise.Concat(a, b)
		joined := func(row, column int) float32 {
			if column < 20 {
				return as[row*20+column]
			}
			return bs[row*12+column-20]
		}
		take(both, func(i int) float32 { return joined(i/32, i%32) })
		take(pointwise.Transposed(both), func(i int) float32 { return joined(i/256*8+i%8, i/8%32) })
		take(pointwise.Transposed(odd), func(i int) float32 { return odds[i%5*4+i/5] })
		take(pointwise.Slice(odd, 1, 3), func(i int) float32 { return odds[4+i] })
		block := g.Variable(set.Join(members)[0])
		pointwise.Accumulate(block, g.Input("step", block.Elements())) // later, so that it moves elements in every run
		entries, got := ran(t, d, set, g, values, results...)
		require.Equal(t, 2, entries["move_elements"], "%s: %v", device, entries)
		require.Equal(t, 1, entries["transpose"], "%s: %v", device, entries)
		for i := range wants {
			require.Equal(t, wants[i], got[i], "%s: %d", device, i)
		}
	})
}
