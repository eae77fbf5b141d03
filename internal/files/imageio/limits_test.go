package imageio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/codec"
)

// safeSide is the side of a square picture that is promised to be read.
const safeSide = 3000

// jpegHead is the beginning of a JPEG of safeSide: its frame header, with colours at full
// resolution.
func jpegHead(marker byte, components int) []byte {
	data := []byte{0xff, 0xd8, 0xff, marker, 0, byte(8 + 3*components), 8, safeSide >> 8, safeSide & 255, safeSide >> 8, safeSide & 255, byte(components)}
	for c := range components {
		data = append(data, byte(c+1), 0x11, 0)
	}
	return data
}

// dicomOf is a DICOM file of safeSide. Without a piece, compressed pixels, its plain pixels are
// missing.
func dicomOf(syntax, photometric string, samples, allocated uint16, piece []byte) []byte {
	file := append(make([]byte, 128), "DICM\x02\x00\x10\x00UI"...)
	file = append(binary.LittleEndian.AppendUint16(file, uint16(len(syntax))), syntax...)
	return append(file, dicomSet(photometric, samples, allocated, piece)...)
}

func dicomSet(photometric string, samples, allocated uint16, piece []byte) (data []byte) {
	word := func(element, v uint16) {
		data = binary.LittleEndian.AppendUint16(append(binary.LittleEndian.AppendUint16(append(data, 0x28, 0), element), "US\x02\x00"...), v)
	}
	word(0x02, samples)
	data = append(append(data, "\x28\x00\x04\x00CS"...), byte(len(photometric)), 0)
	data = append(data, photometric...)
	word(0x10, safeSide)
	word(0x11, safeSide)
	word(0x100, allocated)
	if piece == nil {
		return append(data, "\xe0\x7f\x10\x00OW\x00\x00\x00\x00\x00\x00"...)
	}
	data = append(data, "\xe0\x7f\x10\x00OB\x00\x00\xff\xff\xff\xff\xfe\xff\x00\xe0\x00\x00\x00\x00\xfe\xff\x00\xe0"...)
	return append(binary.LittleEndian.AppendUint32(data, uint32(len(piece))), piece...)
}

// Every image up to safePixels is read, whatever file it is in: the messages promise it. The
// headers are of the hungriest kinds.
func TestPromisedSizeInEveryFile(t *testing.T) {
	const uncompressed, runs, lossless, baseline = "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.5", "1.2.840.10008.1.2.4.70", "1.2.840.10008.1.2.4.50"
	packed := make([]byte, 400_000) // as few bytes as compression can make of so much
	files := map[string][]byte{
		"DICOM, deflated": deflatedDICOM(t, dicomSet("RGB ", 3, 32, nil), 64),
		"NIfTI":           gzippedNIfTI(t, safeSide, safeSide, 1, 0),
		"WebP":            hugeWebP(t, safeSide, safeSide),
	}
	for _, samples := range []uint16{1, 3} {
		photometric := map[uint16]string{1: "MONOCHROME2 ", 3: "RGB "}[samples]
		for _, bits := range []uint16{8, 16, 32} {
			name := fmt.Sprintf("DICOM, %s%d bits", photometric, bits)
			files[name] = dicomOf(uncompressed, photometric, samples, bits, nil)
			files[name+", runs"] = dicomOf(runs, photometric, samples, bits, packed)
			for syntax, kind := range map[string]codec.Kind{"1.2.840.10008.1.2.4.90": codec.JPEG2000, "1.2.840.10008.1.2.4.80": codec.JPEGLS} {
				if codec.Missing(kind) == nil {
					files[name+", "+string(kind)] = dicomOf(syntax, photometric, samples, min(bits, 16), packed)
				}
			}
			files[name+", lossless"] = dicomOf(lossless, photometric, samples, min(bits, 16), packed)
		}
	}
	for _, bits := range []uint32{8, 16, 32, 64} {
		turned := [][2]uint32{{262, 2}, {274, 6}, {277, 4}, {338, 2}}
		files[fmt.Sprintf("TIFF, %d bits", bits)] = strip(safeSide, safeSide, bits, 8, packed)
		files[fmt.Sprintf("TIFF, %d bits and alpha", bits)] = strip(safeSide, safeSide, bits, 8, packed, turned...)
	}
	for _, marker := range []byte{0xc0, 0xc2} { // baseline and progressive
		grey, colours := append(jpegHead(marker, 1), packed...), append(jpegHead(marker, 3), packed...)
		files[fmt.Sprintf("DICOM, JPEG %x, grey", marker)] = dicomOf(baseline, "MONOCHROME2 ", 1, 8, grey)
		files[fmt.Sprintf("DICOM, JPEG %x, palette", marker)] = dicomOf(baseline, "PALETTE COLOR ", 1, 8, grey)
		files[fmt.Sprintf("DICOM, JPEG %x, YBR", marker)] = dicomOf(baseline, "YBR_FULL", 3, 8, colours)
		files[fmt.Sprintf("DICOM, JPEG %x, RGB", marker)] = dicomOf(baseline, "RGB ", 3, 8, colours)
		files[fmt.Sprintf("TIFF, JPEG %x, grey", marker)] = strip(safeSide, safeSide, 8, 7, grey, [2]uint32{274, 6})
		inks := append(jpegHead(marker, 4), packed...)
		files[fmt.Sprintf("TIFF, JPEG %x, CMYK", marker)] = strip(safeSide, safeSide, 8, 7, inks, [2]uint32{262, 5}, [2]uint32{277, 4}, [2]uint32{274, 6})
		files[fmt.Sprintf("TIFF, JPEG %x, RGB", marker)] = strip(safeSide, safeSide, 8, 7, colours, [2]uint32{262, 2}, [2]uint32{277, 3}, [2]uint32{274, 6})
		files[fmt.Sprintf("TIFF, JPEG %x, CMYK", marker)] = strip(safeSide, safeSide, 8, 7, append(jpegHead(marker, 4), packed...), [2]uint32{262, 5}, [2]uint32{277, 4}, [2]uint32{274, 6})
	}
	for name, data := range files {
		info, err := Header(name, data)
		if assert.NoError(t, err) {
			assert.Equal(t, [2]int{safeSide, safeSide}, [2]int{info.W, info.H}, name)
		}
	}
}

// A photograph of the promised size is read as a JPEG, and within the files that JPEGs come in.
func TestPromisedSizeDecoded(t *testing.T) {
	m := image.NewYCbCr(image.Rect(0, 0, safeSide, safeSide), image.YCbCrSubsampleRatio420)
	for i := range m.Y {
		m.Y[i] = uint8(i % safeSide >> 4)
	}
	var photograph bytes.Buffer
	require.NoError(t, jpeg.Encode(&photograph, m, nil))
	want, err := Decode("a.jpg", photograph.Bytes())
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"a.dcm": dicomOf("1.2.840.10008.1.2.4.50", "YBR_FULL_422", 3, 8, photograph.Bytes()),
		"a.tif": strip(safeSide, safeSide, 8, 7, photograph.Bytes(), [2]uint32{262, 6}, [2]uint32{277, 3}),
	} {
		got, err := Decode(name, data)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want.Pix, got.Pix), name)
	}
	data, err := os.ReadFile(filepath.Join(vectors(t, "reports"), "op_jpeg_3072x2048.dcm"))
	require.NoError(t, err)
	got, err := Decode("op_jpeg_3072x2048.dcm", data)
	require.NoError(t, err)
	inner := data[bytes.Index(data, []byte("\xff\xd8\xff\xe0")):]
	want, err = Decode("inner.jpg", inner)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want.Pix, got.Pix))
}
