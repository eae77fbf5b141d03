package imageio

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/png"
	"io"

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
