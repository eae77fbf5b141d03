package nifti

import (
	"encoding/binary"
	"encoding/json"
	"image"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func levels(w, h, seed int) []uint8 {
	out := make([]uint8, w*h)
	for i := range out {
		out[i] = uint8(i*i>>4 + i*seed)
	}
	return out
}

// affine is the matrix of sform, or of qform, from pixels to mm.
func (g *Geometry) affine(t *testing.T) (m [3][4]float64) {
	t.Helper()
	if g.sform > 0 {
		return g.rows
	}
	require.Positive(t, g.qform)
	for slice := range 2 { // alone moves the offset by the third column
		moved := *g
		moved.slice = slice
		for i, v := range moved.singleSlice().offset {
			m[i][2+slice] = v
		}
	}
	for i := range m {
		m[i][2], m[i][3] = m[i][3]-m[i][2], m[i][2]
	}
	return m
}

func TestVolumesAreReadBack(t *testing.T) {
	w, h := 23, 17
	first, second := levels(w, h, 3), levels(w, h, 5)
	g := Scanner([3]float64{0.5, 0, 0}, [3]float64{0, 0, -0.75}, [3]float64{0, 3, 0}, [3]float64{10, 20, 30})
	for _, two := range []bool{false, true} {
		g.two = two
		data, err := Encode(w, h, g, [2]float64{}, "consensus of disc", [][]uint8{first, second}, false)
		require.NoError(t, err)
		for slice, want := range [][]uint8{first, second} {
			f, err := Open(data, slice+1, nil)
			require.NoError(t, err)
			assert.Equal(t, []int{w, h, 2}, []int{f.W, f.H, f.Slices})
			assert.InDeltaSlice(t, []float64{0.5, 0.75}, f.Spacing[:], 1e-9)
			m, err := f.Decode()
			require.NoError(t, err)
			assert.Equal(t, want, m.(*image.Gray).Pix)
			read := f.Header.(*Geometry)
			assert.Equal(t, g.rows, read.rows)
			assert.Equal(t, [3][4]float64{{-0.5, 0, 0, -10}, {0, 0, -3, -20}, {0, -0.75, 0, 30}}, read.affine(t))
		}
	}
	data, err := Encode(w, h, nil, [2]float64{}, "", [][]uint8{first}, true)
	require.NoError(t, err)
	f, err := Open(data, 0, nil)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1, 1}, []int{f.Slices, f.Slice, int(f.Spacing[0])})
	m, err := f.Decode()
	require.NoError(t, err)
	for i, v := range first {
		assert.Equal(t, v >= 128, m.(*image.Gray).Pix[i] == 255)
	}
	wide := levels(40_000, 2, 1) // more than version 1 can say
	data, err = Encode(40_000, 2, nil, [2]float64{1, 1}, "", [][]uint8{wide}, false)
	require.NoError(t, err)
	f, err = Open(data, 0, nil)
	require.NoError(t, err)
	assert.Equal(t, 40_000, f.W)
}

// A header that makes no sense places nothing.
func TestSenselessGeometry(t *testing.T) {
	bad := math.NaN()
	for _, g := range []Geometry{
		{qform: 1, pixels: [3]float64{1, 1, 1}, quaternion: [3]float64{1, 1, 1}},
		{qform: 1, pixels: [3]float64{0, 1, 1}},
		{qform: 77, pixels: [3]float64{1, 1, 1}},
		{qform: 1, pixels: [3]float64{1, math.Inf(1), 1}, offset: [3]float64{bad}},
		{sform: 1, pixels: [3]float64{1, 1, 1}},
		{sform: 2, pixels: [3]float64{1, 1, 1}, rows: [3][4]float64{{1, 0, 0, bad}, {0, 1, 0, 0}, {0, 0, 1, 0}}},
		{sform: -1, units: 7, pixels: [3]float64{bad, 1, 1}, rows: [3][4]float64{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}},
	} {
		sound := *g.sound()
		assert.Zero(t, sound.qform)
		assert.Zero(t, sound.sform)
		for _, v := range sound.pixels {
			assert.True(t, v > 0 && v < 1e12)
		}
		assert.LessOrEqual(t, sound.units, byte(3))
	}
	g := (&Geometry{qform: 1, mirror: -1, pixels: [3]float64{1, 1, 2}, quaternion: [3]float64{0, 1.0001, 0}}).sound()
	assert.Equal(t, 1, g.qform, "a rounding")
	assert.InDelta(t, 1, g.quaternion[1], 1e-12)
}

// nibabel gives each pixel of a written slice the place that it has in the source, and the value.
func TestNibabelFindsTheSliceInItsSource(t *testing.T) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import nibabel").Run() == nil {
			python = name
		}
	}
	if python == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("python3-nibabel is not installed")
		}
		t.Skip("python3-nibabel is not installed")
	}
	folder := t.TempDir()
	sources := map[string][]byte{"right.nii.gz": nil, "tilted.nii": tilted()}
	if root := os.Getenv("MRPRISM_VECTORS"); root != "" {
		for _, name := range []string{"anatomical.nii", "functional.nii", "example4d.nii.gz", "example_nifti2.nii.gz", "standard.nii.gz", "reoriented_anat_moved.nii"} {
			if data, err := os.ReadFile(filepath.Join(root, "nifti", name)); err == nil {
				sources[name] = data
			}
		}
	}
	var err error
	sources["right.nii.gz"], err = Encode(6, 4, Scanner([3]float64{0.5, 0, 0}, [3]float64{0, 0.6, 0.1}, [3]float64{0, -0.2, 3}, [3]float64{1, 2, 3}), [2]float64{}, "", [][]uint8{make([]uint8, 24)}, false)
	require.NoError(t, err)
	for name, data := range sources {
		f, err := Open(data, 0, nil)
		require.NoError(t, err, name)
		g, want := f.Header.(*Geometry), levels(f.W, f.H, 7)
		written, err := Encode(f.W, f.H, g, f.Spacing, "consensus", [][]uint8{want}, false)
		require.NoError(t, err)
		source, mask := filepath.Join(folder, name), filepath.Join(folder, "mask.nii.gz")
		require.NoError(t, os.WriteFile(source, data, 0o666))
		require.NoError(t, os.WriteFile(mask, written, 0o666))
		said, err := exec.Command(python, "-c", `
import json, sys, nibabel, numpy
a, b = nibabel.load(sys.argv[1]), nibabel.load(sys.argv[2])
print(json.dumps({"source": a.affine.tolist(), "mask": b.affine.tolist(), "shape": b.shape, "codes": [int(a.header["qform_code"]), int(a.header["sform_code"]), int(b.header["qform_code"]), int(b.header["sform_code"])],
  "qa": a.get_qform().tolist(), "qb": b.get_qform().tolist(), "zooms": [float(v) for v in a.header.get_zooms()[:3] + b.header.get_zooms()[:3]], "units": [a.header.get_xyzt_units()[0], b.header.get_xyzt_units()[0]],
  "values": numpy.rint(255 * b.get_fdata()).astype(int)[:, :, 0].T.ravel().tolist()}))`, source, mask).Output()
		require.NoError(t, err, name)
		var got struct {
			Source, Mask, QA, QB [4][4]float64
			Shape, Codes, Values []int
			Zooms                []float64
			Units                []string
		}
		require.NoError(t, json.Unmarshal(said, &got))
		t.Log(name, "slice", f.Slice, "codes", got.Codes)
		assert.Equal(t, []int{f.W, f.H, 1}, got.Shape, name)
		assert.Equal(t, got.Codes[:2], got.Codes[2:], name)
		assert.InDeltaSlice(t, got.Zooms[:3], got.Zooms[3:], 1e-6, name)
		assert.Equal(t, got.Units[0], got.Units[1], name)
		for i, v := range want {
			require.EqualValues(t, v, got.Values[i], name)
		}
		if got.Codes[0] == 0 && got.Codes[1] == 0 {
			continue // the source does not say where it is
		}
		for _, pair := range [][2][4][4]float64{{got.Source, got.Mask}, {got.QA, got.QB}} {
			if got.Codes[0] == 0 && pair[0] == got.QA {
				continue
			}
			for row := range 3 {
				place := func(m [4][4]float64, i, j, k float64) float64 {
					return m[row][0]*i + m[row][1]*j + m[row][2]*k + m[row][3]
				}
				for _, corner := range [][2]float64{{0, 0}, {float64(f.W), 0}, {0, float64(f.H)}} {
					assert.InDelta(t, place(pair[0], corner[0], corner[1], float64(g.slice)), place(pair[1], corner[0], corner[1], 0), 1e-3, name)
				}
			}
		}
	}
}

// tilted is a volume of 4 × 3 × 5 bytes that a quaternion turns, mirrored, big-endian.
func tilted() []byte {
	b, order := make([]byte, 352+60), binary.BigEndian
	order.PutUint32(b, 348)
	for i, n := range []uint16{3, 4, 3, 5, 1, 1, 1, 1} {
		order.PutUint16(b[40+2*i:], n)
	}
	order.PutUint16(b[70:], 2)
	order.PutUint16(b[72:], 8)
	for i, v := range []float32{-1, 0.5, 0.75, 2} {
		order.PutUint32(b[76+4*i:], math.Float32bits(v))
	}
	order.PutUint32(b[108:], math.Float32bits(352))
	order.PutUint16(b[252:], 1)
	for i, v := range []float32{0.1, -0.4, 0.3, 11, -22, 33} {
		order.PutUint32(b[256+4*i:], math.Float32bits(v))
	}
	b[123] = 2
	copy(b[344:], "n+1\x00")
	for i := range b[352:] {
		b[352+i] = byte(i)
	}
	return b
}
