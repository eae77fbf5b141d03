package imageio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"slices"
	"strings"

	"mrprism/internal/files/raster"
	"mrprism/shaders/pulse"
)

// Limits on what Decode takes, judged from the header.
const (
	MaxPixels = 64_000_000 // width × height
	MaxSide   = 65_535     // pixels
	MaxMemory = 256 << 20  // bytes at the peak of decoding, without the caller's file
	slack     = 1 << 20    // bytes: inflate window, tables, buffers
	signature = "\x89PNG\r\n\x1a\n"
	// A JPEG may have maxScans scans; programs write about ten. A scan may take 53 bytes in the
	// file and still make the decoder visit all blocks.
	maxScans = 100
	// An image of up to safePixels can be read in any encoding: the hungriest, a progressive JPEG in
	// four colours, peaks at 27 bytes a pixel.
	safePixels = 9_000_000
)

// Info is the content of a file's header. W, H and Spacing are as displayed, and Orientation is
// that of the file.
type Info struct {
	raster.Frame
	Format string

	storedW, storedH int
}

// Header is HeaderSlice of the picture that the format prefers.
func Header(name string, data []byte) (*Info, error) { return HeaderSlice(name, data, 0) }

// HeaderSlice reads the size of a picture without decoding it; slice is as in DecodeSlice. It
// refuses every file that DecodeSlice refuses before allocating.
func HeaderSlice(name string, data []byte, slice int) (*Info, error) {
	r := readerOf(data)
	if r == nil {
		return nil, notImage(name, data)
	}
	info, err := r.header(name, data, slice)
	if err != nil {
		return nil, err
	}
	return info, nil
}

// header reads and checks the header of a picture.
func (r *reader) header(name string, data []byte, slice int) (info *Info, err *Error) {
	defer func() { // a panic in a reader must not end the program
		if fault := recover(); fault != nil {
			info, err = nil, damaged(name, r.format, "%v", fault)
		}
	}()
	f, failed := r.open(data, slice, innerJPEG{})
	if failed != nil {
		if missing, ok := errors.AsType[raster.NoSlice](failed); ok {
			return nil, noSlice(name, slice, int(missing))
		}
		return nil, decodeError(name, r.format, failed)
	}
	if f.Slices == 0 {
		f.Slice, f.Slices = 1, 1
		if slice > 1 {
			return nil, noSlice(name, slice, 1)
		}
	}
	info = &Info{Frame: *f, Format: r.format, storedW: f.W, storedH: f.H}
	if err := info.check(name, int64(len(data))); err != nil {
		return nil, err
	}
	if info.Orientation >= 5 {
		info.W, info.H = info.H, info.W
		info.Spacing[0], info.Spacing[1] = info.Spacing[1], info.Spacing[0]
	}
	return info, nil
}

func (i *Info) check(name string, size int64) *Error {
	w, h := int64(i.storedW), int64(i.storedH)
	switch {
	case w == 0 || h == 0:
		return damaged(name, i.Format, "it declares a size of %d×%d pixels", w, h)
	case w > MaxSide || h > MaxSide || w*h > MaxPixels:
		return tooLarge(name, "this image of %d×%d pixels is too large: at most %d megapixels are read, and %d pixels a side", w, h, MaxPixels/1_000_000, MaxSide)
	case i.Memory > MaxMemory:
		return tooLarge(name, "this image of %d×%d pixels is too large: it takes %d MB to decode, and at most %d MB are allowed", w, h, i.Memory>>20, MaxMemory>>20)
	case size < i.Least:
		return damaged(name, i.Format, "%d bytes cannot hold its %d×%d pixels, the file is cut short", size, w, h)
	case i.Missing != "":
		return damaged(name, i.Format, "the file is cut short, %s", i.Missing)
	}
	return nil
}

// pngHeader reads IHDR, which must come first. Its estimate of memory follows from the types that
// image/png decodes to.
func pngHeader(data []byte) (*raster.Frame, error) {
	if len(data) < 33 {
		return nil, io.ErrUnexpectedEOF
	}
	if string(data[12:16]) == "CgBI" {
		return nil, raster.Unsupported("Apple's CgBI")
	}
	if string(data[12:16]) != "IHDR" {
		return nil, errors.New("it does not begin with a header")
	}
	w, h := binary.BigEndian.Uint32(data[16:]), binary.BigEndian.Uint32(data[20:])
	depth, kind, interlaced := int64(data[24]), data[25], data[28] != 0
	if w > 1<<31-1 || h > 1<<31-1 {
		return nil, errors.New("its size is out of range")
	}
	f := &raster.Frame{Orientation: pngOrientation(data), W: int(w), H: int(h), Decode: func() (image.Image, error) { return decodePNG(data) }}
	channels := pngChannels[kind]
	pixels := int64(w) * int64(h)
	// Bytes of a decoded pixel, and of an RGB pixel if conversion is not possible in place.
	decoded, converted := int64(4), int64(0)
	head, _, _ := bytes.Cut(data, []byte("IDAT"))
	if (kind == 0 && !bytes.Contains(head, []byte("tRNS"))) || kind == 3 {
		decoded, converted = 1, 3
	}
	if depth == 16 {
		decoded *= 2
		f.Memory = raster.RangeMemory
	}
	if interlaced {
		decoded *= 2 // image/png allocates a picture for each of the seven passes
	}
	if f.Orientation != 1 {
		converted = 3 // beside the decoded picture
	}
	raw := pixels * channels * depth / 8
	f.Memory += pixels*(decoded+converted) + 4*int64(w)*channels + slack
	f.Least = raw / 1032 // deflate's largest ratio
	return f, nil
}

// pngOrientation is the orientation in the eXIf chunk, which may stand anywhere; 1 if there is
// none.
func pngOrientation(data []byte) int {
	for at := 8; at+8 <= len(data); {
		size := int64(binary.BigEndian.Uint32(data[at:]))
		if size > int64(len(data)-at-8) {
			break // cut short: the decoder returns the error
		}
		if string(data[at+4:at+8]) == "eXIf" {
			return exifOrientation(data[at+8:][:size])
		}
		at += 12 + int(size)
	}
	return 1
}

// jpegHeader walks the segments of the whole file. It reads the frame's size and sampling and the
// EXIF orientation, and checks that every colour component has a scan: the standard decoder leaves
// a component without a scan grey.
func jpegHeader(data []byte) (*raster.Frame, error) {
	info := &raster.Frame{Orientation: 1}
	var f frame
	var exif, jfif, adobeRGB, ended, tables bool
	firstScan := 0
	for at := 2; at < len(data); {
		marker, body, next := segment(data, at)
		if next == 0 {
			ended = marker == 0xd9
			break
		}
		at = next
		switch {
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			if f.components != nil || len(body) < 9 || len(body) != 6+3*int(body[5]) {
				return nil, errors.New("its frame header is wrong")
			}
			f.read(marker, body)
		case marker == 0xc4:
			tables = true
		case marker == 0xda:
			if firstScan == 0 {
				firstScan = next - 4 - len(body)
			}
			if f.scan(body); f.scans > maxScans {
				return nil, fmt.Errorf("it has more than %d scans, as no camera or program writes", maxScans)
			}
		case marker == 0xe0:
			jfif = jfif || bytes.HasPrefix(body, []byte("JFIF\x00"))
		case marker == 0xe1 && !exif && bytes.HasPrefix(body, []byte("Exif\x00\x00")):
			exif = true
			info.Orientation = exifOrientation(body[6:])
		case marker == 0xee:
			adobeRGB = len(body) >= 12 && bytes.HasPrefix(body, []byte("Adobe")) && body[11] == 0
		}
	}
	if f.components == nil {
		return nil, errors.New("the file is cut short before its size is given")
	}
	info.W, info.H = f.w, f.h
	pixels := int64(f.w) * int64(f.h)
	info.Memory = f.memory + 3*pixels + slack
	if n := len(f.components); n == 4 || (n == 3 && !jfif && (adobeRGB || string(f.components) == "RGB")) {
		info.Memory += 4 * pixels // image/jpeg makes an interleaved copy of CMYK and RGB
	}
	info.Least = pixels / 64 / 8 // the mean of a block of 8×8 takes at least one bit
	switch {
	case slices.ContainsFunc(f.components, func(c byte) bool { return !slices.Contains(f.scanned, c) }):
		info.Missing = "a colour component has no data"
	case f.progressive && !ended && f.coarse():
		info.Missing = "scans that refine the picture are not there"
	}
	info.Decode = func() (image.Image, error) {
		if !tables {
			return decodeJPEG(slices.Concat(data[:firstScan], usualTables(), data[firstScan:]), ended)
		}
		return decodeJPEG(data, ended)
	}
	return info, nil
}

// usualTables are the Huffman tables of a JPEG that has none, as cameras of moving pictures write
// it: those of the standard (ITU T.81, K.3), which image/jpeg writes too.
func usualTables() []byte {
	var out bytes.Buffer
	if err := jpeg.Encode(&out, image.NewRGBA(image.Rect(0, 0, 1, 1)), nil); err != nil {
		panic(err)
	}
	begin := bytes.Index(out.Bytes(), []byte("\xff\xc4"))
	_, _, end := segment(out.Bytes(), begin)
	return out.Bytes()[begin:end]
}

// decodeJPEG decodes a JPEG. A complete picture without an end marker is read, as in browsers.
// Browsers also show a picture that is cut off, with a grey or empty rest; decodeJPEG refuses it.
func decodeJPEG(data []byte, ended bool) (image.Image, error) {
	if ended {
		return jpeg.Decode(pulse.Reader(bytes.NewReader(data)))
	}
	m, err := jpeg.Decode(pulse.Reader(io.MultiReader(bytes.NewReader(data), strings.NewReader("\xff\xd9"))))
	if _, sound := errors.AsType[jpeg.UnsupportedError](err); err != nil && !sound {
		err = errors.New("the file is cut short, it has no end marker and lacks data of the picture")
	}
	return m, err
}

// frame is the content of a JPEG's frame header and scan headers.
type frame struct {
	w, h        int
	progressive bool
	components  []byte          // identifiers
	scanned     []byte          // identifiers of those with at least one scan
	finest      map[byte]uint64 // by identifier: coefficients whose last bit some scan holds
	scans       int
	memory      int64 // bytes of the decoder's planes and coefficients
}

// read reads the size and the sampling factors, which determine the size of the planes. The decoder
// of a progressive picture keeps all coefficients, 4 bytes each, until the end.
func (f *frame) read(marker byte, body []byte) {
	f.h, f.w = int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
	f.progressive, f.finest = marker == 0xc2, map[byte]uint64{}
	maxH, maxV, samples := 1, 1, int64(0)
	for c := body[6:]; len(c) > 0; c = c[3:] {
		h, v := int(c[1]>>4), int(c[1]&15)
		maxH, maxV = max(maxH, h), max(maxV, v)
		samples += int64(h * v)
		f.components = append(f.components, c[0])
	}
	units := int64((f.w+8*maxH-1)/(8*maxH)) * int64((f.h+8*maxV-1)/(8*maxV))
	f.memory = units * samples * 64
	if f.progressive {
		f.memory *= 5
	}
}

// scan notes which components a scan header names. The first scans of a progressive picture have
// the mean of every block; a component that has only later scans would be grey.
func (f *frame) scan(body []byte) {
	f.scans++
	if len(body) == 0 || len(body) != 4+2*int(body[0]) {
		return
	}
	n := int(body[0])
	first, last, bit := body[1+2*n], body[2+2*n], body[3+2*n]&15
	for c := range n {
		id := body[1+2*c]
		if !f.progressive || first == 0 {
			f.scanned = append(f.scanned, id)
		}
		if f.progressive && bit == 0 && first <= last && last < 64 {
			f.finest[id] |= ^uint64(0) << first & (^uint64(0) >> (63 - last))
		}
	}
}

// coarse reports whether a progressive picture's later scans are missing.
func (f *frame) coarse() bool {
	return slices.ContainsFunc(f.components, func(c byte) bool { return f.finest[c] != ^uint64(0) })
}

// segment returns the marker at or after data[at], its body, and where to go on; next is 0 at the
// end of the picture (marker 0xd9) or of the file. It skips bytes that are no marker (a scan's
// data, padding), as libjpeg does.
func segment(data []byte, at int) (marker byte, body []byte, next int) {
	for at < len(data) {
		i := bytes.IndexByte(data[at:], 0xff)
		if i < 0 || at+i+1 >= len(data) {
			return 0, nil, 0
		}
		at += i + 1
		marker = data[at]
		switch {
		case marker == 0xff: // fill: look at the next byte again
			continue
		// Stuffing, TEM, restarts and SOI have no body.
		case marker == 0, marker == 1, marker >= 0xd0 && marker <= 0xd8:
			at++
			continue
		case marker == 0xd9:
			return marker, nil, 0
		}
		if at+3 > len(data) {
			return 0, nil, 0
		}
		end := at + 1 + int(binary.BigEndian.Uint16(data[at+1:]))
		if end < at+3 || end > len(data) {
			return 0, nil, 0
		}
		return marker, data[at+3 : end], end
	}
	return 0, nil, 0
}

// exifOrientation finds tag 274 in the first directory of a TIFF structure; 1 if it is absent or
// out of range.
func exifOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	order, known := map[string]binary.ByteOrder{"II*\x00": binary.LittleEndian, "MM\x00*": binary.BigEndian}[string(tiff[:4])]
	if !known {
		return 1
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range min(int(order.Uint16(tiff[at:])), len(entries)/12) {
		if order.Uint16(entries) == 274 && order.Uint16(entries[2:]) == 3 {
			if v := int(order.Uint16(entries[8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}
