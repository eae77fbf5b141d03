package nifti

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math"
	"slices"

	"mrprism/shaders/pulse"
)

// Encode writes a compressed volume of one slice of w × h pixels; several volumes lie along the
// fourth axis. Levels of 0 to 255 are probabilities, and are read as 0 to 1. With mask, levels from
// 128 on become 1 and all others 0. g places the slice; if it is nil, spacing is mm a pixel, across
// and down, 0 if unknown. about is at most 79 bytes.
func Encode(w, h int, g *Geometry, spacing [2]float64, about string, volumes [][]uint8, mask bool) ([]byte, error) {
	for _, levels := range volumes {
		if len(levels) != w*h {
			panic("nifti: the levels are not those of the slice")
		}
	}
	plane := func(i int) []uint8 { return volumes[i] }
	return compressed(g.placed([3]float64{spacing[0], spacing[1], 1}).header(w, h, 1, len(volumes), 8, about, mask), len(volumes), plane, mask)
}

// EncodeSeries is Encode of a volume of n slices, which plane makes. g is the geometry of all; if
// it is nil, spacing is mm a voxel.
func EncodeSeries(w, h, n int, g *Geometry, spacing [3]float64, about string, plane func(i int) []uint8, mask bool) ([]byte, error) {
	return compressed(g.placed(spacing).header(w, h, n, 1, 8, about, mask), n, plane, mask)
}

// compressed is a file of a header and planes of levels, or of their masks.
func compressed(head []byte, planes int, plane func(i int) []uint8, mask bool) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(pulse.Writer(&out))
	z.Write(head)
	for i := range planes {
		levels := plane(i)
		if mask {
			levels = slices.Clone(levels)
			for k, v := range levels {
				levels[k] = v >> 7
			}
		}
		pulse.Beat()
		z.Write(levels)
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// EncodeLabels is Encode of a volume of whole numbers, of 16 bits without a sign.
func EncodeLabels(w, h int, g *Geometry, spacing [2]float64, about string, labels []uint16) ([]byte, error) {
	if len(labels) != w*h {
		panic("nifti: the labels are not those of the slice")
	}
	var out bytes.Buffer
	z := gzip.NewWriter(pulse.Writer(&out))
	z.Write(g.placed([3]float64{spacing[0], spacing[1], 1}).header(w, h, 1, 1, 16, about, true))
	binary.Write(z, binary.LittleEndian, labels)
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// placed is the geometry of a slice of g; if that is nil, of pixels of a size in mm, 0 if unknown.
func (g *Geometry) placed(spacing [3]float64) Geometry {
	if g != nil {
		return g.singleSlice()
	}
	place := Geometry{mirror: 1, pixels: [3]float64{1, 1, 1}}
	if spacing[0] > 0 && spacing[1] > 0 && spacing[2] > 0 {
		place.units, place.pixels = 2, spacing
	}
	return place
}

// header is a header of version 1, or of version 2 if the numbers need it, with the four bytes that
// say that no extension follows. A value has 8 or 16 bits.
func (g Geometry) header(w, h, depth, volumes, bits int, about string, mask bool) []byte {
	two := g.two || w > math.MaxInt16 || h > math.MaxInt16
	at, order := layouts[two], binary.LittleEndian
	b := make([]byte, at.size+4)
	number := func(from, i int, v float64) {
		if two {
			order.PutUint64(b[from+8*i:], math.Float64bits(v))
		} else {
			order.PutUint32(b[from+4*i:], math.Float32bits(float32(v)))
		}
	}
	order.PutUint32(b, uint32(at.size))
	axes := []int{3, w, h, depth, volumes, 1, 1, 1}
	if volumes > 1 {
		axes[0] = 4
	}
	for i, n := range axes {
		if two {
			order.PutUint64(b[at.dimensions+8*i:], uint64(n))
		} else {
			order.PutUint16(b[at.dimensions+2*i:], uint16(n))
		}
	}
	for i, v := range []float64{g.mirror, g.pixels[0], g.pixels[1], g.pixels[2], 1, 1, 1, 1} {
		number(at.pixels, i, v)
	}
	slope, most, kind := 1./255, 1., uint16(2) // bytes
	if mask {
		slope = 1
	}
	if bits == 16 {
		most, kind = 0, 512 // any range
	}
	if two {
		copy(b[4:], "n+2\x00\r\n\x1a\n")
		order.PutUint16(b[12:], kind)
		order.PutUint16(b[14:], uint16(bits))
		order.PutUint64(b[168:], uint64(len(b)))
		number(176, 0, slope)
		number(192, 0, most) // the values' range
		copy(b[240:319], about)
		order.PutUint32(b[at.qform:], uint32(g.qform))
		order.PutUint32(b[at.sform:], uint32(g.sform))
	} else {
		copy(b[344:], "n+1\x00")
		b[38] = 'r'
		order.PutUint16(b[70:], kind)
		order.PutUint16(b[72:], uint16(bits))
		number(108, 0, float64(len(b)))
		number(112, 0, slope)
		number(124, 0, most)
		copy(b[148:227], about)
		order.PutUint16(b[at.qform:], uint16(g.qform))
		order.PutUint16(b[at.sform:], uint16(g.sform))
	}
	b[at.units] = g.units
	for i := range 3 {
		number(at.quaternion, i, g.quaternion[i])
		number(at.offset, i, g.offset[i])
		for k := range 4 {
			number(at.rows, 4*i+k, g.rows[i][k])
		}
	}
	return b
}
