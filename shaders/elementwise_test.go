package shaders

import (
	"mrprism/internal/compute/tensor"
	"testing"
)

func TestAddAndScale(t *testing.T) {
	for _, shape := range [][]int{{1}, {3, 5, 7}, {2, 8, 8, 16}} {
		checkOperator(t, operatorTest{
			inputs: [][]int{shape, shape},
			build:  func(x []*tensor.Tensor) *tensor.Tensor { return Scale(Add(x[0], x[1]), -1.5) },
			half:   2 * rounded, mixed: 2 * rounded, // the sum, then its multiple
		})
		checkOperator(t, operatorTest{
			inputs: [][]int{shape},
			build:  func(x []*tensor.Tensor) *tensor.Tensor { return Add(x[0], x[0]) },
			half:   rounded, mixed: rounded,
		})
	}
}
