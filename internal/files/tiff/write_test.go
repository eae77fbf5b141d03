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
		pages := []Page{{"disc", "consensus mask of disc", levels(w, h, 3)}, {"cup", "consensus mask of cup", levels(w, h, 5)}}
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
	data, err := Encode(7, 5, [2]float64{}, []Page{{"a", "b", levels(7, 5, 1)}})
	require.NoError(t, err)
	f, err := Open(data, 0, nil)
	require.NoError(t, err)
	assert.Zero(t, f.Spacing, "nothing is said where nothing is known")
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
	data, err := Encode(301, 420, [2]float64{0.5, 0.25}, []Page{{"disc", "consensus mask of disc", want}, {"cup", "", levels(301, 420, 5)}})
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
