package dicom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"io"

	"mrprism/internal/files/codec"
	"mrprism/internal/files/raster"
)

// samplesOf are the frame's stored numbers (h, w, samples).
func (f *frame) samplesOf() ([]float32, error) {
	kind, coded := codecs[f.syntax]
	runs := f.syntax == "1.2.840.10008.1.2.5"
	process14 := f.syntax == "1.2.840.10008.1.2.4.57" || f.syntax == "1.2.840.10008.1.2.4.70"
	count := f.w * f.h * f.samples
	if !coded && !runs && !process14 {
		return f.uncompressed(count)
	}
	data, err := f.compressed()
	if err != nil {
		return nil, err
	}
	var stored []uint16
	switch {
	case runs:
		planes, err := f.runs(data)
		if err != nil {
			return nil, err
		}
		return f.numbersOf(planes, binary.LittleEndian, count, true)
	case process14:
		stored, err = lossless(data, f.w, f.h, f.samples)
	default:
		stored, err = f.decoded(kind, data)
	}
	values := make([]float32, len(stored))
	for i, v := range stored {
		values[i] = f.number(uint32(v))
	}
	return values, err
}

// decoded are the numbers of a picture that a codec decodes. A codestream may have fewer bits than
// the file says, or also the unused ones. Its sign may be wrong: the file's counts.
func (f *frame) decoded(kind codec.Kind, data []byte) ([]uint16, error) {
	form, err := kind.Read(data)
	switch {
	case err != nil:
		return nil, err
	case form.W != f.w || form.H != f.h || form.Components != f.samples || form.Bits > f.allocated:
		return nil, fmt.Errorf("its %s is a picture of %v", kind, form)
	}
	stored, err := codec.Decode(kind, data, form)
	if err == nil && form.Bits <= f.stored {
		f.stored, f.high = form.Bits, form.Bits-1
	}
	return stored, err
}

// uncompressed reads pixels that are not compressed.
func (f *frame) uncompressed(count int) ([]float32, error) {
	data := f.found[pixelData]
	bits := int64(count) * int64(f.allocated)
	if f.photometric == "YBR_FULL_422" {
		bits = 2 * int64(f.w+f.w%2) * int64(f.h) * int64(f.allocated)
	}
	begin, end := bits*int64(f.index), bits*int64(f.index+1)
	if f.packed != nil {
		from := begin / 8
		unpacked, err := f.unpacked(from, (end+7)/8)
		if err != nil {
			return nil, err
		}
		data, begin, end = unpacked, begin-8*from, end-8*from
	}
	if end > 8*int64(len(data)) {
		return nil, raster.ErrShort
	}
	if f.allocated <= 8 {
		even := begin / 16 * 2
		data, begin, end = f.inPairs(pixelData, data[even:min((end+15)/16*2, int64(len(data)))]), begin-8*even, end-8*even
	}
	if f.allocated == 1 {
		values := make([]float32, count)
		for i := range values {
			at := begin + int64(i)
			values[i] = float32(data[at/8] >> (at % 8) & 1)
		}
		return values, nil
	}
	data = data[begin/8 : end/8]
	if f.photometric != "YBR_FULL_422" {
		return f.numbersOf(data, f.order, count, f.planar)
	}
	if f.allocated != 8 {
		return nil, raster.Unsupported("YBR_FULL_422 of more than 8 bits")
	}
	values := make([]float32, count)
	for y := range f.h { // two of brightness, then the two of colour
		row := data[y*2*(f.w+f.w%2):]
		for x := range f.w {
			pair := row[x/2*4:]
			v := values[3*(y*f.w+x):]
			v[0], v[1], v[2] = float32(pair[x%2]), float32(pair[2]), float32(pair[3])
		}
	}
	return values, nil
}

// numbersOf makes numbers of bytes. Planes hold one sample of all pixels each.
func (f *frame) numbersOf(data []byte, order binary.ByteOrder, count int, planes bool) ([]float32, error) {
	size := f.allocated / 8
	if len(data) < count*size {
		return nil, raster.ErrShort
	}
	values := make([]float32, count)
	for i := range values {
		v := uint32(0)
		switch b := data[i*size:]; size {
		case 1:
			v = uint32(b[0])
		case 2:
			v = uint32(order.Uint16(b))
		case 4:
			v = order.Uint32(b)
		}
		to := i
		if pixels := f.w * f.h; planes && f.samples > 1 {
			to = i%pixels*f.samples + i/pixels
		}
		values[to] = f.number(v)
	}
	return values, nil
}

// number is the number in the stored bits of a sample.
func (f *frame) number(v uint32) float32 {
	v = v >> (f.high + 1 - f.stored) << (32 - f.stored)
	if f.signed {
		return float32(int32(v) >> (32 - f.stored))
	}
	return float32(v >> (32 - f.stored))
}

// compressed is the frame's compressed data. A frame has one item. A single frame may have all
// items, and otherwise the table of offsets tells which items it has.
func (f *frame) compressed() ([]byte, error) {
	if len(f.pieces) < 2 {
		return nil, raster.ErrShort
	}
	table, pieces := f.pieces[0], f.pieces[1:]
	switch {
	case len(pieces) == 1 && f.frames == 1:
		return pieces[0], nil
	case f.frames == 1:
		return bytes.Join(pieces, nil), nil
	case len(pieces) == f.frames:
		return pieces[f.index], nil
	case len(table) < 4*f.frames:
		return nil, raster.Unsupported("several frames in pieces without a table of offsets")
	}
	begin, end := f.order.Uint32(table[4*f.index:]), uint32(undefined)
	if f.index+1 < f.frames {
		end = f.order.Uint32(table[4*f.index+4:])
	}
	var joined []byte
	at := uint32(0)
	for _, piece := range pieces {
		if at >= begin && at < end {
			joined = append(joined, piece...)
		}
		at += 8 + uint32(len(piece))
	}
	return joined, nil
}

// runs decompresses run lengths. A segment has one byte of each sample, the highest first. The
// result has the samples in planes, lowest byte first.
func (f *frame) runs(data []byte) ([]byte, error) {
	size, pixels := f.allocated/8, f.w*f.h
	if len(data) < 64 || size == 0 {
		return nil, raster.ErrShort
	}
	segments := f.samples * size
	if n := binary.LittleEndian.Uint32(data); n != uint32(segments) {
		return nil, fmt.Errorf("it has %d segments of run lengths, not %d", n, segments)
	}
	out, plane := make([]byte, pixels*segments), make([]byte, pixels)
	for s := range segments {
		at := int64(binary.LittleEndian.Uint32(data[4+4*s:]))
		if at > int64(len(data)) {
			return nil, raster.ErrShort
		}
		if _, err := io.ReadFull(raster.PackBits(data[at:]), plane); err != nil {
			return nil, raster.ErrShort
		}
		to := s/size*pixels*size + size - 1 - s%size
		for i, v := range plane {
			out[to+i*size] = v
		}
	}
	return out, nil
}

// precision is the number of bits of a JPEG's samples, 0 if it has no frame.
func precision(data []byte) int {
	for at := 2; at+4 < len(data) && data[at] == 0xff; {
		switch marker := data[at+1]; {
		case marker == 0xff:
			at++
			continue
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			return int(data[at+4])
		}
		at += 2 + int(binary.BigEndian.Uint16(data[at+2:]))
	}
	return 0
}

// asJPEG marks a JPEG of RGB as such.
func (f *frame) asJPEG(data []byte) []byte {
	if head := data[:min(len(data), 64)]; f.photometric == "RGB" && len(data) > 2 && !bytes.Contains(head, []byte("\x00\x0eAdobe")) {
		return append([]byte("\xff\xd8\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"), data[2:]...)
	}
	return data
}

// decodeJPEG reads a JPEG of 8 bits.
func (f *frame) decodeJPEG() (image.Image, error) {
	data, err := f.compressed()
	if err != nil {
		return nil, err
	}
	if bits := precision(data); bits > 8 {
		return nil, raster.Unsupported(fmt.Sprintf("JPEG of %d bits", bits))
	}
	m, err := f.jpeg.Decode(f.asJPEG(data), f.w, f.h)
	if err != nil || f.samples == 3 {
		return m, err
	}
	values := make([]float32, f.w*f.h)
	for i := range values {
		values[i] = float32(color.GrayModel.Convert(m.At(i%f.w, i/f.w)).(color.Gray).Y)
	}
	if f.photometric == "PALETTE COLOR" {
		out := image.NewNRGBA(image.Rect(0, 0, f.w, f.h))
		return out, f.lookUp(values, out.Pix)
	}
	return f.grey(values), nil
}
