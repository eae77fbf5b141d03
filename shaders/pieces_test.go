package shaders

import (
	"runtime"
	"testing"

	"mrprism/internal/compute/gpu/device"
	"mrprism/internal/compute/gpu/gputest"
	"mrprism/internal/compute/tensor"

	"github.com/stretchr/testify/require"
)

// What the processor computes does not depend on how many threads share it, to the last bit.
func TestThreadsDoNotMatter(t *testing.T) {
	maps := []int{2, 31, 33, 3, 2}
	image := []int{2, 31, 33, 5}
	for name, o := range map[string]operatorTest{
		"fuse": {inputs: [][]int{maps, maps}, build: func(x []*tensor.Tensor) *tensor.Tensor {
			return Fuse(x[0], x[1], oneMissing(x[0].Graph(), maps[0], maps[3], maps[4]))
		}},
		"likelihood": {inputs: [][]int{maps, maps}, fill: probability, fixed: map[int]bool{1: true}, build: func(x []*tensor.Tensor) *tensor.Tensor {
			return LikelihoodRule(x[0], x[1], oneMissing(x[0].Graph(), maps[0], maps[3], maps[4]), 1.5)
		}},
		"cross-entropy": {inputs: [][]int{image, image}, fill: probability, fixed: map[int]bool{1: true}, build: func(x []*tensor.Tensor) *tensor.Tensor {
			return Sum(CrossEntropy(x[0], x[1], .01))
		}},
		"dice":       {inputs: [][]int{image, image}, fixed: map[int]bool{1: true}, build: func(x []*tensor.Tensor) *tensor.Tensor { return DiceLoss(x[0], x[1]) }},
		"ssim":       {inputs: [][]int{image, image}, build: func(x []*tensor.Tensor) *tensor.Tensor { return SSIMLoss(x[0], x[1]) }},
		"clip":       {inputs: [][]int{image}, fixed: map[int]bool{0: true}, build: func(x []*tensor.Tensor) *tensor.Tensor { return SquareSum(x[0]) }},
		"layer norm": {inputs: [][]int{image, {5}, {5}}, build: func(x []*tensor.Tensor) *tensor.Tensor { return LayerNorm(x[0], x[1], x[2], 1e-5) }},
		"batch norm": {
			inputs: [][]int{image, {5}, {5}, {5}, {5}}, fill: far, fixed: map[int]bool{3: true, 4: true},
			build: func(x []*tensor.Tensor) *tensor.Tensor {
				return batchNormReLU(x[0], x[1], x[2], x[3], x[4], true, 1e-5, .1)
			},
		},
		"batch norm in vectors": {
			inputs: [][]int{{2, 31, 33, 16}, {16}, {16}, {16}, {16}}, fill: far, fixed: map[int]bool{3: true, 4: true},
			build: func(x []*tensor.Tensor) *tensor.Tensor {
				return BatchNorm(x[0], x[1], x[2], x[3], x[4], true, 1e-5, .1)
			},
		},
		"convolution": {inputs: [][]int{image, {3, 3, 5, 40}}, build: func(x []*tensor.Tensor) *tensor.Tensor { return Conv2D(x[0], x[1], nil, Square(1, 1)) }},
		"depthwise":   {inputs: [][]int{image, {3, 3, 5}}, build: func(x []*tensor.Tensor) *tensor.Tensor { return DepthwiseConv2D(x[0], x[1], nil, Square(1, 1)) }},
		"attention":   {inputs: [][]int{{2, 70, 8}, {2, 45, 16}}, build: func(x []*tensor.Tensor) *tensor.Tensor { return Attention(x[0], x[1], 2) }},
		"blur":        {inputs: [][]int{image}, build: func(x []*tensor.Tensor) *tensor.Tensor { return GaussianBlur(x[0], 1.5, 5) }},
		"pooling": {inputs: [][]int{image}, build: func(x []*tensor.Tensor) *tensor.Tensor {
			return AveragePool(MaxPool(x[0], 3, 3, Square(2, 1)), 3, 3, Square(2, 1))
		}},
		"resizing": {inputs: [][]int{image}, build: func(x []*tensor.Tensor) *tensor.Tensor { return GELU(Resize(x[0], 50, 20)) }},
		"table":    {inputs: [][]int{image, {31, 33, 5}}, build: func(x []*tensor.Tensor) *tensor.Tensor { return AddBroadcast(Scale(x[0], 2), x[1]) }},
	} {
		t.Run(name, func(t *testing.T) {
			d := gputest.Require(t, device.Processor)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			want := o.run(t, t.Context(), d)
			for _, threads := range []int{2, 3, 7} {
				runtime.GOMAXPROCS(threads)
				got := o.run(t, t.Context(), d)
				require.Equal(t, want, got, "%d threads", threads)
			}
		})
	}
}
