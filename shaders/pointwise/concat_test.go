package pointwise_test

import (
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"testing"
)

func TestConcat(t *testing.T) {
	for _, shapes := range [][][]int{{{1, 1}, {1, 2}}, {{3, 5, 7, 2}, {3, 5, 7, 9}}, {{2, 40, 40, 64}, {2, 40, 40, 32}}} {
		for _, fixed := range []map[int]bool{nil, {0: true}, {1: true}} {
			shadertest.Check(t, shadertest.Operator{
				Inputs: shapes,
				Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Concat(x[0], x[1]) },
				Fixed:  fixed, Half: shadertest.Rounded, Mixed: shadertest.Rounded,
			})
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		shape []int
		first int
		parts func(a, b *tensor.Tensor) *tensor.Tensor // of what is made with the parts
	}{
		{[]int{1, 2}, 1, pointwise.Add}, {[]int{3, 5, 7, 12}, 6, pointwise.Add},
		{[]int{3, 5, 7, 11}, 2, func(a, b *tensor.Tensor) *tensor.Tensor { return pointwise.Concat(b, a) }},
		{[]int{2, 40, 40, 96}, 64, func(a, b *tensor.Tensor) *tensor.Tensor { return pointwise.Concat(b, a) }},
		{[]int{4, 9}, 3, func(a, _ *tensor.Tensor) *tensor.Tensor { return pointwise.Scale(a, 2) }},
		{[]int{4, 9}, 3, func(_, b *tensor.Tensor) *tensor.Tensor { return pointwise.Scale(b, 2) }},
	} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{c.shape},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return c.parts(pointwise.Split(x[0], c.first)) },
			Half:   shadertest.Rounded, Mixed: shadertest.Rounded,
		})
	}
}

func TestSlice(t *testing.T) {
	for _, c := range []struct {
		shape    []int
		from, to int
	}{{[]int{1, 1}, 0, 1}, {[]int{3, 3, 12, 5}, 0, 7}, {[]int{3, 3, 12, 5}, 7, 12}, {[]int{5, 64, 96}, 16, 48}} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{c.shape},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Slice(x[0], c.from, c.to) },
			Half:   shadertest.Rounded, Mixed: shadertest.Rounded,
		})
	}
}
