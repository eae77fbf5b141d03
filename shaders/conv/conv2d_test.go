package conv_test

import (
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"testing"
)

func TestConv2D(t *testing.T) {
	for name, c := range map[string]struct {
		x, weight []int
		win       conv.Window
	}{
		"3x3":                   {[]int{2, 8, 8, 32}, []int{3, 3, 32, 32}, conv.Square(1, 1)},
		"3x3 odd":               {[]int{1, 5, 7, 9}, []int{3, 3, 9, 5}, conv.Square(1, 1)},
		"3x3 narrow":            {[]int{2, 6, 6, 16}, []int{3, 3, 16, 2}, conv.Square(1, 1)},
		"3x3 wide":              {[]int{1, 4, 4, 40}, []int{3, 3, 40, 72}, conv.Square(1, 1)},
		"3x3 stride 2":          {[]int{2, 8, 8, 16}, []int{3, 3, 16, 32}, conv.Square(2, 1)},
		"3x3 stride 2 odd":      {[]int{1, 7, 9, 6}, []int{3, 3, 6, 10}, conv.Square(2, 1)},
		"1x1 stride 2":          {[]int{2, 6, 6, 16}, []int{1, 1, 16, 32}, conv.Square(2, 0)},
		"1x1":                   {[]int{2, 3, 5, 12}, []int{1, 1, 12, 20}, conv.Square(1, 0)},
		"stem":                  {[]int{1, 17, 15, 3}, []int{7, 7, 3, 32}, conv.Square(2, 3)},
		"rater stem":            {[]int{1, 16, 16, 2}, []int{8, 8, 2, 24}, conv.Square(2, 3)},
		"one pixel":             {[]int{1, 1, 1, 4}, []int{3, 3, 4, 8}, conv.Square(2, 1)},
		"unlike sides":          {[]int{1, 6, 9, 4}, []int{2, 3, 4, 8}, conv.Window{StrideY: 2, StrideX: 3, Top: 1, Left: 0, Bottom: 0, Right: 2}},
		"stride beyond kernel":  {[]int{1, 9, 9, 4}, []int{2, 2, 4, 8}, conv.Square(4, 0)},
		"few results":           {[]int{1, 3, 5, 72}, []int{3, 3, 72, 20}, conv.Square(1, 1)}, // long sums, in slices
		"few results, stride 2": {[]int{2, 5, 3, 60}, []int{3, 3, 60, 36}, conv.Square(2, 1)},
		"many pixels, few taps": {[]int{2, 24, 24, 4}, []int{3, 3, 4, 8}, conv.Square(1, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			bias := c.weight[3:]
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{c.x, c.weight, bias},
				Build:  func(x []*tensor.Tensor) *tensor.Tensor { return conv.Conv2D(x[0], x[1], x[2], c.win) },
				Half:   2 * shadertest.Rounded, Mixed: 2 * shadertest.Rounded, Params: []int{1, 2}, // and sums of eight products in steps of a half
			})
		})
	}
}

func TestConv2DWithoutBiasOrInputGradient(t *testing.T) {
	shadertest.Check(t, shadertest.Operator{
		Inputs: [][]int{{2, 9, 9, 3}, {3, 3, 3, 8}},
		Build:  func(x []*tensor.Tensor) *tensor.Tensor { return conv.Conv2D(x[0], x[1], nil, conv.Square(2, 1)) },
		Half:   2 * shadertest.Rounded, Mixed: 2 * shadertest.Rounded, Params: []int{1, 2},
		Fixed: map[int]bool{0: true},
	})
}

func TestConvTranspose2x2(t *testing.T) {
	for _, c := range [][]int{{2, 4, 4, 16, 32}, {1, 3, 5, 7, 2}, {1, 1, 2, 40, 33}, {2, 16, 16, 4, 4}, {1, 3, 5, 148, 20}} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{c[:4], {2, 2, c[3], c[4]}, {c[4]}},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return conv.ConvTranspose2x2(x[0], x[1], x[2]) },
			Half:   2 * shadertest.Rounded, Mixed: 2 * shadertest.Rounded, Params: []int{1, 2},
		})
	}
}

func TestLinear(t *testing.T) {
	for _, c := range []struct{ x, weight []int }{
		{[]int{37, 19}, []int{19, 23}},
		{[]int{2, 5, 5, 64}, []int{64, 96}},
		{[]int{3, 4}, []int{4, 1}},
		{[]int{1, 1}, []int{1, 1}},
		{[]int{600, 3}, []int{3, 40}},
		{[]int{9, 300}, []int{300, 36}},
	} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{c.x, c.weight, c.weight[1:]},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return conv.Linear(x[0], x[1], x[2]) },
			Half:   2 * shadertest.Rounded, Mixed: 2 * shadertest.Rounded, Params: []int{1, 2},
		})
	}
}

// In training a linear map adds a table to its first outputs, in each image.
func TestLinearWithTableOfSome(t *testing.T) {
	for _, outputs := range []int{10, 36} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{{3, 5, 4}, {4, outputs}, {outputs}, {1, 5, 4}},
			Build: func(x []*tensor.Tensor) *tensor.Tensor {
				zeros := x[0].Graph().Constant("zeros", make([]float32, 5*(outputs-4)), 1, 5, outputs-4)
				return pointwise.AddBroadcast(conv.Linear(x[0], x[1], x[2]), pointwise.Concat(x[3], zeros))
			},
		})
	}
}

func TestLinearWithoutBias(t *testing.T) {
	shadertest.Check(t, shadertest.Operator{
		Inputs: [][]int{{9, 8}, {8, 8}},
		Build:  func(x []*tensor.Tensor) *tensor.Tensor { return conv.Linear(x[0], x[1], nil) },
		Half:   2 * shadertest.Rounded, Mixed: 2 * shadertest.Rounded, Params: []int{1, 2},
	})
}

func TestDepthwiseConv2D(t *testing.T) {
	for _, c := range []struct {
		x, weight []int
		win       conv.Window
	}{
		{[]int{2, 8, 8, 8}, []int{5, 5, 8}, conv.Square(2, 2)},
		{[]int{1, 7, 9, 5}, []int{3, 3, 5}, conv.Square(2, 1)},
		{[]int{2, 33, 17, 3}, []int{3, 3, 3}, conv.Square(1, 1)},
	} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{c.x, c.weight, c.weight[2:]},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return conv.DepthwiseConv2D(x[0], x[1], x[2], c.win) },
			Half:   shadertest.Rounded, Mixed: shadertest.Rounded, Params: []int{1, 2},
		})
	}
}

func TestGroupedLinear(t *testing.T) {
	for _, c := range []struct{ x, weight []int }{
		{[]int{2, 4, 4, 64}, []int{4, 16, 2}},
		{[]int{5, 6}, []int{3, 2, 7}},
		{[]int{700, 2}, []int{1, 2, 1}},
	} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{c.x, c.weight, {c.weight[0], c.weight[2]}},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return conv.GroupedLinear(x[0], x[1], x[2]) },
			Half:   shadertest.Rounded, Mixed: shadertest.Rounded, Params: []int{1, 2},
		})
	}
	shadertest.Check(t, shadertest.Operator{ // in one dispatch
		Inputs: [][]int{{5, 6}, {3, 2, 7}, {3, 7}},
		Build: func(x []*tensor.Tensor) *tensor.Tensor {
			return pointwise.Sigmoid(conv.GroupedLinear(x[0], x[1], x[2]))
		},
		Half: shadertest.Rounded, Mixed: shadertest.Rounded, Params: []int{1, 2},
	})
}
