package shaders_test

import (
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A convolution takes as many operations for each of its gradients as forward; attention, which
// computes the weights again, 18 products in all for 4 forward.
func TestWork(t *testing.T) {
	convolution := func(win conv.Window) func(x ...*tensor.Tensor) *tensor.Tensor {
		return func(x ...*tensor.Tensor) *tensor.Tensor { return conv.Conv2D(x[0], x[1], nil, win) }
	}
	for _, c := range []struct {
		name    string
		inputs  [][]int
		build   func(x ...*tensor.Tensor) *tensor.Tensor
		forward float64 // multiply-adds
		all     float64 // forward and gradients, by forward
	}{
		{"convolution", [][]int{{1, 8, 8, 4}, {3, 3, 4, 8}}, convolution(conv.Square(1, 1)), 8 * 8 * 3 * 3 * 4 * 8, 3},
		{"of stride 2", [][]int{{2, 8, 8, 4}, {3, 3, 4, 8}}, convolution(conv.Square(2, 1)), 2 * 4 * 4 * 3 * 3 * 4 * 8, 3},
		{"transposed", [][]int{{1, 8, 8, 4}, {2, 2, 4, 8}}, func(x ...*tensor.Tensor) *tensor.Tensor { return conv.ConvTranspose2x2(x[0], x[1], nil) }, 16 * 16 * 4 * 8, 3},
		{"depthwise", [][]int{{1, 8, 8, 4}, {5, 5, 4}}, func(x ...*tensor.Tensor) *tensor.Tensor {
			return conv.DepthwiseConv2D(x[0], x[1], nil, conv.Square(1, 2))
		}, 8 * 8 * 5 * 5 * 4, 3},
		{"linear", [][]int{{2, 32, 16}, {16, 8}}, func(x ...*tensor.Tensor) *tensor.Tensor { return conv.Linear(x[0], x[1], nil) }, 2 * 32 * 16 * 8, 3},
		{"grouped", [][]int{{2, 32, 16}, {2, 8, 3}}, func(x ...*tensor.Tensor) *tensor.Tensor { return conv.GroupedLinear(x[0], x[1], nil) }, 2 * 32 * 16 * 3, 3},
		{"attention", [][]int{{2, 32, 16}, {2, 24, 32}}, func(x ...*tensor.Tensor) *tensor.Tensor { return attention.Attention(x[0], x[1], 4) }, 2 * 2 * 32 * 24 * 16, 4.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			count := func(backward bool) (operations float64) {
				g := tensor.NewGraph()
				var x []*tensor.Tensor
				for _, shape := range c.inputs {
					x = append(x, g.Input("x", shape...).Track())
				}
				y := c.build(x...).Keep()
				if backward {
					g.Backward(y, g.Input("dy", y.Shape()...))
					for _, x := range x {
						x.Gradient().Keep()
					}
				}
				plan, err := shaders.Compile(t.Context(), reference.Open(), tensor.NewSet(), g)
				require.NoError(t, err)
				defer plan.Release()
				commands := plan.Commands().Commands
				for _, command := range commands {
					if command.Program != nil {
						shape, n := shaders.Work(command)
						assert.NotEmpty(t, shape, command.Program.Name)
						operations += n
					}
				}
				return operations
			}
			assert.Equal(t, 2*c.forward, count(false))
			assert.Equal(t, 2*c.forward*c.all, count(true))
		})
	}
}
