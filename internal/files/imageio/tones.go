package imageio

import (
	"image"
	"math/bits"

	"mrprism/internal/files/raster"
)

// tones has the shown value for every 16-bit sample: 0 is black and 65535 white.
type tones [1 << 16]uint16

// samples returns the memory of a picture of 16-bit samples. For other pictures channels is 0.
func samples(src image.Image) (pix []uint8, stride, channels int) {
	switch m := src.(type) {
	case *image.Gray16:
		return m.Pix, m.Stride, 1
	case *image.RGBA64:
		return m.Pix, m.Stride, 4
	case *image.NRGBA64:
		return m.Pix, m.Stride, 4
	}
	return nil, 0, 0
}

// sample is a 16-bit sample.
func sample(p []uint8) uint32 { return uint32(p[0])<<8 | uint32(p[1]) }

// count counts the samples of each value. Alpha does not count, nor do transparent pixels. grey
// says that the channels of every pixel are equal.
func count(pix []uint8, stride, channels, w, h int) (counts []uint32, grey bool) {
	counts, grey = make([]uint32, 1<<16), true
	for y := range h {
		for row := pix[y*stride:][:2*channels*w]; len(row) > 0; row = row[2*channels:] {
			if channels == 4 && sample(row[6:]) == 0 {
				continue
			}
			first := sample(row)
			for c := range min(3, channels) {
				v := sample(row[2*c:])
				counts[v]++
				grey = grey && v == first
			}
		}
	}
	return counts, grey
}

// depth is how many bits the samples use: 8, 10, 12, 14 or 16. Microscopes and scanners write 10,
// 12 or 14 bits without saying so; their highest byte alone would be nearly black. Except in small
// pictures, a five-hundredth of the samples, such as hot pixels, may use more bits.
func depth(counts []uint32) int {
	total, largest := 0, len(counts)-1
	for _, n := range counts {
		total += int(n)
	}
	stray := 0
	if total >= 3*raster.Small {
		stray = total / 500
	}
	for beyond := int(counts[largest]); largest > 0 && beyond <= stray; beyond += int(counts[largest]) {
		largest--
	}
	used := bits.Len(uint(largest))
	return max(8, used+used%2)
}

// tonesOf decides how the 16-bit samples of a picture are shown, and returns how many bits they
// use. For other samples it returns 0 and nil. Grey is shown in the range of its values. Colours
// keep their proportions: their highest used bits are shown.
func tonesOf(src image.Image, header *Info) (int, *tones) {
	pix, stride, channels := samples(src)
	if channels == 0 {
		return 0, nil
	}
	counts, grey := count(pix, stride, channels, src.Bounds().Dx(), src.Bounds().Dy())
	used, t := depth(counts), &tones{}
	if header.Full {
		used = 16
	}
	for v := range t {
		t[v] = uint16(min(v<<(16-used), 0xffff))
	}
	most := float64(int(1)<<used - 1)
	if grey {
		h := raster.NewHistogram()
		for v, n := range counts {
			h.Add(float32(v), n/uint32(min(3, channels)))
		}
		if low, high := h.Range(raster.Span{}, raster.Span{High: most}); low > 0 || high != most {
			for v := range t {
				t[v] = uint16(raster.Level(float64(v), low, high)) * 0x101
			}
		}
	}
	if header.Inverted {
		for v := range t {
			t[v] = ^t[v]
		}
	}
	return used, t
}
