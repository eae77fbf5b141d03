package tiff

import (
	"bytes"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// levels are those of a page of w × h.
func levels(w, h, seed int) []uint8 {
	out := make([]uint8, w*h)
	for i := range out {
		out[i] = uint8(i*i>>8 + i*seed)
	}
	return out
}

func TestWrittenPagesAreReadBack(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {7, 5}, {301, 420}, {70_000 - 5000, 3}} {
		w, h := size[0], size[1]
		pages := []Page{{Name: "disc", About: "consensus mask of disc", Levels: levels(w, h, 3)}, {Name: "cup", About: "consensus mask of cup", Levels: levels(w, h, 5)}}
		data, err := Encode(w, h, [2]float64{0.0112, 2.5}, pages)
		require.NoError(t, err)
		for i, p := range pages {
			f, err := Open(data, i+1, nil)
			require.NoError(t, err)
			assert.Equal(t, []int{w, h, i + 1, 2}, []int{f.W, f.H, f.Slice, f.Slices})
			assert.InDeltaSlice(t, []float64{0.0112, 2.5}, f.Spacing[:], 1e-6)
			m, err := f.Decode()
			require.NoError(t, err)
			assert.Equal(t, p.Levels, m.(*image.Gray).Pix[:w*h])
		}
	}
	data, err := Encode(7, 5, [2]float64{}, []Page{{Name: "a", About: "b", Levels: levels(7, 5, 1)}})
	require.NoError(t, err)
	f, err := Open(data, 0, nil)
	require.NoError(t, err)
	assert.Zero(t, f.Spacing, "nothing is said where nothing is known")
}

// Values are those of floats and of levels.
func TestValues(t *testing.T) {
	w, h := 301, 420 // two strips of floats
	floats := make([]float32, w*h)
	for i := range floats {
		floats[i] = float32(i) / float32(w*h)
	}
	for full, page := range map[float64]Page{0: {Values: floats}, 255: {Levels: levels(w, h, 3)}} {
		data, err := Encode(w, h, [2]float64{}, []Page{page})
		require.NoError(t, err)
		values, across, down, top, err := Values(data, w*h)
		require.NoError(t, err)
		assert.Equal(t, []any{w, h, full}, []any{across, down, top})
		for i, v := range page.Levels {
			require.Equal(t, float32(v), values[i])
		}
		if full == 0 {
			require.Equal(t, floats, values)
		}
		_, _, _, _, err = Values(data, w*h-1)
		require.ErrorContains(t, err, "301×420 pixels are too many")
		for n := range 200 {
			_, _, _, _, err = Values(data[:n*len(data)/200], w*h)
			require.Error(t, err)
		}
	}
	two, err := Encode(7, 5, [2]float64{}, []Page{{Levels: levels(7, 5, 1)}, {Levels: levels(7, 5, 1)}})
	require.NoError(t, err)
	_, _, _, _, err = Values(two, 100)
	require.ErrorContains(t, err, "it has 2 pages; save one map a file")
}

// libtiff reads the same pixels.
func TestLibtiffReadsWhatWasWritten(t *testing.T) {
	program, err := exec.LookPath("tiffcp")
	if err == nil {
		program, err = exec.LookPath("tiffinfo")
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("libtiff-tools is not installed")
	}
	want := levels(301, 420, 3)
	data, err := Encode(301, 420, [2]float64{0.5, 0.25}, []Page{{Name: "disc", About: "consensus mask of disc", Levels: want}, {Name: "cup", Levels: levels(301, 420, 5)}})
	require.NoError(t, err)
	file, plain := filepath.Join(t.TempDir(), "a.tif"), filepath.Join(t.TempDir(), "b.tif")
	require.NoError(t, os.WriteFile(file, data, 0o666))
	about, err := exec.Command(program, "-D", file).CombinedOutput()
	require.NoError(t, err, "%s", about)
	assert.NotContains(t, string(about), "Warning")
	for _, text := range []string{"Image Width: 301 Image Length: 420", "Resolution: 20, 40 pixels/cm", "PageName: disc", "PageName: cup", "ImageDescription: consensus mask of disc"} {
		assert.Contains(t, string(about), text)
	}
	said, err := exec.Command("tiffcp", "-c", "none", file, plain).CombinedOutput()
	require.NoError(t, err, "%s", said)
	unpacked, err := os.ReadFile(plain)
	require.NoError(t, err)
	assert.True(t, bytes.Contains(unpacked, want[:301]), fmt.Sprint("the first row, as libtiff unpacked it, of ", len(unpacked)))
	f, err := Open(unpacked, 1, nil)
	require.NoError(t, err)
	m, err := f.Decode()
	require.NoError(t, err)
	assert.Equal(t, want, m.(*image.Gray).Pix[:301*420])
}
