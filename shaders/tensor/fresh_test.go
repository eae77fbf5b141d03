package tensor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// added is y += a, which after zeroing is a copy. raised is the same of a kernel that never copies.
var added, raised = func() (*Kernel, *Kernel) {
	k, l := *accumulate, *accumulate
	k.Adds, k.Copies = func(any) bool { return true }, true
	l.Adds = k.Adds
	return &k, &l
}()

func TestWhatIsFirstAddedToIsNotZeroed(t *testing.T) {
	const n = 3
	p := &addParams{n}
	for _, c := range []struct {
		name     string
		build    func(g *Graph, a, d *Tensor) *Tensor // d is zeroed
		commands int
		want     float32 // where 2a = 2
	}{
		{"the sum is all there is", func(g *Graph, a, d *Tensor) *Tensor {
			g.Dispatch(added, p, a, d)
			return add(d, d)
		}, 1, 4},
		{"more is added", func(g *Graph, a, d *Tensor) *Tensor {
			g.Dispatch(added, p, a, d)
			g.Dispatch(accumulate, p, g.Constant("ten", []float32{10, 10, 10}, n), d)
			return add(d, d)
		}, 2, 24},
		{"the original is used again", func(g *Graph, a, d *Tensor) *Tensor {
			g.Dispatch(added, p, a, d)
			g.Dispatch(accumulate, p, g.Constant("ten", []float32{10, 10, 10}, n), d)
			return add(a, d)
		}, 3, 14},
		{"two take it: one copies", func(g *Graph, a, d *Tensor) *Tensor {
			e := g.New("e", []int{n})
			g.Zero(e)
			g.Dispatch(added, p, a, d)
			g.Dispatch(added, p, a, e)
			g.Dispatch(accumulate, p, g.Constant("ten", []float32{10, 10, 10}, n), e)
			return add(d, e)
		}, 3, 14},
		{"two take it, and neither changes", func(g *Graph, a, d *Tensor) *Tensor {
			e := g.New("e", []int{n})
			g.Zero(e)
			g.Dispatch(added, p, a, d)
			g.Dispatch(added, p, a, e)
			return add(d, e)
		}, 1, 4},
		{"the copy changes after the last use of the original", func(g *Graph, a, d *Tensor) *Tensor {
			g.Dispatch(added, p, a, d)
			y := add(a, d)
			g.Dispatch(accumulate, p, g.Constant("ten", []float32{10, 10, 10}, n), d)
			return add(y, d)
		}, 3, 16},
		{"no copy, but it takes zero", func(g *Graph, a, d *Tensor) *Tensor {
			g.Dispatch(raised, p, a, d)
			return add(d, a)
		}, 2, 4},
		{"something was added before", func(g *Graph, a, d *Tensor) *Tensor {
			g.Dispatch(accumulate, p, g.Constant("ten", []float32{10, 10, 10}, n), d)
			g.Dispatch(added, p, a, d)
			return add(d, d)
		}, 4, 24},
		{"it was something else before", func(g *Graph, a, d *Tensor) *Tensor {
			g.Dispatch(accumulate, p, g.Constant("ten", []float32{10, 10, 10}, n), d)
			before := add(d, d)
			g.Zero(d)
			g.Dispatch(added, p, a, d)
			return add(before, d)
		}, 5, 22},
		{"it becomes something else after", func(g *Graph, a, d *Tensor) *Tensor {
			g.Dispatch(added, p, a, d)
			before := add(d, d)
			g.Zero(d)
			g.Dispatch(accumulate, p, g.Constant("ten", []float32{10, 10, 10}, n), d)
			return add(before, d)
		}, 5, 14},
		{"what is kept has its own memory", func(g *Graph, a, d *Tensor) *Tensor {
			g.Dispatch(added, p, a, d)
			return d
		}, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewGraph()
			x := g.Input("x", n)
			a := add(x, x)
			d := g.New("d", []int{n})
			g.Zero(d)
			y := c.build(g, a, d).Keep()
			p := compile(t, NewSet(), g)
			require.Len(t, p.parts[everyRun].nodes, 1+c.commands)
			require.NoError(t, p.Write(x, []float32{1, 1, 1}))
			for range 2 {
				require.NoError(t, p.Run(t.Context()))
				require.Equal(t, []float32{c.want, c.want, c.want}, read(t, p, y))
			}
		})
	}
}
