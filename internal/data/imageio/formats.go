package imageio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"slices"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"

	"mrprism/internal/compute/pulse"
	"mrprism/internal/data/dicom"
	"mrprism/internal/data/nifti"
	"mrprism/internal/data/raster"
	"mrprism/internal/data/tiff"
)

// reader reads a format whose files may hold several pictures.
type reader struct {
	format string
	is     func(data []byte) bool
	open   func(data []byte, slice int, jpeg raster.JPEG) (*raster.Frame, error)
}

var framed = []reader{
	{"dicom", dicom.Is, dicom.Open}, // first: its preamble may be the head of a TIFF
	{"tiff", tiff.Is, tiff.Open},
	{"nifti", nifti.Is, nifti.Open},
}

// framedHeader reads the header of a picture of such a file.
func framedHeader(name string, r reader, data []byte, slice int) (info *Info, err *Error) {
	defer func() { // the readers return errors; a fault in one must not end the program
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
	return &Info{
		Format: r.format, Orientation: f.Orientation, Spacing: f.Spacing, Slice: f.Slice, Slices: f.Slices, Header: f.Header,
		decode: f.Decode, storedW: f.W, storedH: f.H, memory: f.Memory, least: f.Least, full: f.Full,
	}, nil
}

// innerJPEG decodes a JPEG within a file of another format, with the guards of a JPEG file.
type innerJPEG struct{}

func (innerJPEG) Memory(data []byte, w, h int) int64 {
	info, err := jpegHeader("", data)
	if err != nil || info.storedW != w || info.storedH != h {
		return 0
	}
	return info.memory - 3*int64(w)*int64(h) // the file around it counts what its picture becomes
}

func (innerJPEG) Decode(data []byte, w, h int) (image.Image, error) {
	info, failed := jpegHeader("", data)
	if failed == nil {
		failed, _ = errors.AsType[*Error](info.check("", int64(len(data))))
	}
	switch {
	case failed != nil:
		return nil, errors.New("a JPEG in it: " + failed.Problem)
	case info.storedW != w || info.storedH != h:
		return nil, fmt.Errorf("a JPEG in it has %d×%d pixels, not %d×%d", info.storedW, info.storedH, w, h)
	}
	return jpeg.Decode(bytes.NewReader(data))
}

// bmpHeader reads a BMP's size and resolution.
func bmpHeader(name string, data []byte) (*Info, *Error) {
	if len(data) < 54 {
		return nil, damaged(name, "bmp", "the file is cut short")
	}
	config, err := bmp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, bmpError(name, data, err)
	}
	info := &Info{Format: "bmp", Orientation: 1, storedW: config.Width, storedH: config.Height}
	if config.Width > MaxSide || config.Height > MaxSide {
		return info, nil // check refuses it
	}
	for i := range info.Spacing { // pixels a metre
		if density := int32(binary.LittleEndian.Uint32(data[38+4*i:])); density > 0 {
			info.Spacing[i] = 1000 / float64(density)
		}
	}
	bits := int64(binary.LittleEndian.Uint16(data[28:]))
	info.memory = 4*int64(config.Width)*int64(config.Height) + slack
	info.least = (int64(config.Width)*bits + 31) / 32 * 4 * int64(config.Height)
	info.decode = func() (image.Image, error) {
		m, err := bmp.Decode(pulse.Reader(bytes.NewReader(data)))
		if err == bmp.ErrUnsupported {
			err = bmpError(name, data, err)
		}
		return m, err
	}
	return info, nil
}

// bmpError names the kind of a BMP that is not read.
func bmpError(name string, data []byte, err error) *Error {
	if err != bmp.ErrUnsupported {
		return decodeError(name, "bmp", err)
	}
	kind := fmt.Sprintf("%d bits", binary.LittleEndian.Uint16(data[28:]))
	if c := binary.LittleEndian.Uint32(data[30:]); c > 0 {
		names := map[uint32]string{1: "run lengths", 2: "run lengths", 3: "bit masks", 4: "JPEG", 5: "PNG", 6: "bit masks"}
		kind += " with " + names[c]
	}
	return decodeError(name, "bmp", raster.Unsupported(kind))
}

// webpTables is the most memory of the code trees of a lossless WebP, or of lossless alpha. Every
// tile of 4 × 4 pixels may have its own group of trees, but x/image/webp refuses more than 2600
// groups. A group has five trees: 536 bytes each, and 6272 nodes of 8 bytes in all.
func webpTables(w, h int) int64 {
	const group = 5*536 + 6272*8
	return min(2600, int64((w+3)/4)*int64((h+3)/4)) * group
}

// webpHeader reads a WebP's size and its EXIF orientation.
func webpHeader(name string, data []byte) (*Info, *Error) {
	if len(data) > 21 && string(data[12:16]) == "VP8X" && data[20]&2 != 0 {
		return nil, decodeError(name, "webp", raster.Unsupported("an animation"))
	}
	config, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, decodeError(name, "webp", err)
	}
	info := &Info{Format: "webp", Orientation: 1, storedW: config.Width, storedH: config.Height}
	// A lossy picture with alpha has planes of 2.5 bytes a pixel beside the RGB that it becomes. A
	// lossless one has 4 bytes, as often as twice.
	info.memory = 9*int64(config.Width)*int64(config.Height) + slack
	info.decode = func() (image.Image, error) { return webp.Decode(pulse.Reader(bytes.NewReader(data))) }
	for at := 12; at+8 <= len(data); {
		size := int64(binary.LittleEndian.Uint32(data[at+4:]))
		if size > int64(len(data)-at-8) {
			return nil, damaged(name, "webp", "the file is cut short")
		}
		switch string(data[at : at+4]) {
		case "EXIF":
			info.Orientation = exifOrientation(bytes.TrimPrefix(data[at+8:][:size], []byte("Exif\x00\x00")))
		case "VP8L", "ALPH":
			info.memory += webpTables(config.Width, config.Height)
		}
		at += 8 + int(size+size%2)
	}
	return info, nil
}

// HeadSize is how many bytes of a file Recognised needs.
const HeadSize = 352

// Recognised reports whether a file that begins so may hold a picture of a format that Decode reads.
// gzip may hold anything.
func Recognised(head []byte) bool {
	for _, begin := range []string{signature, "\xff\xd8\xff"} {
		if bytes.HasPrefix(head, []byte(begin)) {
			return true
		}
	}
	if len(head) >= 18 && string(head[:2]) == "BM" { // so may a text begin
		return binary.LittleEndian.Uint32(head[14:]) <= 124 // the size of the second header
	}
	webp := len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
	return webp || slices.ContainsFunc(framed, func(r reader) bool { return r.is(head) })
}
