package imageio

import (
	"bytes"
	"image/jpeg"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vectors is the folder of third-party files. Without the folder it skips the test.
func vectors(t testing.TB, sub string) string {
	dir := os.Getenv("MRPRISM_VECTORS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "vectors")
	}
	dir = filepath.Join(dir, sub)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no third-party vectors: %v (set MRPRISM_VECTORS)", err)
	}
	return dir
}

func eachFile(t testing.TB, dir string, f func(path string, data []byte)) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			f(path, data)
		}
		return err
	}))
}

func TestVectorsPNG(t *testing.T) {
	var read, tolerated, refused int
	eachFile(t, vectors(t, "png"), func(path string, data []byte) {
		got, err := Decode(path, data)
		want, standard := png.Decode(bytes.NewReader(data))
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			refused++
			if bytes.HasPrefix(data, []byte(signature)) && standard == nil {
				require.ErrorIs(t, err, ErrTooLarge, "%s is read by the standard library", path)
			}
			return
		}
		read++
		if got.Format == "png" && standard != nil {
			t.Logf("the standard library refuses %s (%v)", path, standard)
			require.NotContains(t, path, "pngsuite", "its broken files are broken")
			tolerated++
		} else if got.Format == "png" {
			assertPixels(t, want, got)
		}
	})
	t.Logf("%d read, %d of them against the standard library, %d refused", read, tolerated, refused)
	assert.Greater(t, read, 150, "PngSuite alone has that many valid files")
	assert.Greater(t, refused, 14, "PngSuite alone has fourteen broken files")
}

func TestVectorsJPEG(t *testing.T) {
	var read, refused int
	eachFile(t, vectors(t, "jpeg"), func(path string, data []byte) {
		got, err := Decode(path, data)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.NotContains(t, path, filepath.Join("images", "jpg"), "these are sound: %v", err)
			refused++
			return
		}
		read++
		if got.Format != "jpeg" || got.Orientation != 1 {
			return
		}
		want, err := jpeg.Decode(bytes.NewReader(append(data, 0xff, 0xd9))) // some lack their end
		require.NoError(t, err, path)
		assertPixels(t, want, got)
	})
	t.Logf("%d read, %d refused", read, refused)
	for name, orientation := range map[string]int{"portrait_2.jpg": 2, "progressive/cat.jpg": 1} {
		data, err := os.ReadFile(filepath.Join(vectors(t, "jpeg"), "images", "jpg", name))
		require.NoError(t, err)
		got, err := Decode(name, data)
		require.NoError(t, err)
		assert.Equal(t, orientation, got.Orientation, name)
	}
}
