package pointwise_test

import (
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"testing"
)

func TestSum(t *testing.T) {
	for _, shape := range [][]int{{1}, {16}, {17}, {3, 5, 7}, {2, 33, 65, 16}} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Sum(x[0]) },
		})
	}
}

func TestReduceRows(t *testing.T) {
	for _, shape := range [][]int{{50, 3}, {50, 8}, {4100, 8}} {
		columns := shape[1]
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape},
			Build: func(x []*tensor.Tensor) *tensor.Tensor {
				y := x[0].Graph().New("sums", []int{columns})
				pointwise.ReduceRows(pointwise.ReduceRowsWrite, x[0], y, columns)
				return y
			},
			Rough: true,
		})
	}
}

// SumRows is checked as the gradient of a table added to every image.
func TestAddBroadcast(t *testing.T) {
	for _, shape := range [][]int{{1, 1, 1, 1}, {16, 3, 5, 2}, {100, 1, 1, 3}, {50, 1, 1, 8}, {3, 16, 16, 20}, {5000, 1, 1, 5}} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape, shape[1:]},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.AddBroadcast(x[0], x[1]) },
			Half:   shadertest.Rounded, Mixed: shadertest.Rounded, Params: []int{1},
		})
	}
}
