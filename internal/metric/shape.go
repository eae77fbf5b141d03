package metric

import "fmt"

// Area is the number of pixels inside a mask.
func Area[T Pixel](mask []T) int {
	n := 0
	for _, v := range mask {
		if inside(v) {
			n++
		}
	}
	return n
}

// VerticalDiameter is the largest number of pixels inside the mask (h, w) in any one column.
func VerticalDiameter[T Pixel](mask []T, w, h int) int {
	if len(mask) != w*h {
		panic(fmt.Sprintf("metric: VerticalDiameter: %d values for %d×%d", len(mask), w, h))
	}
	columns := make([]int, w)
	most := 0
	for i, v := range mask {
		if inside(v) {
			columns[i%w]++
			most = max(most, columns[i%w])
		}
	}
	return most
}

// VerticalRatio is the vertical cup-to-disc ratio: cup's diameter / disc's; 0 without a disc, where a cup says nothing.
func VerticalRatio[T Pixel](disc, cup []T, w, h int) float64 {
	outer := VerticalDiameter(disc, w, h)
	if outer == 0 {
		return 0
	}
	return float64(VerticalDiameter(cup, w, h)) / float64(outer)
}
