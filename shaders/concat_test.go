package shaders

import "testing"

func TestConcat(t *testing.T) {
	for _, shapes := range [][][]int{{{1, 1}, {1, 2}}, {{3, 5, 7, 2}, {3, 5, 7, 9}}, {{2, 40, 40, 64}, {2, 40, 40, 32}}} {
		for _, fixed := range []map[int]bool{nil, {0: true}, {1: true}} {
			checkOperator(t, operatorTest{
				inputs: shapes,
				build:  func(x []*Tensor) *Tensor { return Concat(x[0], x[1]) },
				fixed:  fixed,
			})
		}
	}
}
