package tensor

import (
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/require"
)

// copied is y = a.
var copied = &Kernel{
	Name: "copied", Arguments: []gpu.Access{gpu.Read, gpu.ReadWrite}, Copies: true,
	Body:     Body(func(p *addParams, a []gpu.Array) { copy(a[1].F[:p.N], a[0].F) }),
	Variants: []Variant{{Source: "const SIZE: u32 = 64u;", Groups: func(p any) [3]int { return Linear(int(p.(*addParams).N), 64) }}},
}

// A result that is copied to a variable is computed in the variable, unless this would change what
// another operator reads.
func TestCopiesToVariables(t *testing.T) {
	put := func(v, x *Tensor) { v.Graph().Dispatch(copied, &addParams{2}, x, v) }
	for _, c := range []struct {
		name        string
		build       func(x, v *Tensor) (y *Tensor)
		dispatches  int
		want, holds []float32 // y and the variable, of x = 10, 20 and the variable 1, 2
	}{
		{"made of the variable itself", func(x, v *Tensor) *Tensor { y := add(x, v); put(v, y); return add(y, x) }, 3, []float32{21, 42}, []float32{11, 22}},
		{"read afterwards", func(x, v *Tensor) *Tensor { put(v, add(x, x)); return add(v, x) }, 2, []float32{30, 60}, []float32{20, 40}},
		{"made and copied, read between", func(x, v *Tensor) *Tensor { a := add(x, x); y := add(x, v); put(v, a); return y }, 3, []float32{11, 22}, []float32{20, 40}},
		{"written again", func(x, v *Tensor) *Tensor { a := add(x, x); put(v, a); put(v, x); return add(a, x) }, 4, []float32{30, 60}, []float32{10, 20}},
		{"kept", func(x, v *Tensor) *Tensor { a := add(x, x).Keep(); put(v, a); return a }, 2, []float32{20, 40}, []float32{20, 40}},
		{"zeros", func(x, v *Tensor) *Tensor {
			a := x.Graph().New("a", x.Shape())
			a.Graph().Zero(a)
			put(v, a)
			return add(a, x)
		}, 2, []float32{10, 20}, []float32{0, 0}},
		{"an input", func(x, v *Tensor) *Tensor { put(v, x); return add(v, x) }, 2, []float32{20, 40}, []float32{10, 20}},
		{"made in two parts", func(x, v *Tensor) *Tensor {
			a := add(x, x)
			a.Graph().Dispatch(accumulate, &addParams{2}, x, a)
			put(v, a)
			return add(a, x)
		}, 4, []float32{40, 80}, []float32{30, 60}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, set := NewGraph(), NewSet()
			variable := set.Variable(Shared, "v", 2)
			x := g.Input("x", 2)
			y := c.build(x, g.Variable(variable)).Keep()
			device := reference.Open()
			for range 2 { // a graph may be compiled again
				p, err := Compile(t.Context(), device, set, g)
				require.NoError(t, err)
				defer p.Release()
				require.Equal(t, c.dispatches, p.Dispatches())
				require.NoError(t, set.Write(variable, []float32{1, 2}))
				require.NoError(t, p.Write(x, []float32{10, 20}))
				require.NoError(t, p.Run(t.Context()))
				require.Equal(t, c.want, read(t, p, y))
				held, err := set.Read(t.Context(), variable)
				require.NoError(t, err)
				require.Equal(t, c.holds, held[0])
			}
		})
	}
}
