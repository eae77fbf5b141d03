package imageio

import (
	"bytes"
	"image"
	"image/color"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bitWriter writes bits of a scan from the highest.
type bitWriter struct {
	out  []byte
	held uint32
	kept int
}

func (b *bitWriter) put(code uint32, n int) {
	for b.held, b.kept = b.held<<n|code, b.kept+n; b.kept >= 8; b.kept -= 8 {
		b.out = append(b.out, byte(b.held>>(b.kept-8)))
	}
}

// flatJPEG is a JPEG of 40×24 pixels of one colour, whose components have the levels 192, 193 and
// so on and the given sampling factors. marker is that of its frame: baseline or progressive.
func flatJPEG(marker byte, factors ...byte) []byte {
	const w, h = 40, 24
	data := append([]byte("\xff\xd8\xff\xdb\x00\x43\x00"), bytes.Repeat([]byte{8}, 64)...)
	data = append(data, 0xff, marker, 0, byte(8+3*len(factors)), 8, 0, h, 0, w, byte(len(factors)))
	maxH, maxV := 1, 1
	for i, f := range factors {
		data = append(data, byte(i+1), f, 0)
		maxH, maxV = max(maxH, int(f>>4)), max(maxV, int(f&15))
	}
	// Codes of two bits: 00 for no difference and for the end of a block, 01 for a difference of 7
	// bits.
	data = append(data, "\xff\xc4\x00\x15\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07"...)
	data = append(data, "\xff\xc4\x00\x14\x10\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	scan := func(components []int, first, last byte, blocks int, each func(i int, b *bitWriter)) {
		data = append(data, 0xff, 0xda, 0, byte(6+2*len(components)), byte(len(components)))
		for _, c := range components {
			data = append(data, byte(c+1), 0)
		}
		data = append(data, first, last, 0)
		var b bitWriter
		for i := range blocks {
			each(i, &b)
		}
		b.put(0x7f, 7)
		data = append(data, b.out...)
	}
	all, progressive := []int{0, 1, 2, 3}[:len(factors)], marker == 0xc2
	units := (w + 8*maxH - 1) / (8 * maxH) * ((h + 8*maxV - 1) / (8 * maxV))
	last := byte(63)
	if progressive {
		last = 0
	}
	scan(all, 0, last, units, func(unit int, b *bitWriter) {
		for c, f := range factors {
			for block := range int(f>>4) * int(f&15) {
				if unit == 0 && block == 0 {
					b.put(1<<7|64+uint32(c), 9)
				} else {
					b.put(0, 2)
				}
				if !progressive {
					b.put(0, 2)
				}
			}
		}
	})
	for c, f := range factors {
		across, down := (w*int(f>>4)+8*maxH-1)/(8*maxH), (h*int(f&15)+8*maxV-1)/(8*maxV)
		if progressive {
			scan([]int{c}, 1, 63, across*down, func(_ int, b *bitWriter) { b.put(0, 2) })
		}
	}
	return append(data, 0xff, 0xd9)
}

func TestJPEGSubsampling(t *testing.T) {
	r, g, b := color.YCbCrToRGB(192, 193, 194)
	for _, marker := range []byte{0xc0, 0xc2} {
		for _, factors := range []string{"\x11\x11\x11", "\x21\x11\x11", "\x22\x11\x11", "\x12\x11\x11", "\x41\x11\x11", "\x42\x11\x11", "\x21\x21\x21", "\x22\x21\x21"} {
			m, err := Decode("flat.jpg", flatJPEG(marker, []byte(factors)...))
			require.NoError(t, err, "%x", factors)
			assert.Equal(t, bytes.Repeat([]byte{r, g, b}, m.W*m.H), m.Pix, "%x", factors)
		}
		for _, factors := range []string{"\x31\x11\x11", "\x11\x21\x21", "\x22\x21\x11", "\x14\x11\x11"} {
			_, err := Decode("flat.jpg", flatJPEG(marker, []byte(factors)...))
			assert.ErrorContains(t, err, "luma/chroma subsampling ratio); save it as an ordinary 8-bit PNG", "%x", factors)
		}
	}
}

// Without its end marker a progressive JPEG may have lost whole scans. It is read if all that can
// be there are.
func TestProgressiveJPEGWithoutEnd(t *testing.T) {
	data := flatJPEG(0xc2, 0x11, 0x11, 0x11)
	data = data[:len(data)-2]
	_, err := Decode("whole.jpg", data)
	assert.NoError(t, err)
	_, err = Decode("cut.jpg", data[:bytes.LastIndex(data, []byte{0xff, 0xda})])
	assert.ErrorContains(t, err, "this JPEG is damaged: the file is cut short, scans that refine the picture are not there")
}

// Colours with less chroma than luma are converted as package color does, from any corner.
func TestYCbCr(t *testing.T) {
	for ratio := image.YCbCrSubsampleRatio444; ratio <= image.YCbCrSubsampleRatio410; ratio++ {
		m, rng := image.NewYCbCr(image.Rect(0, 0, 61, 40), ratio), rand.New(rand.NewPCG(3, 4))
		for _, plane := range [][]uint8{m.Y, m.Cb, m.Cr} {
			for i := range plane {
				plane[i] = uint8(rng.IntN(256))
			}
		}
		for corner := range 5 {
			part := m.SubImage(image.Rect(corner, corner, 61-corner, 40)).(*image.YCbCr)
			got := Convert(part)
			for i := range got.W * got.H {
				c := part.YCbCrAt(corner+i%got.W, corner+i/got.W)
				r, g, b := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
				require.Equal(t, []uint8{r, g, b}, got.Pix[3*i:][:3], "%v from %d, pixel %d", ratio, corner, i)
			}
		}
	}
}
