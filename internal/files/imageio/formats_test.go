package imageio

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

var write = flag.Bool("write", false, "write testdata/vectors.txt anew, after its pixels were compared with other decoders")

// TestVectorsOfFormats reads all files of others. Those in testdata/vectors.txt keep their pixels, or
// are refused. pydicom 2.3, nibabel 5.0 and tifffile 2023.2 gave the same pixels once, to a rounding,
// where they can read a file; subsampled JPEGs differ by how colours are enlarged. Nothing else has
// read the TIFFs with LZW, JPEG, CCITT or samples of other than 1, 8, 16, 32 and 64 bits. Files
// without a reference (fuzzers' finds) give a picture or an *Error.
func TestVectorsOfFormats(t *testing.T) {
	var lines, undecoded []string // undecoded lack a program here
	for _, folder := range []string{"tiff", "dicom", "nifti", "deflate"} {
		root := vectors(t, folder)
		eachFile(t, root, func(path string, data []byte) {
			begun := time.Now()
			m, err := Decode(path, data)
			if spent := time.Since(begun); spent > time.Second {
				t.Logf("%s took %v", path, spent)
			}
			name, _ := filepath.Rel(filepath.Dir(root), path)
			line := filepath.ToSlash(name) + " refused"
			if err == nil {
				require.Len(t, m.Pix, 3*m.W*m.H)
				line = fmt.Sprintf("%s %d×%d %d of %d %.12x", filepath.ToSlash(name), m.W, m.H, m.Slice, m.Slices, sha256.Sum256(m.Pix))
			} else {
				var e *Error
				require.ErrorAs(t, err, &e)
				require.NotContains(t, err.Error(), "runtime error", "a panic: %s", path)
			}
			if err != nil && strings.Contains(err.Error(), "which MrPrism reads by the program") {
				t.Log(err)
				undecoded = append(undecoded, filepath.ToSlash(name)+" ")
			} else if !strings.Contains(line, "/corpus/") {
				lines = append(lines, line)
			}
		})
	}
	got, file := strings.Join(lines, "\n")+"\n", filepath.Join("testdata", "vectors.txt")
	if *write {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, slices.DeleteFunc(strings.Split(string(want), "\n"), func(line string) bool {
		return slices.ContainsFunc(undecoded, func(name string) bool { return strings.HasPrefix(line, name) })
	}), strings.Split(got, "\n"))
}

// pictures are of all kinds that the encoders of golang.org/x/image write.
func pictures() []image.Image {
	bounds := image.Rect(0, 0, 37, 21)
	rgba := image.NewNRGBA(bounds)
	fill(rgba)
	grey, deep, wide := image.NewGray(bounds), image.NewGray16(bounds), image.NewNRGBA64(bounds)
	paletted := image.NewPaletted(bounds, color.Palette{color.Black, color.RGBA{200, 10, 0, 255}, color.White})
	for y := range 21 {
		for x := range 37 {
			grey.Set(x, y, rgba.At(x, y))
			deep.SetGray16(x, y, color.Gray16{Y: uint16(x*1771 + y*13)})
			wide.Set(x, y, color.NRGBA64{uint16(x * 1700), uint16(y * 3000), 65535, 65535})
			paletted.SetColorIndex(x, y, uint8((x+y)%3))
		}
	}
	return []image.Image{rgba, grey, deep, wide, paletted}
}

func TestDecodeTIFF(t *testing.T) {
	for i, m := range pictures() {
		for _, o := range []*tiff.Options{nil, {Compression: tiff.Deflate}, {Compression: tiff.Deflate, Predictor: true}} {
			var data bytes.Buffer
			require.NoError(t, tiff.Encode(&data, m, o))
			got, err := Decode("a.tif", data.Bytes())
			require.NoError(t, err, "picture %d, %v", i, o)
			assert.Equal(t, "tiff", got.Format)
			assertPixels(t, m, got)
		}
	}
}

// A TIFF's orientation turns its pixels and its spacing.
func TestTIFFOrientation(t *testing.T) {
	entries := [][4]uint32{
		{256, 3, 1, 3}, {257, 3, 1, 2}, {258, 3, 1, 8}, {259, 3, 1, 1}, {262, 3, 1, 1}, {273, 4, 1, 8}, {274, 3, 1, 6}, {277, 3, 1, 1},
		{278, 3, 1, 2}, {279, 4, 1, 6}, {282, 5, 1, 14}, {283, 5, 1, 22}, {296, 3, 1, 3},
	}
	data := append([]byte("II*\x00\x1e\x00\x00\x00"), 1, 2, 3, 4, 5, 6)
	for _, v := range []uint32{100, 1, 50, 1} { // a centimetre has 100 pixels across, 50 down
		data = binary.LittleEndian.AppendUint32(data, v)
	}
	data = binary.LittleEndian.AppendUint16(data, uint16(len(entries)))
	for _, e := range entries {
		data = binary.LittleEndian.AppendUint16(data, uint16(e[0]))
		data = binary.LittleEndian.AppendUint16(data, uint16(e[1]))
		data = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(data, e[2]), e[3])
	}
	data = append(data, 0, 0, 0, 0)
	got, err := Decode("a.tif", data)
	require.NoError(t, err)
	assert.Equal(t, []uint8{4, 4, 4, 1, 1, 1, 5, 5, 5, 2, 2, 2, 6, 6, 6, 3, 3, 3}, got.Pix)
	assert.Equal(t, [2]float64{0.2, 0.1}, got.Spacing)
	assert.Zero(t, got.PixelSize(), "a TIFF's resolution is that of a print")
	_, err = DecodeSlice("a.tif", data, 2)
	assert.ErrorContains(t, err, "there is no slice 2; the file has 1")
}

func TestDecodeBMP(t *testing.T) {
	for i, m := range pictures() {
		if i == 2 || i == 3 {
			continue // no BMP has 16 bits
		}
		if rgba, ok := m.(*image.NRGBA); ok {
			for k := 3; k < len(rgba.Pix); k += 4 {
				rgba.Pix[k] = 255 // a BMP's alpha is not read
			}
		}
		var data bytes.Buffer
		require.NoError(t, bmp.Encode(&data, m))
		got, err := Decode("a.bmp", data.Bytes())
		require.NoError(t, err)
		assert.Equal(t, "bmp", got.Format)
		assertPixels(t, m, got)
		_, err = Decode("a.bmp", data.Bytes()[:data.Len()-4]) // 3 of them may be padding
		assert.ErrorIs(t, err, ErrDamaged)
	}
}

// onePixelWebP is a lossless WebP of one pixel, by Google's cwebp.
func onePixelWebP(t testing.TB) []byte {
	data, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	require.NoError(t, err)
	return data
}

func TestDecodeWebP(t *testing.T) {
	data := onePixelWebP(t)
	got, err := Decode("a.webp", data)
	require.NoError(t, err)
	assert.Equal(t, "webp", got.Format)

	header, err := Header("a.webp", data)
	require.NoError(t, err)
	assert.EqualValues(t, 9+slack+52856, header.Memory, "trees of one tile")
	assert.EqualValues(t, 2600*52856, webpTables(4000, 3000), "as many groups as the decoder takes")
	assert.Equal(t, 1, got.W*got.H)
	_, err = Decode("a.webp", data[:len(data)-4])
	assert.ErrorIs(t, err, ErrDamaged)
}

// niftiVolume is a volume (2, 3, 4) of int16 from 0 up, in NIfTI-1.
func niftiVolume(order binary.ByteOrder) []byte {
	data := make([]byte, 352+2*24)
	order.PutUint32(data, 348)
	for i, n := range []uint16{3, 4, 3, 2, 1, 1, 1, 1} {
		order.PutUint16(data[40+2*i:], n)
	}
	order.PutUint16(data[70:], 4)
	for i, v := range []float32{1, 0.5, 0.25} {
		order.PutUint32(data[76+4*i:], math.Float32bits(v))
	}
	order.PutUint32(data[108:], math.Float32bits(352))
	data[123] = 2
	copy(data[344:], "n+1\x00")
	for i := range 24 {
		order.PutUint16(data[352+2*i:], uint16(i))
	}
	return data
}

func TestDecodeNIfTI(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		data := niftiVolume(order)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(data)
		require.NoError(t, errors.Join(err, z.Close()))
		for _, file := range [][]byte{data, packed.Bytes()} {
			got, err := Decode("a.nii", file)
			require.NoError(t, err)
			assert.Equal(t, []int{4, 3, 2, 2}, []int{got.W, got.H, got.Slice, got.Slices})
			assert.Equal(t, [2]float64{0.5, 0.25}, got.Spacing)
			assert.Equal(t, uint8(133), got.Pix[0], "12 of 23")
			got, err = DecodeSlice("a.nii", file, 1)
			require.NoError(t, err)
			assert.Equal(t, uint8(0), got.Pix[0])
			_, err = DecodeSlice("a.nii", file, 3)
			assert.ErrorContains(t, err, "choose a slice from 1 to 2")
			_, err = Decode("a.nii", file[:len(file)-9])
			assert.ErrorIs(t, err, ErrDamaged)
		}
	}
}

// dicomFile is a picture of 3×2 pixels of 12 bits, two frames, with a window.
func dicomFile() []byte {
	data := append(make([]byte, 128), "DICM"...)
	put := func(group, element uint16, kind string, value string) {
		if len(value)%2 == 1 {
			value += " "
		}
		data = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(data, group), element)
		if data = append(data, kind...); kind == "OW" {
			data = binary.LittleEndian.AppendUint32(append(data, 0, 0), uint32(len(value)))
		} else {
			data = binary.LittleEndian.AppendUint16(data, uint16(len(value)))
		}
		data = append(data, value...)
	}
	word := func(v ...uint16) string {
		var b []byte
		for _, x := range v {
			b = binary.LittleEndian.AppendUint16(b, x)
		}
		return string(b)
	}
	put(2, 0x10, "UI", "1.2.840.10008.1.2.1")
	put(0x28, 2, "US", word(1))
	put(0x28, 4, "CS", "MONOCHROME1")
	put(0x28, 8, "IS", "2")
	put(0x28, 0x10, "US", word(2))
	put(0x28, 0x11, "US", word(3))
	put(0x28, 0x30, "DS", `0.5\0.25`)
	put(0x28, 0x100, "US", word(16))
	put(0x28, 0x101, "US", word(12))
	put(0x28, 0x102, "US", word(11))
	put(0x28, 0x103, "US", word(1))
	put(0x28, 0x1050, "DS", "0.5")
	put(0x28, 0x1051, "DS", "256")
	put(0x28, 0x1053, "DS", "2")
	put(0x7fe0, 0x10, "OW", word(0, 1, 2, 3, 4, 5, 0, 64, 0xfff, 0xf000|2047, 10, 2048))
	return data
}

func TestDecodeDICOM(t *testing.T) {
	data := dicomFile()
	got, err := Decode("a.dcm", data)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 2, 2, 2}, []int{got.W, got.H, got.Slice, got.Slices})
	assert.Equal(t, [2]float64{0.25, 0.5}, got.Spacing)
	assert.Equal(t, got.Spacing, got.PixelSize())
	var grey []uint8
	for i := 0; i < len(got.Pix); i += 3 {
		grey = append(grey, got.Pix[i])
	}
	assert.Equal(t, []uint8{127, 0, 129, 0, 107, 255}, grey, "inverted, signed, of twelve bits")
	_, err = Decode("a.dcm", data[:len(data)-4])
	assert.ErrorIs(t, err, ErrDamaged)
	named := bytes.Replace(data, []byte("1.2.840.10008.1.2.1\x20"), []byte("1.2.840.10008.1.2.7 "), 1)
	_, err = Decode("a.dcm", named)
	assert.ErrorIs(t, err, ErrUnsupported)
	assert.ErrorContains(t, err, "the transfer syntax 1.2.840.10008.1.2.7")
}

func TestRecognised(t *testing.T) {
	var inTIFF, inBMP bytes.Buffer
	require.NoError(t, tiff.Encode(&inTIFF, small(), nil))
	require.NoError(t, bmp.Encode(&inBMP, small()))
	for format, data := range map[string][]byte{
		"png": encodePNG(t, small()), "jpeg": encodeJPEG(t, small()), "tiff": inTIFF.Bytes(), "bmp": inBMP.Bytes(),
		"webp": onePixelWebP(t), "dicom": dicomFile(), "nifti": niftiVolume(binary.LittleEndian),
	} {
		assert.True(t, Recognised(data[:min(len(data), HeadSize)]), format)
	}
	for _, other := range []string{"", "text", "%PDF-1.7", "GIF89a", "PK\x03\x04", "BMI of patients,12.5"} {
		assert.False(t, Recognised([]byte(other)), other)
	}
}
