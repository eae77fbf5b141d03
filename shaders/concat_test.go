package shaders

import "testing"

func TestConcat(t *testing.T) {
	for _, shapes := range [][][]int{{{1, 1}, {1, 2}}, {{3, 5, 7, 2}, {3, 5, 7, 9}}, {{2, 40, 40, 64}, {2, 40, 40, 32}}} {
		for _, fixed := range []map[int]bool{nil, {0: true}, {1: true}} {
			checkOperator(t, operatorTest{
				inputs: shapes,
				build:  func(x []*Tensor) *Tensor { return Concat(x[0], x[1]) },
				fixed:  fixed, half: rounded,
			})
		}
	}
}

func TestSlice(t *testing.T) {
	for _, c := range []struct {
		shape    []int
		from, to int
	}{{[]int{1, 1}, 0, 1}, {[]int{3, 3, 12, 5}, 0, 7}, {[]int{3, 3, 12, 5}, 7, 12}, {[]int{5, 64, 96}, 16, 48}} {
		checkOperator(t, operatorTest{
			inputs: [][]int{c.shape},
			build:  func(x []*Tensor) *Tensor { return Slice(x[0], c.from, c.to) },
			half:   rounded,
		})
	}
}
