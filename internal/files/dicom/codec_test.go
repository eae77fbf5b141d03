package dicom

import (
	"bytes"
	"image"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// picture is a frame of a file, 0 for the middle one.
func picture(t *testing.T, data []byte, slice int) image.Image {
	t.Helper()
	f, err := Open(data, slice, nil)
	require.NoError(t, err)
	m, err := f.Decode()
	require.NoError(t, err)
	return m
}

// pixelsOf are the first channel of a picture.
func pixelsOf(t *testing.T, m image.Image) (all []uint8) {
	t.Helper()
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			r, _, _, _ := m.At(x, y).RGBA()
			all = append(all, uint8(r>>8))
		}
	}
	return all
}

// Compressed files have the pixels of the plain ones. OpenJPEG 2.5.0 (opj_compress), OpenJPH 0.9
// (ojph_compress) and dcmtk 3.6.7 (dcmcjpls) wrote them. framesj2k.dcm has two frames in three
// pieces; planesjls.dcm has a scan for each colour; lossyj2k.dcm is of the irreversible transform,
// and nearjls.dcm is near-lossless with a deviation of 3.
func TestCodecs(t *testing.T) {
	needs(t, "opj_decompress")
	needs(t, "dcmdjpls")
	for name, c := range map[string]struct {
		plain string
		slice int
		off   int // levels
	}{
		"greyj2k": {"grey", 0, 0}, "signedj2k": {"grey", 0, 0}, "framesj2k": {"grey", 1, 0}, "greyht": {"grey", 0, 0}, "greyjls": {"grey", 0, 0},
		"rgbj2k": {"rgb", 0, 0}, "rgbht": {"rgb", 0, 0}, "rgbjls": {"rgb", 0, 0}, "planesjls": {"rgb", 0, 0},
		"lossyj2k": {"rgb", 0, 3}, "nearjls": {"grey", 0, 1},
	} {
		data := read(t, name+".dcm")
		want, got := picture(t, read(t, c.plain+".dcm"), 0), picture(t, data, c.slice)
		require.IsType(t, want, got, name)
		differ := func(a, b []uint8) {
			require.Len(t, b, len(a), name)
			for i := range a {
				require.InDelta(t, a[i], b[i], float64(c.off), "%s at %d", name, i)
			}
		}
		switch want := want.(type) {
		case *image.Gray:
			differ(want.Pix, got.(*image.Gray).Pix)
		case *image.NRGBA:
			differ(want.Pix, got.(*image.NRGBA).Pix)
		}
	}
	data := read(t, "framesj2k.dcm")
	assert.Equal(t, picture(t, data, 1), picture(t, data, 2))
}

// A codestream that does not fit its file, or is cut short, is refused before anything decodes it.
// A damaged one gives a picture or an error, and leaves nothing behind.
func TestHostileCodestreams(t *testing.T) {
	needs(t, "opj_decompress")
	needs(t, "dcmdjpls")
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	fails := func(data []byte, text string) {
		t.Helper()
		f, err := Open(data, 0, nil)
		require.NoError(t, err)
		_, err = f.Decode()
		assert.ErrorContains(t, err, text)
	}
	replaced := func(name, old, with string) []byte {
		data := read(t, name)
		require.Contains(t, string(data), old)
		return []byte(strings.Replace(string(data), old, with, 1))
	}
	fails(replaced("greyj2k.dcm", "\x00\x00\x00\x07\x00\x00\x00\x05", "\x00\x01\x00\x07\x00\x01\x00\x05"), "its JPEG 2000 is a picture of 65543×65541 pixels of 1 components and 12 bits")
	fails(replaced("greyht.dcm", "\x00\x00\x00\x07\x00\x00\x00\x05", "\x00\x00\x00\x08\x00\x00\x00\x05"), "its HTJ2K is a picture of 8×5 pixels")
	fails(replaced("greyjls.dcm", "\x10\x00\x05\x00\x07\x01", "\x10\xff\xff\xff\xff\x01"), "its JPEG-LS is a picture of 65535×65535 pixels")
	for _, name := range []string{"greyj2k", "greyht", "greyjls"} {
		data := read(t, name+".dcm")
		cut := bytes.LastIndex(data, []byte("\xfe\xff\xdd\xe0")) - 12
		fails(data[:cut], "cut short")
		for i := cut - 60; i < cut; i += 12 {
			damaged := bytes.Clone(data)
			damaged[i] ^= 0x55
			if f, err := Open(damaged, 0, nil); err == nil {
				f.Decode()
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
