// Package codec decodes pictures in JPEG 2000, HTJ2K and JPEG-LS, for which Go has no sound
// decoder. The page uses decoders in WebAssembly (worker/codec.js). Native programs call programs
// that the user installs: opj_decompress of OpenJPEG, and dcmdjpls of DCMTK.
//
// The package reads the headers itself, so that no decoder gets a picture of another size or kind
// than its caller expects.
package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"mrprism/internal/files/raster"
)

// Kind is a compression. Its text is its name.
type Kind string

const (
	JPEG2000 Kind = "JPEG 2000"
	HTJ2K    Kind = "HTJ2K"
	JPEGLS   Kind = "JPEG-LS"
)

// Form is the size and kind of a compressed picture, from its header.
type Form struct {
	W, H, Components int
	Bits             int // of a sample, 1 to 16
	Signed           bool
}

// size is how many bytes a decoded sample takes.
func (f Form) size() int { return (f.Bits + 7) / 8 }

func (f Form) String() string {
	return fmt.Sprintf("%d×%d pixels of %d components and %d bits", f.W, f.H, f.Components, f.Bits)
}

// Platform decodes pictures: the browser, or programs.
type Platform interface {
	// Missing returns a raster.Refused if nothing on this platform decodes a kind, and otherwise
	// nil.
	Missing(k Kind) error
	// Decode returns samples of one byte (up to 8 bits) or two, in little-endian order. planar says
	// that components follow each other. Decode has limits of time and memory.
	Decode(k Kind, data []byte, form Form) (samples []byte, planar bool, err error)
}

var platform Platform // in a build for the page, the argument of Use

// Use makes a platform decode from now on.
func Use(p Platform) { platform = p }

// Missing is the error if nothing on this platform decodes a kind, or nil.
func Missing(k Kind) error {
	if platform == nil {
		return raster.Unsupported(string(k))
	}
	return platform.Missing(k)
}

// Decode decodes a picture whose header Read has read: samples (h, w, components), of which the
// lowest form.Bits count.
func Decode(k Kind, data []byte, form Form) ([]uint16, error) {
	if form.W*form.H > mostPixels {
		return nil, fmt.Errorf("its %s is a picture of %v", k, form)
	}
	if k != JPEGLS {
		data = stream(data)
	}
	got, planar, err := platform.Decode(k, data, form)
	if err != nil {
		return nil, err
	}
	pixels, size := form.W*form.H, form.size()
	if len(got) != pixels*form.Components*size {
		return nil, fmt.Errorf("its %s became %d bytes, and not %v", k, len(got), form)
	}
	out := make([]uint16, pixels*form.Components)
	for i := range out {
		to := i
		if planar {
			to = i%pixels*form.Components + i/pixels
		}
		if out[to] = uint16(got[i*size]); size == 2 {
			out[to] |= uint16(got[2*i+1]) << 8
		}
	}
	return out, nil
}

// mostPixels and mostSide are more than any caller accepts.
const mostPixels, mostSide = 64_000_000, 65_535

// Read reads the header of a compressed picture. It refuses a picture that is cut short, which some
// decoders fill up with grey, and one whose components differ in size or depth.
func (k Kind) Read(data []byte) (Form, error) {
	f, err := Form{}, error(nil)
	if k == JPEGLS {
		f, err = readLS(data)
	} else {
		f, err = read2000(data)
	}
	if err == nil && (f.W < 1 || f.H < 1 || f.Components < 1 || f.W > mostSide || f.H > mostSide) {
		err = fmt.Errorf("its %s is a picture of %v", k, f)
	}
	if err == nil && (f.Bits < 1 || f.Bits > 16) {
		err = raster.Unsupported(fmt.Sprintf("%s of %d bits a sample", k, f.Bits))
	}
	return f, err
}

// stream is the codestream in a JPEG 2000 file of boxes, or data itself if it is no such file.
func stream(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte("\x00\x00\x00\x0cjP  ")) {
		return data
	}
	for at := 0; at+8 <= len(data); {
		length, head := int64(binary.BigEndian.Uint32(data[at:])), int64(8)
		if length == 1 && at+16 <= len(data) {
			length, head = int64(binary.BigEndian.Uint64(data[at+8:])&(1<<62-1)), 16
		}
		if string(data[at+4:at+8]) == "jp2c" && int64(at)+head <= int64(len(data)) {
			return data[int64(at)+head:]
		}
		if length < head || length > int64(len(data)-at) {
			break
		}
		at += int(length)
	}
	return data
}

// read2000 reads the size in a codestream, and passes over its tile parts. Source: ITU T.800, A.
func read2000(data []byte) (f Form, err error) {
	wrong, closed := errors.New("its JPEG 2000 is damaged"), false // closed: it has to have an end
	if data = stream(data); len(data) < 4 || string(data[:4]) != "\xff\x4f\xff\x51" {
		return f, wrong
	}
	at := 2
	for at+4 <= len(data) && string(data[at:at+2]) != endOfPicture {
		marker, body := data[at+1], data[at+2:]
		length := int(binary.BigEndian.Uint16(body))
		if data[at] != 0xff || length < 2 {
			return f, wrong
		}
		if length > len(body) {
			return f, raster.ErrShort
		}
		next := at + 2 + length
		switch body = body[2:length]; {
		case marker == 0x51:
			if f, err = size2000(body); err != nil {
				return f, err
			}
		case marker == 0x90 && len(body) >= 8: // a tile part; 0 leads to the end
			if part := int(binary.BigEndian.Uint32(body[2:])); part == 0 {
				next = max(next, len(bytes.TrimRight(data, "\x00"))-len(endOfPicture))
				closed = true
			} else if next = at + part; part < length+2 {
				return f, wrong
			}
		}
		at = next
	}
	if at > len(data) || closed && !bytes.HasPrefix(data[at:], []byte(endOfPicture)) {
		return f, raster.ErrShort
	}
	return f, nil
}

const endOfPicture = "\xff\xd9"

// size2000 reads the segment SIZ.
func size2000(b []byte) (f Form, err error) {
	if len(b) < 36 {
		return f, raster.ErrShort
	}
	number := func(i int) int { return int(binary.BigEndian.Uint32(b[2+4*i:])) }
	f.W, f.H, f.Components = number(0)-number(2), number(1)-number(3), int(binary.BigEndian.Uint16(b[34:]))
	if f.Components < 1 || len(b) < 36+3*f.Components {
		return f, raster.ErrShort
	}
	f.Bits, f.Signed = int(b[36]&0x7f)+1, b[36]&0x80 != 0
	for c := b[36:][:3*f.Components]; len(c) > 0; c = c[3:] {
		if c[0] != b[36] || c[1] != 1 || c[2] != 1 {
			return f, raster.Unsupported("JPEG 2000 whose components differ in size or depth")
		}
	}
	return f, nil
}

// readLS reads the frame header. Source: ITU T.87, C.
func readLS(data []byte) (f Form, err error) {
	if len(data) < 4 || string(data[:2]) != "\xff\xd8" {
		return f, errors.New("its JPEG-LS is damaged")
	}
	for at := 2; at+4 <= len(data); {
		marker := data[at+1]
		if data[at] == 0xff && marker == 0xff {
			at++
			continue
		}
		length := int(binary.BigEndian.Uint16(data[at+2:]))
		if length < 2 || length > len(data)-at-2 {
			break
		}
		if b := data[at+4 : at+2+length]; marker == 0xf7 && len(b) >= 6 && len(b) >= 6+3*int(b[5]) {
			f = Form{Bits: int(b[0]), H: int(binary.BigEndian.Uint16(b[1:])), W: int(binary.BigEndian.Uint16(b[3:])), Components: int(b[5])}
			for c := b[6:][:3*f.Components]; len(c) > 0; c = c[3:] {
				if c[1] != 0x11 {
					return f, raster.Unsupported("JPEG-LS whose components differ in size")
				}
			}
			if !bytes.Contains(data[at:], []byte(endOfPicture)) { // CharLS searches for it for half a minute
				return f, raster.ErrShort
			}
			return f, nil
		}
		if marker == 0xda {
			break
		}
		at += 2 + length
	}
	return f, raster.ErrShort
}
