package shaders

import (
	"mrprism/internal/compute/tensor"
	"testing"
)

func TestConcat(t *testing.T) {
	for _, shapes := range [][][]int{{{1, 1}, {1, 2}}, {{3, 5, 7, 2}, {3, 5, 7, 9}}, {{2, 40, 40, 64}, {2, 40, 40, 32}}} {
		for _, fixed := range []map[int]bool{nil, {0: true}, {1: true}} {
			checkOperator(t, operatorTest{
				inputs: shapes,
				build:  func(x []*tensor.Tensor) *tensor.Tensor { return Concat(x[0], x[1]) },
				fixed:  fixed, half: rounded, mixed: rounded,
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
		{[]int{1, 2}, 1, Add}, {[]int{3, 5, 7, 12}, 6, Add},
		{[]int{3, 5, 7, 11}, 2, func(a, b *tensor.Tensor) *tensor.Tensor { return Concat(b, a) }},
		{[]int{2, 40, 40, 96}, 64, func(a, b *tensor.Tensor) *tensor.Tensor { return Concat(b, a) }},
		{[]int{4, 9}, 3, func(a, _ *tensor.Tensor) *tensor.Tensor { return Scale(a, 2) }},
		{[]int{4, 9}, 3, func(_, b *tensor.Tensor) *tensor.Tensor { return Scale(b, 2) }},
	} {
		checkOperator(t, operatorTest{
			inputs: [][]int{c.shape},
			build:  func(x []*tensor.Tensor) *tensor.Tensor { return c.parts(Split(x[0], c.first)) },
			half:   rounded, mixed: rounded,
		})
	}
}

func TestSlice(t *testing.T) {
	for _, c := range []struct {
		shape    []int
		from, to int
	}{{[]int{1, 1}, 0, 1}, {[]int{3, 3, 12, 5}, 0, 7}, {[]int{3, 3, 12, 5}, 7, 12}, {[]int{5, 64, 96}, 16, 48}} {
		checkOperator(t, operatorTest{
			inputs: [][]int{c.shape},
			build:  func(x []*tensor.Tensor) *tensor.Tensor { return Slice(x[0], c.from, c.to) },
			half:   rounded, mixed: rounded,
		})
	}
}
