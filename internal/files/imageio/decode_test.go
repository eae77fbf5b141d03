package imageio

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// fill paints a picture that has no symmetry and no constant region.
func fill(m interface {
	Bounds() image.Rectangle
	Set(x, y int, c color.Color)
}) {
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			m.Set(x, y, color.NRGBA64{uint16(x*9000 + 77), uint16(y * 7001), uint16((x*y)*3001 + 9), uint16(65535 - x*4000)})
		}
	}
}

func encodePNG(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

func encodeJPEG(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}))
	return b.Bytes()
}

// exif is a TIFF structure with an orientation alone.
func exif(order binary.ByteOrder, orientation uint16) []byte {
	var tiff bytes.Buffer
	if order == binary.LittleEndian {
		tiff.WriteString("II*\x00")
	} else {
		tiff.WriteString("MM\x00*")
	}
	for _, v := range []any{uint32(8), uint16(1), uint16(274), uint16(3), uint32(1), orientation, uint16(0), uint32(0)} {
		binary.Write(&tiff, order, v)
	}
	return tiff.Bytes()
}

// withExif inserts an EXIF segment with an orientation after SOI.
func withExif(data []byte, order binary.ByteOrder, orientation uint16) []byte {
	body := append([]byte("Exif\x00\x00"), exif(order, orientation)...)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(body)+2))
	return bytes.Join([][]byte{data[:2], segment, body, data[2:]}, nil)
}

// assertPixels compares with the standard library's colours, composited over black.
func assertPixels(t *testing.T, want image.Image, got *Image) {
	b := want.Bounds()
	require.Equal(t, [2]int{b.Dx(), b.Dy()}, [2]int{got.W, got.H})
	require.Len(t, got.Pix, 3*got.W*got.H)
	for y := range got.H {
		for x := range got.W {
			r, g, bl, _ := want.At(b.Min.X+x, b.Min.Y+y).RGBA()
			p := got.Pix[3*(y*got.W+x):]
			if p[0] != uint8(r>>8) || p[1] != uint8(g>>8) || p[2] != uint8(bl>>8) {
				t.Fatalf("pixel %d,%d is %v, not %d %d %d", x, y, p[:3], r>>8, g>>8, bl>>8)
			}
		}
	}
}

func TestDecodeKinds(t *testing.T) {
	r := image.Rect(0, 0, 13, 7)
	palette := color.Palette{color.Black, color.White, color.NRGBA{200, 100, 50, 128}, color.RGBA{1, 2, 3, 255}}
	kinds := map[string]interface {
		image.Image
		Set(x, y int, c color.Color)
	}{
		"grey": image.NewGray(r), "grey16": image.NewGray16(r), "rgba": image.NewRGBA(r), "nrgba": image.NewNRGBA(r),
		"rgba64": image.NewRGBA64(r), "nrgba64": image.NewNRGBA64(r), "palette": image.NewPaletted(r, palette),
	}
	for name, m := range kinds {
		t.Run(name, func(t *testing.T) {
			fill(m)
			data := encodePNG(t, m)
			want, err := png.Decode(bytes.NewReader(data))
			require.NoError(t, err)
			got, err := Decode(name, data)
			require.NoError(t, err)
			assert.Equal(t, "png", got.Format)
			assert.Equal(t, strings.HasSuffix(name, "16") || strings.HasSuffix(name, "64"), got.Bits > 0)
			assertPixels(t, want, got)
		})
	}
	t.Run("jpeg", func(t *testing.T) {
		m := image.NewRGBA(r)
		fill(m)
		data := encodeJPEG(t, m)
		want, err := jpeg.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		got, err := Decode("a.jpg", data)
		require.NoError(t, err)
		assert.Equal(t, "jpeg", got.Format)
		assertPixels(t, want, got)
	})
	t.Run("one pixel", func(t *testing.T) {
		m := image.NewRGBA(image.Rect(0, 0, 1, 1))
		m.Set(0, 0, color.RGBA{10, 20, 30, 255})
		got, err := Decode("dot.png", encodePNG(t, m))
		require.NoError(t, err)
		assert.Equal(t, []uint8{10, 20, 30}, got.Pix)
	})
}

func TestDecodeAppliesOrientation(t *testing.T) {
	stored := image.NewRGBA(image.Rect(0, 0, 24, 16))
	fill(stored)
	data := encodeJPEG(t, stored)
	plain, err := jpeg.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	// The stored pixel that is displayed at (x, y), from the table of corners in EXIF 2.32.
	from := map[uint16]func(x, y, w, h int) (int, int){
		1: func(x, y, w, h int) (int, int) { return x, y },
		2: func(x, y, w, h int) (int, int) { return w - 1 - x, y },
		3: func(x, y, w, h int) (int, int) { return w - 1 - x, h - 1 - y },
		4: func(x, y, w, h int) (int, int) { return x, h - 1 - y },
		5: func(x, y, w, h int) (int, int) { return y, x },
		6: func(x, y, w, h int) (int, int) { return y, h - 1 - x },
		7: func(x, y, w, h int) (int, int) { return w - 1 - y, h - 1 - x },
		8: func(x, y, w, h int) (int, int) { return w - 1 - y, x },
	}
	for orientation, f := range from {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			got, err := Decode("rotated.jpg", withExif(data, order, orientation))
			require.NoError(t, err)
			assert.Equal(t, int(orientation), got.Orientation)
			w, h := 24, 16
			if orientation >= 5 {
				w, h = 16, 24
			}
			want := image.NewRGBA(image.Rect(0, 0, w, h))
			for y := range h {
				for x := range w {
					sx, sy := f(x, y, 24, 16)
					want.Set(x, y, plain.At(sx, sy))
				}
			}
			assertPixels(t, want, got)
		}
	}
	senseless, err := Decode("odd.jpg", withExif(data, binary.LittleEndian, 9))
	require.NoError(t, err)
	assert.Equal(t, 1, senseless.Orientation)
}

// A PNG can hold an EXIF orientation too, before its pixels or after them.
func TestDecodeAppliesOrientationOfPNG(t *testing.T) {
	stored := image.NewRGBA(image.Rect(0, 0, 24, 16))
	fill(stored)
	data := encodePNG(t, stored)
	plain, err := Decode("plain.png", data)
	require.NoError(t, err)
	body := append([]byte("eXIf"), exif(binary.BigEndian, 6)...)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)-4))
	chunk = binary.BigEndian.AppendUint32(append(chunk, body...), crc32.ChecksumIEEE(body))
	for _, at := range []int{33, len(data) - 12} { // behind IHDR, before IEND
		got, err := Decode("turned.png", slices.Concat(data[:at], chunk, data[at:]))
		require.NoError(t, err)
		assert.Equal(t, 6, got.Orientation)
		require.Equal(t, [2]int{16, 24}, [2]int{got.W, got.H})
		for y := range 24 {
			for x := range 16 {
				require.Equal(t, plain.Pix[3*((15-x)*24+y):][:3], got.Pix[3*(y*16+x):][:3])
			}
		}
	}
}

// Microscopes write 16-bit samples that use fewer bits. Decode does not make such pictures nearly
// black.
func TestDecodeUsedBits(t *testing.T) {
	r := image.Rect(0, 0, 16, 1)
	for most, lower := range map[uint16]int{200: 0, 255: 0, 256: 2, 1023: 2, 1024: 4, 4095: 4, 16383: 6, 16384: 8, 65535: 8} {
		grey, colour, clear := image.NewGray16(r), image.NewRGBA64(r), image.NewNRGBA64(r)
		for x := range 16 {
			v := uint16(int(most) * x / 15)
			grey.Set(x, 0, color.Gray16{Y: v})
			colour.Set(x, 0, color.RGBA64{v / 2, v, v / 3, 65535})
			clear.Set(x, 0, color.NRGBA64{v / 2, v, v / 3, uint16(65535 - x)})
		}
		for _, m := range []image.Image{grey, colour, clear} {
			got, err := Decode("deep.png", encodePNG(t, m))
			require.NoError(t, err)
			assert.Equal(t, 8+lower, got.Bits, "%T, at most %d", m, most)
			for x := range 16 {
				assert.InDelta(t, int(most)*x/15>>lower, got.Pix[3*x+1], 1, "%T, at most %d", m, most)
			}
		}
	}
}

// A mask drawn in opacity, or in colours of which one is transparent, is refused in every kind of
// picture. A mask that may be transparent and nowhere is, is a mask.
func TestDecodeMask(t *testing.T) {
	rect := image.Rect(0, 0, 4, 4)
	kinds := map[string]interface {
		image.Image
		Set(x, y int, c color.Color)
	}{
		"grey": image.NewNRGBA(rect), "deep": image.NewNRGBA64(rect), "palette": image.NewPaletted(rect, color.Palette{color.Black, color.White, color.NRGBA{}}),
	}
	for name, m := range kinds {
		for i := range 16 {
			m.Set(i%4, i/4, color.Gray{uint8(i / 8 * 255)})
		}
		var page bytes.Buffer
		got, err := DecodeMask(name, encodePNG(t, m))
		require.NoError(t, err, name)
		assert.Equal(t, uint8(255), got.Pix[3*15], name)
		m.Set(1, 1, color.NRGBA{})
		data := encodePNG(t, m)
		require.NoError(t, tiff.Encode(&page, m, nil))
		for _, data := range [][]byte{data, page.Bytes()} {
			_, err = DecodeMask(name, data)
			if _, indexed := m.(*image.Paletted); indexed && data[0] == 'I' {
				assert.NoError(t, err, "the palette of a TIFF has no transparency")
				continue
			}
			assert.EqualError(t, err, name+": this mask has transparent pixels; save it without transparency: 255 inside, 0 outside")
		}
		_, err = Decode(name, data)
		assert.NoError(t, err, "a photograph lies on black")
	}
}

// hugePNG makes a PNG that is only a header of the given size.
func hugePNG(w, h uint32) []byte {
	ihdr := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), w), h)
	ihdr = append(ihdr, 8, 2, 0, 0, 0)
	out := append([]byte(signature), 0, 0, 0, 13)
	out = append(out, ihdr...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(ihdr))
}

func TestDecodeRefuses(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 64, 48))
	fill(m)
	pngData, jpegData := encodePNG(t, m), encodeJPEG(t, m)
	hugeJPEG := bytes.Clone(jpegData)
	sof := bytes.Index(hugeJPEG, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(hugeJPEG[sof+5:], 60000)
	binary.BigEndian.PutUint16(hugeJPEG[sof+7:], 60000)
	tall := bytes.Clone(jpegData)
	binary.BigEndian.PutUint16(tall[sof+5:], 4800)
	empty := bytes.Clone(jpegData)
	binary.BigEndian.PutUint16(empty[sof+5:], 0)
	scan := bytes.Index(jpegData, []byte{0xff, 0xda})
	scans := slices.Concat(jpegData[:scan], bytes.Repeat(jpegData[scan:scan+14], maxScans), jpegData[scan:])
	cases := []struct {
		name string
		data []byte
		kind error
		says string
	}{
		{"scans.jpg", scans, ErrDamaged, "more than 100 scans"},
		{"empty.png", nil, ErrNotImage, "empty"},
		{"notes.png", []byte("Patient seen on Monday, see über-report.\n"), ErrNotImage, "text file"},
		{"noise.png", []byte{1, 2, 3, 0, 255}, ErrNotImage, "not a PNG, JPEG"},
		{"scan.tif", []byte("II*\x00\x08\x00\x00\x00"), ErrDamaged, "TIFF"},
		{"wide.png", hugePNG(30000, 30000), ErrTooLarge, "30000×30000"},
		{"wider.png", hugePNG(1<<31-1, 1), ErrTooLarge, "too large"},
		{"beyond.png", hugePNG(1<<31, 1), ErrDamaged, "out of range"},
		{"flat.png", hugePNG(0, 5), ErrDamaged, "0×5"},
		{"hollow.png", hugePNG(6000, 6000), ErrDamaged, "cut short"}, // would be 144 MB from 33 bytes
		{"short.png", pngData[:len(pngData)/2], ErrDamaged, "cut short"},
		{"header.png", pngData[:20], ErrDamaged, "cut short"},
		{"huge.jpg", hugeJPEG, ErrTooLarge, "60000×60000"},
		{"tall.jpg", tall, ErrDamaged, "damaged"},
		{"empty.jpg", empty, ErrDamaged, "64×0"},
		{"start.jpg", jpegData[:20], ErrDamaged, "cut short"},
	}
	flipped := bytes.Clone(pngData)
	flipped[len(flipped)-20] ^= 4
	cases = append(cases, struct {
		name string
		data []byte
		kind error
		says string
	}{"flipped.png", flipped, ErrDamaged, "damaged"})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := Decode(c.name, c.data)
			runtime.ReadMemStats(&after)
			assert.Nil(t, got)
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, err, c.kind)
			assert.True(t, strings.HasPrefix(err.Error(), c.name+": "), err)
			assert.Contains(t, err.Error(), c.says)
			assert.NotEmpty(t, e.Advice)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "bytes allocated for a refused file")
		})
	}
}

// A JPEG cut anywhere is an error, even with an end marker put back. It is never a picture with a
// grey rest. Only the end marker itself may be missing, in whole or in half.
func TestDecodeRefusesEveryTruncation(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 40, 40))
	fill(m)
	data := encodeJPEG(t, m)
	whole, err := Decode("whole.jpg", data)
	require.NoError(t, err)
	for n := 1; n < len(data)-4; n++ { // the last bytes before the end marker may be padding
		_, err := Decode("cut.jpg", data[:n])
		require.ErrorIs(t, err, kindOf(n), "cut to %d bytes of %d", n, len(data))
		if n > 3 {
			require.ErrorContains(t, err, "cut short")
		}
	}
	scan := bytes.Index(data, []byte{0xff, 0xda}) + 14
	for n := scan; n < len(data)-4; n++ {
		_, err := Decode("cut.jpg", append(bytes.Clone(data[:n]), 0xff, 0xd9))
		require.ErrorIs(t, err, ErrDamaged, "ended after %d bytes of %d", n, len(data))
	}
	for _, file := range [][]byte{data[:len(data)-2], data[:len(data)-1], append(data[:len(data)-2:len(data)-2], 0, 0, 0)} {
		got, err := Decode("endless.jpg", file)
		require.NoError(t, err)
		assert.Equal(t, whole.Pix, got.Pix)
	}
	pngData := encodePNG(t, m)
	wholePNG, err := Decode("whole.png", pngData)
	require.NoError(t, err)
	for n := 9; n < len(pngData); n++ {
		got, err := Decode("cut.png", pngData[:n])
		if n >= len(pngData)-12 { // only the chunk that says that this is the end is cut
			require.NoError(t, err)
			assert.Equal(t, wholePNG.Pix, got.Pix)
			continue
		}
		require.ErrorIs(t, err, ErrDamaged, "cut to %d bytes of %d", n, len(pngData))
	}
}

// What browsers read is read, with the same pixels as the file without a fault.
func TestFaultsBesideThePicture(t *testing.T) {
	rgba := image.NewNRGBA(image.Rect(0, 0, 21, 13))
	fill(rgba)
	palette := image.NewPaletted(rgba.Rect, color.Palette{color.Black, color.RGBA{200, 10, 0, 255}, color.NRGBA{9, 8, 7, 100}})
	for i := range palette.Pix {
		palette.Pix[i] = uint8(i % 3)
	}
	same := func(want *Image, name string, data []byte) {
		t.Helper()
		got, err := Decode(name, data)
		if assert.NoError(t, err, name) {
			assert.Equal(t, want.Pix, got.Pix, name)
		}
	}
	wrongSum := pngChunk("gAMA", []byte{0, 0, 1, 1})
	wrongSum[11]++
	for i, m := range []image.Image{rgba, palette, image.NewGray(rgba.Rect)} {
		data := encodePNG(t, m)
		want, err := Decode("a.png", data)
		require.NoError(t, err)
		first, last := bytes.Index(data, []byte("IDAT"))-4, len(data)-12
		packed := data[first+8 : last-4] // all of it is in one chunk
		lines, err := zlib.NewReader(bytes.NewReader(packed))
		require.NoError(t, err)
		raw, err := io.ReadAll(lines)
		require.NoError(t, err)
		with := func(packed []byte) []byte {
			return slices.Concat(data[:first], pngChunk("IDAT", packed), data[last:])
		}
		var more bytes.Buffer
		z := zlib.NewWriter(&more)
		z.Write(append(bytes.Clone(raw), make([]byte, 100)...))
		require.NoError(t, z.Close())
		adler := bytes.Clone(packed)
		adler[len(adler)-1]++
		for what, file := range map[string][]byte{
			"more pixels": with(more.Bytes()), "more bytes behind them": with(append(bytes.Clone(packed), 1, 2, 3)), "another sum of pixels": with(adler),
			"no sum of pixels": with(packed[:len(packed)-4]), "a wrong sum beside": slices.Insert(bytes.Clone(data), first, wrongSum...), "a wrong sum behind": slices.Insert(bytes.Clone(data), last, wrongSum...),
			"transparency that does not fit": slices.Insert(bytes.Clone(data), 33, pngChunk("tRNS", make([]byte, 300))...), "no end": data[:last], "a half end": data[:last+7], "bytes behind the end": append(bytes.Clone(data), 5, 6, 7),
		} {
			same(want, fmt.Sprintf("%d: %s.png", i, what), file)
		}
		pixels := bytes.Clone(data)
		pixels[first+12] ^= 1
		for what, file := range map[string][]byte{"too few pixels": with(packed[:len(packed)/2]), "a wrong sum of pixels": pixels} {
			_, err := Decode("a.png", file)
			assert.ErrorIs(t, err, ErrDamaged, "%d: %s", i, what)
		}
	}
	_, err := Decode("a.png", slices.Insert(encodePNG(t, rgba), 8, pngChunk("CgBI", []byte{0x50, 0, 0x20, 2})...))
	assert.ErrorIs(t, err, ErrUnsupported)
	assert.ErrorContains(t, err, "Apple's CgBI")

	data := encodeJPEG(t, rgba)
	want, err := Decode("a.jpg", data)
	require.NoError(t, err)
	begin := bytes.Index(data, []byte("\xff\xc4"))
	_, _, end := segment(data, begin)
	same(want, "no Huffman tables.jpg", slices.Delete(bytes.Clone(data), begin, end))
	for what, more := range map[string]string{"fill": "\xff\xff", "zeros": "\x00\x00", "a restart": "\xff\xd3"} {
		same(want, what+" before a marker.jpg", slices.Insert(bytes.Clone(data), begin, []byte(more)...))
		same(want, what+" before the end.jpg", slices.Insert(bytes.Clone(data), len(data)-2, []byte(more)...))
	}
	same(want, "bytes behind the end.jpg", append(bytes.Clone(data), "\xff\xd8garbage"...))

	var bitmap bytes.Buffer
	opaque := image.NewRGBA(image.Rect(0, 0, 5, 2))
	copy(opaque.Pix, bytes.Repeat([]byte{255}, len(opaque.Pix)))
	require.NoError(t, bmp.Encode(&bitmap, opaque)) // 15 bytes a row, and one of padding
	want, err = Decode("a.bmp", bitmap.Bytes())
	require.NoError(t, err)
	same(want, "no padding of the last row.bmp", bitmap.Bytes()[:bitmap.Len()-1])
	_, err = Decode("a.bmp", bitmap.Bytes()[:bitmap.Len()-2])
	assert.ErrorIs(t, err, ErrDamaged)

	want, err = Decode("a.webp", onePixelWebP(t))
	require.NoError(t, err)
	same(want, "bytes behind the end.webp", append(onePixelWebP(t), "any bytes at all"...))
}

func kindOf(n int) error {
	if n < 3 {
		return ErrNotImage
	}
	return ErrDamaged
}

// The header's estimate of peak memory must cover all allocations of Decode; TotalAlloc counts
// garbage as well.
func TestMemoryEstimate(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 1000, 800))
	fill(m)
	for name, data := range map[string][]byte{"png": encodePNG(t, m), "jpeg": encodeJPEG(t, m)} {
		info, err := Header(name, data)
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = Decode(name, data)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(info.Memory), name)
		assert.LessOrEqual(t, info.Memory-slack, int64(4*1000*800*3), "%s: four times the decoded size", name)
	}
}

func ExampleError() {
	_, err := Decode("eye.png", []byte("not a picture"))
	fmt.Println(err)
	// Output: eye.png: this is a text file, not an image, whatever its name says; open a PNG, JPEG, TIFF, BMP, WebP, DICOM or NIfTI image
}
