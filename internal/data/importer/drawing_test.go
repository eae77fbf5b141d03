package importer

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"math/rand/v2"
	"testing"

	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mask shrinks as its picture does, but where half of a pixel is marked, which floats cannot tell.
func TestMasksShrinkAsImages(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][3]int{{115, 87, 102}, {87, 115, 102}, {60, 40, 20}, {33, 9, 10}, {64, 1, 7}} {
		w, h, longest := size[0], size[1], size[2]
		mask, whole := make([]uint8, w*h), &imageio.Image{W: w, H: h, Pix: make([]uint8, 3*w*h)}
		for i := range mask {
			if y := i / w; y > h/5 || h < 10 {
				mask[i] = uint8(min(1, rng.IntN(5)/2))
			}
			for c := range 3 {
				whole.Pix[3*i+c] = 255 * mask[i]
			}
		}
		small := shrunkImage(whole, longest)
		d := &drawing{image.Rect(0, 0, w, h), mask}
		if h >= 10 { // of which nothing lies outside the rectangle
			d = &drawing{image.Rect(0, h/5, w, h), d.cut(image.Rect(0, h/5, w, h))}
		}
		got := d.shrunk(w, h, small.W, small.H).cut(image.Rect(0, 0, small.W, small.H))
		assert.Greater(t, metric.Area(got), 0)
		for i, v := range got {
			if grey := small.Pix[3*i]; grey != 127 && grey != 128 {
				assert.Equal(t, grey>>7, v, "%v: pixel %d of %d", size, i, grey)
			}
		}
	}
}

// filtered is a PNG of random rows, filtered in all five ways, some of them empty.
func filtered(rng *rand.Rand, w, h int) []byte {
	var rows bytes.Buffer
	z := zlib.NewWriter(&rows)
	for range h {
		row := make([]byte, w+1)
		row[0] = byte(rng.IntN(5))
		if rng.IntN(3) > 0 {
			for x := range w {
				row[x+1] = byte(rng.Uint32())
			}
		}
		z.Write(row)
	}
	z.Close()
	file := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, data []byte) {
		file = binary.BigEndian.AppendUint32(file, uint32(len(data)))
		body := append([]byte(kind), data...)
		file = binary.BigEndian.AppendUint32(append(file, body...), crc32.ChecksumIEEE(body))
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(h))
	chunk("IHDR", append(head, 8, 0, 0, 0, 0))
	half := rows.Len() / 2
	chunk("IDAT", rows.Bytes()[:half])
	chunk("IDAT", rows.Bytes()[half:])
	chunk("IEND", nil)
	return file
}

// Grey PNGs are those of image/png. What is cut short is none.
func TestPlainPNG(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		w, h := 1+rng.IntN(20), 1+rng.IntN(20)
		data := filtered(rng, w, h)
		want, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		got := plainPNG(data, w, h)
		for y := range h {
			if row := want.(*image.Gray).Pix[y*w : (y+1)*w]; got.row(y) != nil {
				require.Equal(t, row, got.row(y))
			} else {
				require.Equal(t, make([]uint8, w), row)
			}
		}
		for range 20 {
			assert.NotPanics(t, func() { plainPNG(data[:33+rng.IntN(len(data)-33)], w, h) })
			damaged := bytes.Clone(data)
			damaged[33+rng.IntN(len(data)-33-12)] ^= byte(1 + rng.IntN(255)) // before the last chunk
			assert.Nil(t, plainPNG(damaged, w, h))
		}
	}
	assert.Nil(t, plainPNG(encoded(t, image.NewNRGBA(image.Rect(0, 0, 4, 4)), ".png"), 4, 4))
}
