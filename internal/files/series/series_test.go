package series

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/nifti"
	"mrprism/internal/files/tiff"
)

const (
	position    = 0x00200032
	orientation = 0x00200037
	space       = 0x00200052
	spacing     = 0x00280030
	frameTime   = 0x00181063
	frames      = 0x00280008
)

// part is a file of a slice, which is as bright as it lies high.
func part(name string, z float64, texts map[uint32]string, more ...float64) File {
	var pixels []byte
	for _, z := range append([]float64{z}, more...) {
		for range 12 {
			pixels = append(pixels, byte(100+z))
		}
	}
	data := dicomtest.Slice(4, 3, pixels, z, texts, more...)
	return File{name, func() ([]byte, error) { return data, nil }}
}

func whole(data []byte, err error) []File {
	return []File{{"scan", func() ([]byte, error) { return data, err }}}
}

// Files come in the order of their places, whatever their names are.
func TestFolder(t *testing.T) {
	s, err := New("scan", []File{part("a", 4, nil), part("b", -2, nil), part("c", 2, nil), part("d", 0, nil)})
	require.NoError(t, err)
	assert.InDelta(t, 2, s.Step, 1e-9)
	assert.Empty(t, s.Gaps)
	require.NoError(t, s.Uneven())
	for i, name := range []string{"b", "d", "c", "a"} {
		one := s.Slices[i]
		assert.Equal(t, []any{name, i + 1}, []any{one.Name, one.Number})
		assert.InDelta(t, float64(2*i-2), one.Position, 1e-9)
		m, err := s.Read(i)
		require.NoError(t, err)
		assert.Equal(t, []int{i + 1, 4, 98 + 2*i}, []int{m.Slice, m.Slices, int(m.Pix[0])})
	}
	assert.Equal(t, "-0.8 -0 -0 10 -0 -0.8 -0 20 0 0 2 -2", s.Geometry().String(), "in NIfTI's directions")
}

// Frames of one file keep their numbers and the file's direction, also if they are stored in
// disorder.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		z     []float64
		order []int
	}{{[]float64{0, 3, 6}, []int{1, 2, 3}}, {[]float64{6, 3, 0}, []int{1, 2, 3}}, {[]float64{0, 6, 3}, []int{1, 3, 2}}} {
		s, err := New("scan", []File{part("scan", c.z[0], nil, c.z[1:]...)})
		require.NoError(t, err)
		assert.InDelta(t, 3, s.Step, 1e-9)
		for i, number := range c.order {
			m, err := s.Read(i)
			require.NoError(t, err)
			assert.Equal(t, []int{number, number, 100 + int(c.z[number-1])}, []int{s.Slices[i].Number, m.Slice, int(m.Pix[0])})
		}
	}
}

// A gap is named, and a NIfTI volume is refused; a single slice, or pages of unknown distance, have
// no step.
func TestGaps(t *testing.T) {
	s, err := New("scan", []File{part("a", 0, nil), part("b", 2, nil), part("c", 6, nil), part("d", 8, nil)})
	require.NoError(t, err)
	assert.Equal(t, []string{"4 mm between b and c, and elsewhere 2 mm"}, s.Gaps)
	require.EqualError(t, s.Uneven(), "the slices of scan do not lie in even steps (4 mm between b and c, and elsewhere 2 mm), and a NIfTI volume has one step; take dicom-seg, or complete the series")
	assert.Nil(t, s.Geometry())

	s, err = New("scan", []File{part("a", 0, nil), part("b", 2, map[uint32]string{position: `-5\-20\2`}), part("c", 4, nil)})
	require.NoError(t, err)
	require.ErrorContains(t, s.Uneven(), "some lie aside")

	for name, files := range map[string][]File{
		"one slice": {part("a", 0, nil)},
		"a page":    whole(tiff.Encode(4, 3, [2]float64{}, []tiff.Page{{Levels: make([]byte, 12)}, {Levels: make([]byte, 12)}})),
		"no places": {part("a", 0, map[uint32]string{space: ""}, 2, 4)},
	} {
		s, err := New("scan", files)
		require.NoError(t, err, name)
		assert.Zero(t, s.Step, name)
	}
}

// A TIFF has the step that ImageJ or OME says.
func TestStepsOfMicroscopes(t *testing.T) {
	page := make([]byte, 12)
	for about, want := range map[string][3]float64{
		"ImageJ=1.53t\nimages=3\nslices=3\nunit=micron\nspacing=2.5\n":            {2e-5, 2e-5, 0.0025},
		"ImageJ=1.53t\nimages=3\nslices=3\nunit=\\u00B5m\nspacing=-2.5\nloop=0\n": {2e-5, 2e-5, 0.0025},
		"ImageJ=1.53t\nimages=3\nslices=3\nunit=mm\nspacing=2.5":                  {0.02, 0.02, 2.5},
		"ImageJ=1.53t\nimages=3\nslices=3\nspacing=2.5\n":                         {},
		"ImageJ=1.53t\nimages=3\nslices=3\nunit=pixel\nspacing=2.5\n":             {},
		"ImageJ=1.53t\nimages=3\nslices=3\nunit=mm\n":                             {0.02, 0.02, 0},
		"unit=mm\nspacing=2.5\n":                                                  {},
		`<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Pixels PhysicalSizeX="0.5" PhysicalSizeY="0.25" PhysicalSizeZ="2" SizeZ="3"/></OME>`: {0.0005, 0.00025, 0.002},
		`<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Pixels PhysicalSizeX="0.5" PhysicalSizeY="0.25" SizeZ="3"/></OME>`:                   {0.0005, 0.00025, 0},
	} {
		data, err := tiff.Encode(4, 3, [2]float64{0.2, 0.2}, []tiff.Page{{About: about, Levels: page}, {Levels: page}, {Levels: page}})
		require.NoError(t, err)
		s, err := New("scan", whole(data, nil))
		require.NoError(t, err, about)
		m, err := s.Read(1)
		require.NoError(t, err)
		size := m.PixelSize()
		assert.InDeltaSlice(t, want[:], []float64{size[0], size[1], s.Step}, 1e-9, about)
		assert.InDelta(t, 2*want[2], s.Slices[2].Position, 1e-9)
	}
}

// A sheared volume has the step along the normal.
func TestShearedVolumes(t *testing.T) {
	plane := func(int) []byte { return make([]byte, 12) }
	g := nifti.Scanner([3]float64{0.5, 0, 0}, [3]float64{0, 0.5, 0}, [3]float64{0, 3, 4}, [3]float64{})
	s, err := New("scan", whole(nifti.EncodeSeries(4, 3, 5, g, [3]float64{}, "", plane, false)))
	require.NoError(t, err)
	assert.InDelta(t, 4, s.Step, 1e-5)
	assert.Len(t, s.Slices, 5)
	assert.Equal(t, g.String(), s.Geometry().String())
	s, err = New("scan", whole(nifti.EncodeSeries(4, 3, 5, nil, [3]float64{0.5, 0.5, 3}, "", plane, false)))
	require.NoError(t, err)
	assert.InDelta(t, 3, s.Step, 1e-9)
}

// What makes no volume is refused by name.
func TestBadSeries(t *testing.T) {
	with := func(tag uint32, text string) map[uint32]string { return map[uint32]string{tag: text} }
	grey := make([]byte, 12)
	rgb, err := os.ReadFile("../dicom/testdata/rgb.dcm")
	require.NoError(t, err)
	volume, err := nifti.Encode(4, 3, nil, [2]float64{}, "", [][]byte{grey, grey}, false)
	require.NoError(t, err)
	film, err := nifti.Unpack(volume)
	require.NoError(t, err)
	film[46], film[48] = 2, 1 // two slices, and one volume
	colours := append([]byte(nil), film...)
	film = append(film, film[352:]...)
	film[40], film[48] = 4, 2
	colours[70], colours[72] = 128, 24
	colours = append(colours, make([]byte, 48)...)
	hyper, err := tiff.Encode(4, 3, [2]float64{}, []tiff.Page{{About: "ImageJ=1.53\nimages=2\nframes=2\n", Levels: grey}, {Levels: grey}})
	require.NoError(t, err)

	for want, files := range map[string][]File{
		"scan has more than one series: 1.2.3.3 (2 slices, as a) and 1.2.3.9 (1 slices, as c); keep one in a folder of its own": {
			part("a", 0, nil), part("b", 2, nil), part("c", 4, with(dicomtest.Series, "1.2.3.9")),
		},
		"scan has more than one orientation or size of a pixel: right [0.8 0 0], down [0 0.8 0] mm (1 slices, as a) and right [0 0.8 0], down [0 0 -0.8] mm (2 slices, as b); keep one in a folder of its own": {
			part("a", 0, nil), part("b", 2, with(orientation, `0\1\0\0\0\-1`)), part("c", 4, with(orientation, `0\1\0\0\0\-1`)),
		},
		"scan has more than one orientation or size of a pixel: right [0.8 0 0], down [0 0.8 0] mm (1 slices, as a) and right [0.5 0 0], down [0 0.5 0] mm (1 slices, as b); keep one in a folder of its own": {
			part("a", 0, nil), part("b", 2, with(spacing, `0.5\0.5`)),
		},
		"scan has more than one frame of reference: 1.2.3.4 (1 slices, as a) and 1.2.9 (1 slices, as b); keep one in a folder of its own": {
			part("a", 0, nil), part("b", 2, with(space, "1.2.9")),
		},
		"scan: b and c lie at one place, 2 mm; leave one of them out":                                                              {part("a", 0, nil), part("b", 2, nil), part("c", 2, nil), part("d", 4, nil)},
		"scan has 2 slices at each of 2 places, such as one for each time or echo (a, b); keep one of each in a folder of its own": {part("a", 0, nil), part("b", 0, nil), part("c", 2, nil), part("d", 2, nil)},
		"scan has 2 slices at each of 2 places, such as one for each time or echo (slice number 1, slice number 3); keep one of each in a folder of its own": {
			part("scan", 0, nil, 2, 0, 2),
		},
		"scan: the files do not say where their slices lie (Image Position, Image Orientation, Pixel Spacing, Frame of Reference UID); export them again from where they came from, or take them one by one": {
			part("a", 0, nil), part("b", 2, with(position, "")),
		},
		"b has 2 frames, and a folder's series has one a file; take that file alone":                                               {part("a", 0, nil), part("b", 2, nil, 4)},
		"scan makes no volume: its frames follow each other in time; take its pictures one by one":                                 {part("scan", 0, map[uint32]string{frameTime: "40", frames: "2", position: ""})},
		"scan makes no volume: it has 2 volumes along a fourth axis, such as time; take its pictures one by one":                   whole(film, nil),
		"scan makes no volume: it is in colour; take its pictures one by one":                                                      whole(colours, nil),
		"rgb makes no volume: it is in colour; take its pictures one by one":                                                       {{"rgb", func() ([]byte, error) { return rgb, nil }}, part("b", 0, nil)},
		"scan makes no volume: its pages are times or channels; take its pictures one by one":                                      whole(hyper, nil),
		"scan: this is a text file, not an image, whatever its name says; open a PNG, JPEG, TIFF, BMP, WebP, DICOM or NIfTI image": whole([]byte("text"), nil),
	} {
		_, err := New("scan", files)
		assert.EqualError(t, err, want, want)
	}
	_, err = New("scan", whole(nil, fmt.Errorf("scan: gone")))
	require.EqualError(t, err, "scan: gone")
}

// A volume unpacks whole, and one that is cut short or damaged is named.
func TestUnpack(t *testing.T) {
	data, err := nifti.EncodeSeries(40, 30, 4, nil, [3]float64{1, 1, 1}, "", func(i int) []byte {
		plane := make([]byte, 1200)
		for k := range plane {
			plane[k] = byte(k * (i + 1))
		}
		return plane
	}, false)
	require.NoError(t, err)
	for _, bad := range [][]byte{data[:len(data)-200], append(append([]byte(nil), data[:len(data)-8]...), 0, 0, 0, 0, 0, 0, 0, 0)} {
		_, err := New("scan", whole(bad, nil))
		require.ErrorContains(t, err, "scan: this NIfTI file is damaged")
	}
}
