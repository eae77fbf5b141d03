package imageio

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A length of 0 is one of 1, as nibabel and FSL read it. Time is no axis of slices, unless a volume
// is one slice.
func TestAxesOfNIfTI(t *testing.T) {
	for _, c := range []struct {
		axes   []uint16
		slices int
	}{
		{[]uint16{4, 4, 3, 2, 0}, 2}, {[]uint16{3, 4, 3, 0}, 1}, {[]uint16{5, 4, 3, 2, 1, 0}, 2},
		{[]uint16{4, 4, 3, 1, 2}, 2}, {[]uint16{4, 2, 3, 2, 2}, 2}, {[]uint16{5, 2, 3, 2, 1, 2}, 2},
	} {
		data := niftiVolume(binary.LittleEndian)
		for i, n := range c.axes {
			binary.LittleEndian.PutUint16(data[40+2*i:], n)
		}
		m, err := Decode("a.nii", data)
		require.NoError(t, err, "%v", c.axes)
		assert.Equal(t, c.slices, m.Slices, "%v", c.axes)
		_, err = DecodeSlice("a.nii", data, c.slices+1)
		assert.ErrorContains(t, err, "choose a slice from 1 to", "%v", c.axes)
	}
}

// Programs write several members of gzip, and fill blocks with zeros.
func TestGzipOfNIfTI(t *testing.T) {
	data := niftiVolume(binary.LittleEndian)
	var packed bytes.Buffer
	for _, part := range [][]byte{data[:360], data[360:]} {
		z := gzip.NewWriter(&packed)
		_, err := z.Write(part)
		require.NoError(t, errors.Join(err, z.Close()))
	}
	want, err := Decode("a.nii", data)
	require.NoError(t, err)
	for _, behind := range [][]byte{nil, make([]byte, 3), make([]byte, 512)} {
		got, err := Decode("a.nii.gz", append(slices.Clone(packed.Bytes()), behind...))
		require.NoError(t, err)
		assert.Equal(t, want.Pix, got.Pix)
	}
	_, err = Decode("a.nii.gz", append(packed.Bytes(), "\x00text"...))
	assert.ErrorIs(t, err, ErrDamaged)
}

// Colours whose alpha is 0 everywhere are opaque.
func TestTransparentNIfTI(t *testing.T) {
	data := niftiVolume(binary.LittleEndian)[:352]
	for i, n := range []uint16{3, 2, 1, 1} {
		binary.LittleEndian.PutUint16(data[40+2*i:], n)
	}
	binary.LittleEndian.PutUint16(data[70:], 2304)
	for alpha, want := range map[byte][]uint8{0: {1, 2, 3, 4, 5, 6}, 255: {1, 2, 3, 0, 0, 0}} {
		m, err := Decode("a.nii", append(slices.Clone(data), 1, 2, 3, alpha, 4, 5, 6, 0))
		require.NoError(t, err)
		assert.Equal(t, want, m.Pix)
	}
}

// A pair of .hdr and .img is read as the one file that it could be, given by either name. One alone
// is refused with the name of the other.
func TestPairOfNIfTI(t *testing.T) {
	one := niftiVolume(binary.LittleEndian)
	head := append(slices.Clone(one[:344]), "ni1\x00"...)
	binary.LittleEndian.PutUint32(head[108:], 0) // the values begin their file
	want, err := Decode("a.nii", one)
	require.NoError(t, err)
	for _, extended := range []bool{false, true} {
		if extended {
			head = append(head, 1, 0, 0, 0, 16, 0, 0, 0)
		}
		files := map[string][]byte{"a/b.hdr": head, "a/b.img": one[352:]}
		read := func(path string) ([]byte, error) {
			if data, ok := files[path]; ok {
				return data, nil
			}
			return nil, errors.New("there is no " + path)
		}
		for path, data := range files {
			got, err := Decode(path, Whole(path, data, read))
			require.NoError(t, err)
			assert.Equal(t, want.Pix, got.Pix)
			assert.Equal(t, want.Header, got.Header)
		}
	}
	none := func(string) ([]byte, error) { return nil, errors.New("none") }
	_, err = Decode("b.hdr", Whole("b.hdr", head[:348], none))
	assert.ErrorIs(t, err, ErrUnsupported)
	assert.ErrorContains(t, err, "its values are in a file of the same name that ends in .img; give both files together")
	_, err = Decode("b.img", Whole("b.img", one[352:], none))
	assert.ErrorContains(t, err, "give it together with b.hdr")
}
