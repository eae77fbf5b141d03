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

// reader reads a format, whose files may hold several pictures.
type reader struct {
	format string
	is     func(data []byte) bool
	open   func(data []byte, slice int, jpeg raster.JPEG) (*raster.Frame, error)
}

var jpegReader = reader{"jpeg", begins("\xff\xd8\xff"), single(jpegHeader)}

// readers returns the readers of all formats. The first one that takes a file reads it.
func readers() []reader {
	return []reader{
		{"png", begins(signature), single(pngHeader)},
		jpegReader,
		{"bmp", begins("BM"), single(bmpHeader)},
		{"webp", func(data []byte) bool {
			return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
		}, single(webpHeader)},
		{"dicom", dicom.Is, dicom.Open}, // before TIFF, since its preamble may be the head of one
		{"tiff", tiff.Is, tiff.Open},
		{"nifti", nifti.Is, nifti.Open},
	}
}

// readerOf is the reader of a file by its first bytes; nil if there is none.
func readerOf(head []byte) *reader {
	all := readers()
	if i := slices.IndexFunc(all, func(r reader) bool { return r.is(head) }); i >= 0 {
		return &all[i]
	}
	return nil
}

func begins(magic string) func(data []byte) bool {
	return func(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }
}

// single opens files of one picture.
func single(open func(data []byte) (*raster.Frame, error)) func([]byte, int, raster.JPEG) (*raster.Frame, error) {
	return func(data []byte, _ int, _ raster.JPEG) (*raster.Frame, error) { return open(data) }
}

// innerJPEG decodes a JPEG within a file of another format, with the guards of a JPEG file.
type innerJPEG struct{}

func (innerJPEG) Memory(data []byte, w, h int) int64 {
	f, err := jpegHeader(data)
	if err != nil || f.W != w || f.H != h {
		return 0
	}
	return f.Memory - 3*int64(w)*int64(h) // the file around it counts the converted picture
}

func (innerJPEG) Decode(data []byte, w, h int) (image.Image, error) {
	info, failed := jpegReader.header("", data, 0)
	switch {
	case failed != nil:
		return nil, errors.New("a JPEG in it: " + failed.Problem)
	case info.storedW != w || info.storedH != h:
		return nil, fmt.Errorf("a JPEG in it has %d×%d pixels, not %d×%d", info.storedW, info.storedH, w, h)
	}
	return info.Decode()
}

// HeadSize is how many bytes of a file Recognised needs.
const HeadSize = 352

// Recognised reports whether a file that begins so may hold a picture of a format that Decode reads.
// gzip may hold anything.
func Recognised(head []byte) bool {
	r := readerOf(head)
	if r != nil && r.format == "bmp" { // a text may begin so too
		return len(head) >= 18 && binary.LittleEndian.Uint32(head[14:]) <= 124 // the size of the second header
	}
	return r != nil
}
