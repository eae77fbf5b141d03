package imageio

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Alpha beside a lossy picture changes nothing in its colours, which TestReports compares.
func TestLossyWebPWithAlpha(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(vectors(t, "reports"), "webp_lossy.webp"))
	require.NoError(t, err)
	plain, err := Decode("plain.webp", data)
	require.NoError(t, err)
	for _, alpha := range []byte{255, 128} {
		chunk := append([]byte("ALPH\x00\x00\x00\x00\x00"), bytes.Repeat([]byte{alpha}, plain.W*plain.H)...)
		binary.LittleEndian.PutUint32(chunk[4:], uint32(len(chunk)-8))
		head := append([]byte("WEBPVP8X\x0a\x00\x00\x00\x10\x00\x00\x00"), byte(plain.W-1), 0, 0, byte(plain.H-1), 0, 0)
		body := bytes.Join([][]byte{head, chunk, make([]byte, len(chunk)%2), data[12:]}, nil)
		file := append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
		m, err := Decode("alpha.webp", file)
		require.NoError(t, err)
		_, err = DecodeMask("alpha.webp", file)
		require.Equal(t, alpha < 255, err != nil)
		for i, v := range plain.Pix {
			require.Equal(t, scale(v, uint32(alpha)), m.Pix[i])
		}
	}
	assert.Contains(t, plain.Pix, uint8(255))
}
