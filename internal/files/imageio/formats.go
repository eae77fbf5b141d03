package imageio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"slices"

	"mrprism/internal/files/dicom"
	"mrprism/internal/files/nifti"
	"mrprism/internal/files/raster"
	"mrprism/internal/files/tiff"
)

// reader reads a format whose files may hold several pictures.
type reader struct {
	format string
	is     func(data []byte) bool
	open   func(data []byte, slice int, jpeg raster.JPEG) (*raster.Frame, error)
}

var framed = []reader{
	{"dicom", dicom.Is, dicom.Open}, // first, since its preamble may be the head of a TIFF
	{"tiff", tiff.Is, tiff.Open},
	{"nifti", nifti.Is, nifti.Open},
}

// framedHeader reads the header of a picture of such a file.
func framedHeader(name string, r reader, data []byte, slice int) (info *Info, err *Error) {
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
	return &Info{
		Format: r.format, Orientation: f.Orientation, Spacing: f.Spacing, Body: f.Body, Slice: f.Slice, Slices: f.Slices, Header: f.Header,
		decode: f.Decode, storedW: f.W, storedH: f.H, memory: f.Memory, least: f.Least, full: f.Full, inverted: f.Inverted, cut: f.Cut,
	}, nil
}

// innerJPEG decodes a JPEG within a file of another format, with the guards of a JPEG file.
type innerJPEG struct{}

func (innerJPEG) Memory(data []byte, w, h int) int64 {
	info, err := jpegHeader("", data)
	if err != nil || info.storedW != w || info.storedH != h {
		return 0
	}
	return info.memory - 3*int64(w)*int64(h) // the file around it counts the converted picture
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
	return info.decode()
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
	if len(head) >= 18 && string(head[:2]) == "BM" { // a text may begin so too
		return binary.LittleEndian.Uint32(head[14:]) <= 124 // the size of the second header
	}
	webp := len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
	return webp || slices.ContainsFunc(framed, func(r reader) bool { return r.is(head) })
}
