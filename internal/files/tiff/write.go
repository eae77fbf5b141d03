package tiff

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"mrprism/shaders/pulse"
)

// Page is a grey picture for Encode.
type Page struct {
	Name   string    // of the page
	About  string    // what it shows
	Levels []uint8   // (H, W)
	Values []float32 // (H, W), in place of Levels
	Labels []uint16  // (H, W), in place of Levels
}

// samples are the pixels as bytes, of a number of bits each.
func (p Page) samples() (pixels []byte, bits int) {
	for _, v := range p.Labels {
		pixels = binary.LittleEndian.AppendUint16(pixels, v)
	}
	for _, v := range p.Values {
		pixels = binary.LittleEndian.AppendUint32(pixels, math.Float32bits(v))
	}
	switch {
	case p.Labels != nil:
		return pixels, 16
	case p.Values != nil:
		return pixels, 32
	}
	return p.Levels, 8
}

// stripBytes is about how many bytes a strip has. Readers unpack a strip at a time.
const stripBytes = 1 << 16

// Encode writes pages of w × h pixels in grey of 8 or 16 bits or float32, packed by Deflate.
// spacing is mm a pixel, across and down; 0 if unknown.
func Encode(w, h int, spacing [2]float64, pages []Page) ([]byte, error) {
	out := []byte("II*\x00\x00\x00\x00\x00")
	link := 4 // position of the next directory's offset
	for _, p := range pages {
		pixels, bits := p.samples()
		line := w * bits / 8
		if len(pixels) != line*h || w <= 0 || h <= 0 {
			panic("tiff: the levels are not those of the page")
		}
		rows := max(1, stripBytes/line)
		var offsets, counts []uint32
		for y := 0; y < h; y += rows {
			var packed bytes.Buffer
			z := zlib.NewWriter(pulse.Writer(&packed))
			z.Write(pixels[y*line : min(y+rows, h)*line])
			if err := z.Close(); err != nil {
				return nil, err
			}
			offsets, counts = append(offsets, uint32(len(out))), append(counts, uint32(packed.Len()))
			out = append(out, packed.Bytes()...)
		}
		d := directory{at: &out}
		d.numbers(256, uint32(w))
		d.numbers(257, uint32(h))
		d.numbers(258, uint32(bits))
		d.numbers(259, 8) // Deflate
		d.numbers(262, 1) // 0 is black
		d.text(270, p.About)
		d.numbers(273, offsets...)
		d.numbers(274, 1) // orientation
		d.numbers(277, 1)
		d.numbers(278, uint32(rows))
		d.numbers(279, counts...)
		if spacing[0] > 0 && spacing[1] > 0 {
			d.rational(282, 10/spacing[0]) // pixels a centimetre
			d.rational(283, 10/spacing[1])
		}
		d.text(285, p.Name)
		if spacing[0] > 0 && spacing[1] > 0 {
			d.numbers(296, 3)
		}
		d.text(305, "MrPrism")
		if p.Values != nil {
			d.numbers(339, 3) // floats
		}
		if len(out)%2 == 1 {
			out = append(out, 0)
		}
		if len(out) > math.MaxUint32-len(d.entries)-6 {
			return nil, errors.New("the file would have more than 4 GiB; save one structure at a time")
		}
		binary.LittleEndian.PutUint32(out[link:], uint32(len(out)))
		out = binary.LittleEndian.AppendUint16(out, uint16(len(d.entries)/12))
		out = append(out, d.entries...)
		link = len(out)
		out = append(out, 0, 0, 0, 0)
	}
	return out, nil
}

// directory collects the entries of a page, in ascending order of tags. Values that do not fit into
// an entry are appended to the file.
type directory struct {
	at      *[]byte
	entries []byte
}

func (d *directory) entry(tag, kind uint16, count int, value []byte) {
	d.entries = binary.LittleEndian.AppendUint16(d.entries, tag)
	d.entries = binary.LittleEndian.AppendUint16(d.entries, kind)
	d.entries = binary.LittleEndian.AppendUint32(d.entries, uint32(count))
	if len(value) <= 4 {
		d.entries = append(d.entries, append(value, 0, 0, 0, 0)[:4]...)
		return
	}
	if len(*d.at)%2 == 1 {
		*d.at = append(*d.at, 0)
	}
	d.entries = binary.LittleEndian.AppendUint32(d.entries, uint32(len(*d.at)))
	*d.at = append(*d.at, value...)
}

// numbers writes SHORT if TIFF wants that for the tag, and otherwise LONG.
func (d *directory) numbers(tag uint16, values ...uint32) {
	var b []byte
	switch tag {
	case 258, 259, 262, 274, 277, 296, 339:
		for _, v := range values {
			b = binary.LittleEndian.AppendUint16(b, uint16(v))
		}
		d.entry(tag, 3, len(values), b)
	default:
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		d.entry(tag, 4, len(values), b)
	}
}

func (d *directory) text(tag uint16, text string) {
	b := append([]byte(strings.ReplaceAll(text, "\x00", "")), 0)
	d.entry(tag, 2, len(b), b)
}

// rational writes a number to six digits.
func (d *directory) rational(tag uint16, v float64) {
	below := uint32(1)
	for below < 1e6 && v*float64(below)*10 < math.MaxUint32 {
		below *= 10
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(math.Round(v*float64(below))))
	d.entry(tag, 5, 1, binary.LittleEndian.AppendUint32(b, below))
}
