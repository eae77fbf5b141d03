package dataset

import (
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withKey adds a tRNS chunk to a PNG of 8 grey bits: pixels of the value are transparent.
func withKey(data []byte, value byte) []byte {
	chunk := []byte{'t', 'R', 'N', 'S', 0, value}
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk))
	return slices.Insert(slices.Clone(data), 33, append([]byte{0, 0, 0, 2}, chunk...)...)
}

// A transparent mask is refused, by every program: it would count as empty. One that could be
// transparent and is not is read.
func TestTransparentMasks(t *testing.T) {
	dir := write(t, 5)
	path := maskPath(dir, "b", "disc", 0)
	grey, err := os.ReadFile(path)
	require.NoError(t, err)
	drawn := image.NewNRGBA(image.Rect(0, 0, sampleW, sampleH)) // black in opacity
	for i := range 40 {
		drawn.SetNRGBA(20+i%8, 20+i/8, color.NRGBA{A: 255})
	}
	for _, data := range [][]byte{pngOf(t, drawn), withKey(grey, 255), withKey(grey, 0)} {
		put(t, path, data)
		d, err := Open(dir)
		require.NoError(t, err)
		_, left, err := LoadSound(t.Context(), d.Cases, nil)
		require.NoError(t, err)
		want := path + ": this mask has transparent pixels; save it without transparency: 255 inside, 0 outside"
		assert.Equal(t, Problems{want}, left)
		assert.Contains(t, check(t, dir).Findings, Finding{Error: true, Kind: KindFault, Text: want})
	}
	put(t, path, withKey(grey, 7))
	assert.False(t, check(t, dir).Failed())
	deep := image.NewGray16(image.Rect(0, 0, sampleW, sampleH))
	deep.SetGray16(3, 3, color.Gray16{Y: 65535})
	put(t, path, withKey(pngOf(t, deep), 7))
	assert.False(t, check(t, dir).Failed(), "of 16 bits")

	soft := filepath.Join(t.TempDir(), "soft.png")
	put(t, soft, withKey(grey, 255))
	_, err = (&Case{}).probabilities(soft)
	assert.ErrorContains(t, err, "transparent")
}
