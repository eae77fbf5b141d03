package archive

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The parts are one ZIP, and the writer keeps none of them.
func TestParts(t *testing.T) {
	var all bytes.Buffer
	w, now := New(), time.Date(2026, 11, 24, 15, 0, 0, 0, time.UTC)
	files := map[string][]byte{"table.csv": []byte("image"), "masks/Müller_disc_mask.png": bytes.Repeat([]byte{7}, 100_000), "empty.json": nil}
	for name, data := range files {
		require.NoError(t, w.Add(name, data, now))
		part := w.Part()
		require.Greater(t, len(part), len(name))
		all.Write(part)
		require.Zero(t, w.part.Len())
	}
	require.NoError(t, w.Close())
	all.Write(w.Part())
	require.Empty(t, w.Part())

	r, err := zip.NewReader(bytes.NewReader(all.Bytes()), int64(all.Len()))
	require.NoError(t, err)
	require.Len(t, r.File, len(files))
	for _, f := range r.File {
		in, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(in)
		require.NoError(t, err)
		require.Equal(t, len(files[f.Name]), len(data), f.Name)
		require.True(t, bytes.Equal(files[f.Name], data), f.Name)
		require.True(t, now.Equal(f.Modified))
	}
}
