package metrics

import (
	"math/bits"

	"mrprism/internal/data/metric"
)

// Bits is a mask with one bit a pixel, so that 64 pixels are compared at once.
type Bits struct {
	words        []uint64
	area, pixels int
}

// Pack makes bits of a mask, or of a map of probabilities: 1 above one half.
func Pack[T metric.Pixel](mask []T) Bits {
	b := Bits{words: make([]uint64, (len(mask)+63)/64), pixels: len(mask)}
	for i, v := range mask {
		if inside(v) {
			b.words[i/64] |= 1 << (i % 64)
			b.area++
		}
	}
	return b
}

// Area is the number of pixels inside.
func (b Bits) Area() int { return b.area }

// Dice is 2|A∩B|/(|A| + |B|). Two empty masks give 1.
func (b Bits) Dice(other Bits) float64 {
	requireSame("Bits.Dice", b.pixels, other.pixels)
	if b.area+other.area == 0 {
		return 1
	}
	both := 0
	for i, word := range b.words {
		both += bits.OnesCount64(word & other.words[i])
	}
	return 2 * float64(both) / float64(b.area+other.area)
}
