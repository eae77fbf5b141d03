package conv_test

import (
	"fmt"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// TestConvolutionAbsorbsSplit compares a convolution, what it absorbs and the split of the result,
// in one dispatch on every device, with the reference in one dispatch an operator. Keeping all
// intermediate results prevents fusion.
func TestConvolutionAbsorbsSplit(t *testing.T) {
	const batch, height, width = 1, 5, 7
	linear := func(x, w, bias *tensor.Tensor) *tensor.Tensor {
		return conv.Linear(x, w.Reshape(w.Dim(2), w.Dim(3)), bias)
	}
	for _, c := range []struct {
		name                   string
		inputs, outputs, first int
		kernel, enlarged       int
		apply                  func(x, w, bias *tensor.Tensor) *tensor.Tensor
		between                func(y, other *tensor.Tensor, each func(*tensor.Tensor) *tensor.Tensor) *tensor.Tensor
		halves                 bool
	}{
		{"linear", 8, 64, 32, 1, 1, linear, nil, false},
		{"linear, table", 12, 96, 32, 1, 1, linear, func(y, other *tensor.Tensor, _ func(*tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
			return pointwise.AddBroadcast(y, other)
		}, false},
		{"linear, long sums", 256, 24, 8, 1, 1, linear, nil, true}, // slices of a workgroup share them
		{"linear, first of no quads", 8, 38, 18, 1, 1, linear, nil, false},
		{"linear, sum, gelu, no quads", 5, 21, 20, 1, 1, linear, func(y, other *tensor.Tensor, each func(*tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
			return pointwise.GELU(each(pointwise.Add(other, y)))
		}, true},
		{"3×3", 8, 40, 8, 3, 1, func(x, w, bias *tensor.Tensor) *tensor.Tensor { return conv.Conv2D(x, w, bias, conv.Square(1, 1)) }, nil, true},
		{"transposed", 8, 36, 4, 2, 2, conv.ConvTranspose2x2, nil, false},
		{"linear, gelu of the result", 8, 64, 0, 1, 1, linear, nil, true},
		{"transposed, gelu of the result, no quads", 5, 21, 0, 2, 2, conv.ConvTranspose2x2, nil, false},
	} {
		test := shadertest.Operator{
			Inputs: [][]int{
				{batch, height, width, c.inputs}, {c.kernel, c.kernel, c.inputs, c.outputs}, {c.outputs},
				{batch, c.enlarged * height, c.enlarged * width, c.outputs},
			},
			Fixed: map[int]bool{0: true, 1: true, 2: true, 3: true},
		}
		if c.halves { // compiling takes nearly all of the time
			test.Half = 4 * shadertest.Rounded // GPUs add eight products in halves; results between are not stored
		}
		for _, test := range test.Storages() {
			operator := func(each func(*tensor.Tensor) *tensor.Tensor) func(x []*tensor.Tensor) *tensor.Tensor {
				return func(x []*tensor.Tensor) *tensor.Tensor {
					y := each(c.apply(x[0], x[1], x[2]))
					if c.between != nil {
						y = each(c.between(y, x[3], each))
					}
					if c.first == 0 {
						return pointwise.Concat(pointwise.GELU(y), y)
					}
					return pointwise.Concat(pointwise.Split(y, c.first))
				}
			}
			test.Build = operator((*tensor.Tensor).Keep)
			ref := reference.Open()
			want := test.Run(t, t.Context(), ref)
			test.Build = operator(func(x *tensor.Tensor) *tensor.Tensor { return x })
			fused := test.Compile(t, t.Context(), ref)
			require.Equal(t, 2, fused.Plan.Dispatches(), "%s: convolution and Concat", c.name)
			fused.Plan.Release()
			require.NoError(t, ref.Close())
			shadertest.EachVariant(t, func(device string, d gpu.Device) {
				if !test.RunsOn(d) {
					return
				}
				got := test.Run(t, t.Context(), d)
				test.Compare(t, device, fmt.Sprint(c.name, ", ", test.Floats), got[0], want[0])
			})
		}
	}
}

// A convolution does not absorb a split if another operator reads the whole result.
func TestSplitOfWhatIsReadWhole(t *testing.T) {
	g := tensor.NewGraph()
	x, w := g.Input("x", 3, 4), g.Input("w", 4, 8)
	y := conv.Linear(x, w, nil)
	a, b := pointwise.Split(y, 4)
	pointwise.Add(a, b).Keep()
	pointwise.ReLU(y).Keep()
	plan, err := shaders.Compile(t.Context(), reference.Open(), tensor.NewSet(), g)
	require.NoError(t, err)
	defer plan.Release()
	require.Equal(t, 4, plan.Dispatches())
}

// A convolution of int8 does not absorb a split: only the kernel of floats can write two results.
func TestSplitOfAnInt8Convolution(t *testing.T) {
	g := tensor.NewGraph()
	x, w := g.Input("x", 1, 3, 3, 4), g.Input("w", 1, 1, 4, 8)
	a, b := pointwise.Split(conv.Conv2DInt8(pointwise.Quantize(x, 0.5), w, nil, conv.Square(1, 0)), 4)
	a.Keep()
	b.Keep()
	plan, err := shaders.Compile(t.Context(), reference.Open(), tensor.NewSet(), g)
	require.NoError(t, err)
	require.Equal(t, 5, plan.Dispatches()) // x, the weight's scale and the weight in int8; the convolution; the split
	plan.Release()
}
