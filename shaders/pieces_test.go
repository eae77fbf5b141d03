package shaders_test

import (
	"runtime"
	"testing"

	"mrprism/shaders/adam"
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/loss"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// What the processor computes does not depend on how many threads share it, to the last bit.
func TestThreadsDoNotMatter(t *testing.T) {
	maps := []int{2, 31, 33, 3, 2}
	image := []int{2, 31, 33, 5}
	for name, o := range map[string]shadertest.Operator{
		"fuse": {Inputs: [][]int{maps, maps}, Build: func(x []*tensor.Tensor) *tensor.Tensor {
			return raters.Fuse(x[0], x[1], shadertest.OneMissing(x[0].Graph(), maps[0], maps[3], maps[4]))
		}},
		"likelihood": {Inputs: [][]int{maps, maps}, Fill: shadertest.Probability, Fixed: map[int]bool{1: true}, Build: func(x []*tensor.Tensor) *tensor.Tensor {
			return raters.LikelihoodRule(x[0], x[1], shadertest.OneMissing(x[0].Graph(), maps[0], maps[3], maps[4]), 1.5)
		}},
		"cross-entropy": {Inputs: [][]int{image, image}, Fill: shadertest.Probability, Fixed: map[int]bool{1: true}, Build: func(x []*tensor.Tensor) *tensor.Tensor {
			return pointwise.Sum(loss.CrossEntropy(x[0], x[1], .01))
		}},
		"dice":       {Inputs: [][]int{image, image}, Fixed: map[int]bool{1: true}, Build: func(x []*tensor.Tensor) *tensor.Tensor { return loss.Dice(x[0], x[1]) }},
		"ssim":       {Inputs: [][]int{image, image}, Build: func(x []*tensor.Tensor) *tensor.Tensor { return loss.SSIM(x[0], x[1]) }},
		"clip":       {Inputs: [][]int{image}, Fixed: map[int]bool{0: true}, Build: func(x []*tensor.Tensor) *tensor.Tensor { return adam.SquareSum(x[0]) }},
		"layer norm": {Inputs: [][]int{image, {5}, {5}}, Build: func(x []*tensor.Tensor) *tensor.Tensor { return norm.LayerNorm(x[0], x[1], x[2], 1e-5) }},
		"batch norm": {
			Inputs: [][]int{image, {5}, {5}, {5}, {5}}, Fill: shadertest.Far, Fixed: map[int]bool{3: true, 4: true},
			Build: func(x []*tensor.Tensor) *tensor.Tensor {
				return shadertest.BatchNormReLU(x[0], x[1], x[2], x[3], x[4], true, 1e-5, .1)
			},
		},
		"batch norm in vectors": {
			Inputs: [][]int{{2, 31, 33, 16}, {16}, {16}, {16}, {16}}, Fill: shadertest.Far, Fixed: map[int]bool{3: true, 4: true},
			Build: func(x []*tensor.Tensor) *tensor.Tensor {
				return norm.BatchNorm(x[0], x[1], x[2], x[3], x[4], true, 1e-5, .1)
			},
		},
		"convolution": {Inputs: [][]int{image, {3, 3, 5, 40}}, Build: func(x []*tensor.Tensor) *tensor.Tensor { return conv.Conv2D(x[0], x[1], nil, conv.Square(1, 1)) }},
		"depthwise": {Inputs: [][]int{image, {3, 3, 5}}, Build: func(x []*tensor.Tensor) *tensor.Tensor {
			return conv.DepthwiseConv2D(x[0], x[1], nil, conv.Square(1, 1))
		}},
		"attention": {Inputs: [][]int{{2, 70, 8}, {2, 45, 16}}, Build: func(x []*tensor.Tensor) *tensor.Tensor { return attention.Attention(x[0], x[1], 2) }},
		"blur":      {Inputs: [][]int{image}, Build: func(x []*tensor.Tensor) *tensor.Tensor { return pool.GaussianBlur(x[0], 1.5, 5) }},
		"pooling": {Inputs: [][]int{image}, Build: func(x []*tensor.Tensor) *tensor.Tensor {
			return pool.Average(pool.Max(x[0], 3, 3, conv.Square(2, 1)), 3, 3, conv.Square(2, 1))
		}},
		"resizing": {Inputs: [][]int{image}, Build: func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.GELU(pool.Resize(x[0], 50, 20)) }},
		"table":    {Inputs: [][]int{image, {31, 33, 5}}, Build: func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.AddBroadcast(pointwise.Scale(x[0], 2), x[1]) }},
	} {
		t.Run(name, func(t *testing.T) {
			d := gputest.Require(t, device.Processor)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			want := o.Run(t, t.Context(), d)
			for _, threads := range []int{2, 3, 7} {
				runtime.GOMAXPROCS(threads)
				got := o.Run(t, t.Context(), d)
				require.Equal(t, want, got, "%d threads", threads)
			}
		})
	}
}
