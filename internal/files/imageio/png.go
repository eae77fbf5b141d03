package imageio

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"sync"

	"mrprism/shaders/pulse"
)

// decodePNG decodes a PNG. image/png refuses some files that libpng and browsers read: those whose
// picture is whole, but with more pixel data than it needs, faults in chunks beside it, or no end.
// They are decoded from what they have of the picture.
func decodePNG(data []byte) (image.Image, error) {
	m, err := png.Decode(pulse.Reader(bytes.NewReader(data)))
	if _, sound := errors.AsType[png.UnsupportedError](err); err == nil || sound {
		return m, err
	}
	read, write := io.Pipe()
	go func() { write.CloseWithError(pictureOfPNG(write, data)) }()
	defer read.Close()
	if m, again := png.Decode(pulse.Reader(read)); again == nil {
		return m, nil
	}
	return nil, err
}

// pngChannels has the samples of a pixel by the kind of colours.
var pngChannels = map[byte]int64{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

// pictureOfPNG writes a PNG with nothing but the picture: its header, its palette, its transparency
// if that fits, and as much pixel data as it needs. Sums of what the picture needs must be right.
func pictureOfPNG(w io.Writer, data []byte) error {
	header, bits, kind := data[16:29], int64(data[24]), data[25]
	before, packed, colours := data[:len(signature):len(signature)], []io.Reader{}, 0
	for rest := data[len(signature):]; len(rest) >= 12; {
		size := int64(binary.BigEndian.Uint32(rest))
		if size > int64(len(rest)-12) {
			break
		}
		name, body := string(rest[4:8]), rest[8:][:size]
		sound := crc32.ChecksumIEEE(rest[4:8+size]) == binary.BigEndian.Uint32(rest[8+size:])
		rest = rest[12+size:]
		switch {
		case name == "IEND":
			rest = nil
		case !sound && (name == "IHDR" || name == "IDAT" || name == "PLTE" && kind == 3):
			return png.FormatError("invalid checksum")
		case name == "IHDR":
			before = append(before, pngChunk(name, body)...)
		case name == "PLTE" && kind == 3:
			colours = min(len(body)/3, 1<<bits)
			before = append(before, pngChunk(name, body[:3*colours])...)
		case name == "tRNS" && sound && (kind == 3 && len(body) <= colours || kind == 0 && len(body) == 2 || kind == 2 && len(body) == 6):
			before = append(before, pngChunk(name, body)...)
		case name == "IDAT":
			packed = append(packed, bytes.NewReader(body))
		}
	}
	needed := int64(0) // bytes of all lines, each with its filter
	part := func(width, height int64) {
		if width > 0 && height > 0 {
			needed += height * (1 + (width*pngChannels[kind]*bits+7)/8)
		}
	}
	width, height := int64(binary.BigEndian.Uint32(header)), int64(binary.BigEndian.Uint32(header[4:]))
	if header[12] == 0 {
		part(width, height)
	} else { // Adam7: x, y, and the steps in both
		for _, p := range [][4]int64{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}} {
			part((width-p[0]+p[2]-1)/p[2], (height-p[1]+p[3]-1)/p[3])
		}
	}
	lines, err := zlib.NewReader(io.MultiReader(packed...))
	if err != nil {
		return err
	}
	if _, err := w.Write(before); err != nil {
		return err
	}
	again, err := zlib.NewWriterLevel(pixelChunks{w}, zlib.NoCompression)
	if err == nil {
		_, err = io.CopyN(again, lines, needed)
	}
	if err == nil {
		err = again.Close()
	}
	if err == nil {
		_, err = w.Write(pngChunk("IEND", nil))
	}
	return err
}

// pixelChunks writes pixel data as chunks of a PNG.
type pixelChunks struct{ w io.Writer }

func (c pixelChunks) Write(p []byte) (int, error) {
	_, err := c.w.Write(pngChunk("IDAT", p))
	return len(p), err
}

// pngChunk is a chunk of a PNG.
func pngChunk(name string, body []byte) []byte {
	chunk := append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), name...), body...)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
}

// EncodeGrey writes an 8-bit grey PNG of w×h pixels with levels in a part of it, and black beside
// that: most of a large photograph's mask. An empty part is the whole. Black lines cost next to
// nothing. A comment becomes the only metadata. It compresses for speed.
func EncodeGrey(w, h int, part image.Rectangle, levels []uint8, comment string) []byte {
	if part.Empty() {
		part = image.Rect(0, 0, w, h)
	}
	across, black := part.Dx(), make([]uint8, part.Dx())
	for ; len(levels) > 0 && bytes.Equal(levels[:across], black); part.Min.Y++ {
		levels = levels[across:]
	}
	for ; len(levels) > 0 && bytes.Equal(levels[len(levels)-across:], black); part.Max.Y-- {
		levels = levels[:len(levels)-across]
	}
	out := bytes.NewBufferString("\x78\x01") // the header of zlib
	sum := adler{a: 1}
	before, after := (w+1)*part.Min.Y, (w+1)*(h-part.Max.Y)
	if len(levels) == 0 {
		before, after = (w+1)*h, 0
	}
	pack := packers.Get().(*flate.Writer)
	defer packers.Put(pack)
	out.Write(bytes.Repeat(blackPacked(), before/len(blacks)))
	pack.Reset(out)
	pack.Write(blacks[:before%len(blacks)])
	sum.zeros(before)
	line, above := make([]uint8, w+1), black
	line[0] = 2 // the filter Up: a level less the one above
	for ; len(levels) > 0; levels = levels[across:] {
		pulse.Beat()
		to := line[1+part.Min.X:][:across]
		for x, v := range levels[:across] {
			to[x] = v - above[x]
		}
		above = levels
		pack.Write(line)
		sum.add(line[:1])
		sum.zeros(part.Min.X)
		sum.add(to)
		sum.zeros(w - part.Max.X)
	}
	pack.Write(blacks[:after%len(blacks)])
	pack.Flush()
	out.Write(bytes.Repeat(blackPacked(), after/len(blacks)))
	sum.zeros(after)
	out.WriteString("\x03\x00") // the last block, which is empty
	out.Write(binary.BigEndian.AppendUint32(nil, uint32(sum.b<<16|sum.a)))

	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(h))
	data := append([]byte(signature), pngChunk("IHDR", append(head, 8, 0, 0, 0, 0))...)
	if comment != "" {
		data = append(data, pngChunk("tEXt", []byte("Comment\x00"+comment))...)
	}
	return append(append(data, pngChunk("IDAT", out.Bytes())...), pngChunk("IEND", nil)...)
}

// blacks are zeros. blackPacked are the same, compressed, to stand anywhere in a stream of deflate.
var (
	blacks      [1 << 16]uint8
	blackPacked = sync.OnceValue(func() []byte {
		var out bytes.Buffer
		pack, _ := flate.NewWriter(&out, flate.BestCompression) // the level is known, and a buffer takes all
		pack.Write(blacks[:])
		pack.Flush()
		return out.Bytes()
	})
	packers = sync.Pool{New: func() any {
		pack, _ := flate.NewWriter(nil, flate.BestSpeed)
		return pack
	}}
)

// adler is the sum Adler-32 (RFC 1950). Many zeros cost no more than one.
type adler struct{ a, b uint64 }

const adlerBase = 65521

func (s *adler) zeros(n int) { s.b = (s.b + uint64(n)*s.a) % adlerBase }

func (s *adler) add(p []byte) {
	sum := uint64(adler32.Checksum(p))
	s.b = (s.b + sum>>16 + uint64(len(p))*(s.a+adlerBase-1)) % adlerBase
	s.a = (s.a + sum&0xffff + adlerBase - 1) % adlerBase
}
