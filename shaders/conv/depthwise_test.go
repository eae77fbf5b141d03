package conv_test

import (
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/conv"
	"mrprism/shaders/shadertest"
	"testing"
)

// Channels in quads, which have kernels of their own, and tiles for GPUs where there is room for
// what they see.
func TestDepthwiseConv2DInQuads(t *testing.T) {
	for name, c := range map[string]struct {
		x, weight []int
		win       conv.Window
	}{
		"part of a tile": {[]int{2, 9, 11, 12}, []int{5, 5, 12}, conv.Square(2, 2)},
		"one quad":       {[]int{1, 19, 6, 4}, []int{3, 3, 4}, conv.Square(1, 1)},
		"unlike sides":   {[]int{1, 7, 9, 8}, []int{2, 3, 8}, conv.Window{StrideY: 2, StrideX: 3, Top: 1, Left: 0, Bottom: 0, Right: 2}},
		"sees too much":  {[]int{1, 21, 33, 8}, []int{9, 9, 8}, conv.Square(3, 4)},
		"parts":          {[]int{2, 33, 17, 8}, []int{3, 3, 8}, conv.Square(1, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{c.x, c.weight, c.weight[2:]},
				Build:  func(x []*tensor.Tensor) *tensor.Tensor { return conv.DepthwiseConv2D(x[0], x[1], x[2], c.win) },
				Half:   shadertest.Rounded, Mixed: shadertest.Rounded, Params: []int{1, 2},
			})
		})
	}
}
