package tensorboard

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// records splits a file as TFRecord describes it, and checks both checksums of every record.
func records(t *testing.T, data []byte) (out [][]byte) {
	t.Helper()
	unmask := func(b []byte) uint32 {
		v := binary.LittleEndian.Uint32(b) - 0xa282ead8
		return v>>17 | v<<15
	}
	for len(data) > 0 {
		require.GreaterOrEqual(t, len(data), 12)
		n := int(binary.LittleEndian.Uint64(data))
		require.Equal(t, crc32c(data[:8]), unmask(data[8:]), "of the length")
		data = data[12:]
		require.GreaterOrEqual(t, len(data), n+4)
		require.Equal(t, crc32c(data[:n]), unmask(data[n:]), "of the data")
		out = append(out, data[:n])
		data = data[n+4:]
	}
	return out
}

// crc32c divides by the polynomial of Castagnoli (RFC 3720).
func crc32c(b []byte) uint32 {
	sum := ^uint32(0)
	for _, v := range b {
		sum ^= uint32(v)
		for range 8 {
			low := sum & 1
			sum >>= 1
			if low == 1 {
				sum ^= 0x82f63b78
			}
		}
	}
	return ^sum
}

// fields returns the values of a message by number, in order, as uint64 or []byte.
func fields(t *testing.T, b []byte) map[int][]any {
	t.Helper()
	out := map[int][]any{}
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		require.Positive(t, n)
		b = b[n:]
		number := int(key >> 3)
		switch key & 7 {
		case 0:
			v, n := binary.Uvarint(b)
			require.Positive(t, n)
			out[number], b = append(out[number], v), b[n:]
		case 1:
			out[number], b = append(out[number], binary.LittleEndian.Uint64(b)), b[8:]
		case 2:
			length, n := binary.Uvarint(b)
			require.Positive(t, n)
			b = b[n:]
			out[number], b = append(out[number], b[:length]), b[length:]
		case 5:
			out[number], b = append(out[number], uint64(binary.LittleEndian.Uint32(b))), b[4:]
		default:
			t.Fatalf("wire type %d", key&7)
		}
	}
	return out
}

func message(t *testing.T, v any) map[int][]any {
	t.Helper()
	require.IsType(t, []byte(nil), v)
	return fields(t, v.([]byte))
}

// A file has the records that TensorBoard expects: the version first, then the start of the run,
// scalars, a picture.
func TestEvents(t *testing.T) {
	require.Equal(t, uint32(0xe3069283), crc32c([]byte("123456789")), "the check value of CRC-32C")
	folder := filepath.Join(t.TempDir(), "run", "tensorboard")
	w, err := Create(folder, 5)
	require.NoError(t, err)
	require.NoError(t, w.Scalars(5, Scalar{"loss/mask", 0.25}, Scalar{"rate", 2e-3}))
	picture := image.NewRGBA(image.Rect(0, 0, 3, 2))
	picture.Set(2, 1, color.RGBA{200, 100, 50, 255})
	require.NoError(t, w.Image(300, "masks", picture))
	require.NoError(t, w.Close())

	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Contains(t, entries[0].Name(), ".tfevents.")
	data, err := os.ReadFile(filepath.Join(folder, entries[0].Name()))
	require.NoError(t, err)
	events := records(t, data)
	require.Len(t, events, 4)

	version := fields(t, events[0])
	assert.Equal(t, "brain.Event:2", string(version[3][0].([]byte)))
	assert.InDelta(t, 1.8e9, math.Float64frombits(version[1][0].(uint64)), 1e9, "seconds since 1970")

	start := fields(t, events[1])
	assert.Equal(t, []any{uint64(5)}, start[2])
	assert.Equal(t, []any{uint64(1)}, message(t, start[7][0])[1], "SessionLog.START")

	scalars := fields(t, events[2])
	assert.Equal(t, []any{uint64(5)}, scalars[2])
	values := message(t, scalars[5][0])[1]
	require.Len(t, values, 2)
	first, second := message(t, values[0]), message(t, values[1])
	assert.Equal(t, "loss/mask", string(first[1][0].([]byte)))
	assert.Equal(t, float32(0.25), math.Float32frombits(uint32(first[2][0].(uint64))))
	assert.Equal(t, "rate", string(second[1][0].([]byte)))
	assert.Equal(t, float32(2e-3), math.Float32frombits(uint32(second[2][0].(uint64))))

	pictures := fields(t, events[3])
	assert.Equal(t, []any{uint64(300)}, pictures[2])
	value := message(t, message(t, pictures[5][0])[1][0])
	assert.Equal(t, "masks", string(value[1][0].([]byte)))
	encoded := message(t, value[4][0])
	assert.Equal(t, [][]any{{uint64(2)}, {uint64(3)}, {uint64(3)}}, [][]any{encoded[1], encoded[2], encoded[3]})
	decoded, err := png.Decode(bytes.NewReader(encoded[4][0].([]byte)))
	require.NoError(t, err)
	assert.Equal(t, picture.At(2, 1), color.RGBAModel.Convert(decoded.At(2, 1)))
}

// A resumed run writes another file, whose name comes after the first one's.
func TestFilesAreInOrder(t *testing.T) {
	folder := t.TempDir()
	for step := range 3 {
		w, err := Create(folder, step+1)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	for i, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		require.NoError(t, err)
		assert.Equal(t, []any{uint64(i + 1)}, fields(t, records(t, data)[1])[2])
	}
}

func TestCreateFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, err := Create(filepath.Join(file, "tensorboard"), 1)
	require.Error(t, err)
}
