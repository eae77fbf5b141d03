package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"

	"github.com/stretchr/testify/require"
)

// The largest sums of three values in one number do not run into each other.
func TestAddProducts(t *testing.T) {
	x, weights := make([]int64, mostProducts), make([]int8, 4*mostProducts)
	for _, values := range [][abreast]int64{{127, 127, 127}, {-127, -127, -127}, {127, -127, 127}, {-127, 127, -127}, {1, 0, -127}, {-1, -127, 0}} {
		for i := range x {
			x[i] = values[0] + values[1]<<apart + values[2]<<(2*apart)
		}
		for i := range weights {
			weights[i] = []int8{127, -127, 1, 0}[i/4%4] // of each output
		}
		sums := make([][abreast]int32, 4)
		addProducts(sums, x, weights)
		addProducts(sums, x[:4], weights)
		for n, weight := range []int64{127, -127, 1, 0} {
			for i, value := range values {
				require.EqualValues(t, (mostProducts+4)*weight*value, sums[n][i], "%d times %d", weight, value)
			}
		}
	}
}

// A depthwise convolution and its gradients are those of the reference at every level of vectors.
// They are the same to the bit wherever positions are cut.
func TestDepthwiseInVectors(t *testing.T) {
	type body struct {
		exact func(p *Params, a []gpu.Array, from, to int)
		fast  func(p *Params, a []gpu.Array32, from, to int)
	}
	forward, weight := body{depthwiseForwardBody, depthwiseForwardFast}, body{depthwiseWeightBody, depthwiseWeightFast}
	check := func(name string, b body, p *Params, pieces int, elements ...int) {
		r, exact, fast := rand.New(rand.NewPCG(1, 2)), make([]gpu.Array, len(elements)), make([]gpu.Array32, len(elements))
		for i, n := range elements {
			for range n {
				v := float32(r.NormFloat64())
				exact[i].F, fast[i].F = append(exact[i].F, float64(v)), append(fast[i].F, v)
			}
		}
		last := len(elements) - 1
		before := fast[last].F
		b.exact(p, exact, 0, pieces)
		defer vector.Use(vector.Current())
		for _, l := range vector.Levels() {
			vector.Use(l)
			run := func(cuts ...int) []float32 {
				fast[last].F = append([]float32(nil), before...)
				from := 0
				for _, to := range append(cuts, pieces) {
					b.fast(p, fast, from, to)
					from = to
				}
				return fast[last].F
			}
			got, far := run(), 0.
			for i, want := range exact[last].F {
				far = max(far, math.Abs(want-float64(got[i])))
			}
			require.Less(t, far, 1e-4, "%s, %s", name, l.Name)
			require.Equal(t, got, run(pieces/3, pieces/2), "%s, %s: in pieces", name, l.Name)
		}
	}
	for _, c := range []struct {
		kernel [2]int
		win    Window
	}{
		{[2]int{3, 3}, Square(1, 1)},
		{[2]int{3, 3}, Square(2, 1)},
		{[2]int{3, 3}, Window{StrideY: 2, StrideX: 2, Bottom: 1, Right: 1}},
		{[2]int{2, 3}, Window{StrideY: 2, StrideX: 3, Top: 1, Right: 2}},
		{[2]int{5, 5}, Window{StrideY: 1, StrideX: 2, Top: 4, Left: 1, Bottom: 2, Right: 3}},
		{[2]int{1, 2}, Square(1, 3)}, // some positions see padding alone
		{[2]int{9, 9}, Square(1, 4)}, // no position sees pixels alone
	} {
		for _, channels := range []int{3, 17, 40} {
			const batch, height, width = 2, 7, 8
			rows, cols := c.win.Output("test", height, width, c.kernel[0], c.kernel[1])
			taps, x, y := c.kernel[0]*c.kernel[1]*channels, batch*height*width*channels, batch*rows*cols*channels
			p := Params{
				Batch: batch, Inputs: uint32(channels), Outputs: uint32(channels),
				Rows: forwardAxis(height, rows, c.kernel[0], c.win.StrideY, c.win.Top),
				Cols: forwardAxis(width, cols, c.kernel[1], c.win.StrideX, c.win.Left),
			}
			name := fmt.Sprintf("%v, %v, %d channels", c.kernel, c.win, channels)
			for _, act := range []*tensor.Kind{nil, pointwise.ReLUKind, pointwise.GELUKind, pointwise.ReLU6Kind} {
				now := p
				now.Activation, now.HasBias = pointwise.Activation(act), 1
				check(name+", forward", forward, &now, now.pixels(), x, taps, channels, y)
			}
			check(name+", without bias", forward, &p, p.pixels(), x, taps, 1, y)
			for phaseY := range c.win.StrideY {
				for phaseX := range c.win.StrideX {
					g := p
					g.Adds = addToY
					g.Rows = adjointAxis(height, rows, c.kernel[0], c.win.StrideY, c.win.Top, phaseY)
					g.Cols = adjointAxis(width, cols, c.kernel[1], c.win.StrideX, c.win.Left, phaseX)
					check(name+", gradient by x", forward, &g, g.pixels(), y, taps, 1, x)
				}
			}
			for _, parts := range []int{1, 4} {
				p.Parts, p.Chunk, p.Adds = uint32(parts), uint32((p.pixels()+parts-1)/parts), uint32(parts%2)
				check(name+", gradient by weight", weight, &p, parts, x, y, parts*taps)
			}
		}
	}
}

// The gradient by the weight leaves the room as long as it was: others read all of it.
func TestRoomStaysLong(t *testing.T) {
	axis := conv2dAxis{Count: 1, Taps: 1, XSize: 1, XStep: 1, XTap: 1, YSize: 1, YStep: 1, WSize: 1, WTap: 1}
	g := weightGradient{Params: &Params{Batch: 1, Inputs: 1, Outputs: 1, Parts: 1, Chunk: 1, Rows: axis, Cols: axis}, rows: 1}
	room, dy := &kernels.Room{Sums: make([]float32, 1000)}, new(vector.Matrix)
	dy.Reset(1, 1)
	dy.Pack(0, 0, 1, []float32{2}, 1)
	g.sum(dy, []float32{3}, room)
	require.EqualValues(t, 6, room.Sums[0])
	require.Len(t, room.Sums, 1000)
}
