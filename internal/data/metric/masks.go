package metric

import (
	"fmt"
	"slices"
)

// Pixel is a mask's value, 0 or 1, or a probability. A probability above one half is inside.
type Pixel interface{ ~uint8 | ~float32 }

func inside[T Pixel](v T) bool { return float64(v) > 0.5 }

// requireSame panics if a and b, the numbers of values that the named function got, differ.
func requireSame(function string, a, b int) {
	if a != b {
		panic(fmt.Sprintf("metric: %s: %d values against %d", function, a, b))
	}
}

// Overlap counts the pixels inside of two masks, and inside both.
func Overlap[A, B Pixel](a []A, b []B) (inA, inB, both int) {
	requireSame("Overlap", len(a), len(b))
	for i, v := range a {
		here, there := inside(v), inside(b[i])
		if here {
			inA++
		}
		if there {
			inB++
		}
		if here && there {
			both++
		}
	}
	return inA, inB, both
}

// Dice is 2|A∩B|/(|A| + |B|) of two masks. Two empty masks give 1.
func Dice[A, B Pixel](a []A, b []B) float64 {
	inA, inB, both := Overlap(a, b)
	return share(both, inA+inB, 0)
}

// share is (2·both + ε)/(sum + ε), the Dice of two masks with `both` pixels in common and `sum`
// pixels in all. It is 1 if both masks are empty.
func share(both, sum int, epsilon float64) float64 {
	if sum == 0 {
		return 1
	}
	return (2*float64(both) + epsilon) / (float64(sum) + epsilon)
}

// Area is the number of pixels inside a mask.
func Area[T Pixel](mask []T) (n int) {
	for _, v := range mask {
		if inside(v) {
			n++
		}
	}
	return n
}

// Extent is the size of a mask in pixels: its area, the most of them in any one column, and in any
// one row.
type Extent struct{ Area, Height, Width int }

// ExtentOf is the extent of a mask (h, w), read once.
func ExtentOf[T Pixel](mask []T, w, h int) (e Extent) {
	requireSame("ExtentOf", len(mask), w*h)
	columns := make([]int, w+1)
	for y := range h {
		across := 0
		for x, v := range mask[y*w : (y+1)*w] {
			if inside(v) {
				columns[x]++
				across++
			}
		}
		e.Area, e.Width = e.Area+across, max(e.Width, across)
	}
	e.Height = slices.Max(columns)
	return e
}

// VerticalDiameter is the height of a mask (h, w).
func VerticalDiameter[T Pixel](mask []T, w, h int) int { return ExtentOf(mask, w, h).Height }

// VerticalRatio is the vertical cup-to-disc ratio of two masks (h, w).
func VerticalRatio[T Pixel](disc, cup []T, w, h int) float64 {
	return DiameterRatio(VerticalDiameter(disc, w, h), VerticalDiameter(cup, w, h))
}

// DiameterRatio is the cup's diameter / the disc's. It is 0 if the disc is empty, since a cup
// without a disc is meaningless.
func DiameterRatio(disc, cup int) float64 {
	if disc == 0 {
		return 0
	}
	return float64(cup) / float64(disc)
}
