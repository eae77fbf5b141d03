package page

import (
	"cmp"
	"fmt"
	"os"
	"testing"

	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/internal/files/series"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// volumeOf is a NIfTI volume of 80 × 40 × 3 voxels. reads counts how often it is read.
func volumeOf(t *testing.T, reads *int) []series.File {
	t.Helper()
	plane := func(i int) []byte { return append(make([]byte, 80*40-1), byte(i)) }
	data, err := nifti.EncodeSeries(80, 40, 3, nil, [3]float64{0.5, 0.5, 2}, "", plane, false)
	require.NoError(t, err)
	return []series.File{{Name: "a.nii.gz", Read: func() ([]byte, error) { *reads++; return data, nil }}}
}

// A volume is read once for all of its slices. Their masks become one file, which has also what a
// person drew, and no volume while a slice is missing.
func TestSeriesOfAVolume(t *testing.T) {
	w := here(t)
	w.platform.Device = "processor"
	w.Host = New(t.Context(), w.platform)
	t.Cleanup(w.closeDevice)
	_, err := w.Solid()
	require.Equal(t, "gone", FaultOf(err).Code)
	reads := 0
	s, err := w.OpenSeries("a.nii.gz", volumeOf(t, &reads))
	require.NoError(t, err)
	require.Len(t, s.Slices, 3)
	_, err = w.SaveSolid("nifti", []int{0}, false)
	require.Equal(t, "gone", FaultOf(err).Code)
	segmented := func(slice int, model string) error {
		requestsMade++
		job := w.job(requestsMade, model)
		job.Key, job.Read, job.Part, job.Slice = 100+slice, nil, 1, slice
		var shown *imageio.Image
		job.Show = func(m *imageio.Image) { shown = m }
		_, err := w.Segment(job)
		if err == nil {
			assert.Equal(t, [2]int{cmp.Or(slice, 2), 3}, [2]int{shown.Slice, shown.Slices})
		}
		return err
	}
	for _, slice := range []int{1, 3} {
		require.NoError(t, segmented(slice, "brain"))
	}
	solid, err := w.Solid()
	require.NoError(t, err)
	assert.Equal(t, []bool{true, false, true}, []bool{solid.Added(0), solid.Added(1), solid.Added(2)})
	assert.Contains(t, solid.Measure().Withheld, "1 of 3 slices are not computed")
	require.NoError(t, segmented(0, "brain"), "the middle one")
	assert.Equal(t, 1, reads)
	assert.Empty(t, solid.Measure().Withheld)
	for format, length := range map[string]int{"nifti-mask": 3, "nifti": 3} {
		data, err := w.SaveSolid(format, []int{0}, false)
		require.NoError(t, err)
		info, err := imageio.Header("a.nii.gz", data)
		require.NoError(t, err)
		assert.Equal(t, []int{80, 40, length}, []int{info.W, info.H, info.Slices})
	}
	_, err = w.SaveSolid("dicom-seg", []int{0}, false)
	require.ErrorContains(t, err, "a file of DICOM refers to a DICOM image")
	_, err = w.SaveSolid("nonsense", []int{0}, false)
	require.Error(t, err)
	require.NoError(t, segmented(2, "cells"), "kept pictures are found")
	solid, err = w.Solid()
	require.NoError(t, err)
	assert.Equal(t, []bool{false, true, false}, []bool{solid.Added(0), solid.Added(1), solid.Added(2)}, "another model's masks begin anew")
	require.ErrorContains(t, segmented(4, "cells"), "is no longer in memory")
}

// Files of one frame come in the order of their places. What makes no series is refused with what
// to do, and ends the series before.
func TestSeriesOfFiles(t *testing.T) {
	w := here(t, processor).start()
	of := func(name string, data []byte, err error) series.File {
		require.NoError(t, err)
		return series.File{Name: name, Read: func() ([]byte, error) { return data, nil }}
	}
	part := func(name string, z float64) series.File {
		return of(name, dicomtest.Slice(8, 6, make([]byte, 48), z, nil), nil)
	}
	turned := of("c", dicomtest.Slice(8, 6, make([]byte, 48), 4, map[uint32]string{0x00200037: `0\1\0\0\0\-1`}), nil)
	rgb, err := os.ReadFile("../files/dicom/testdata/rgb.dcm")
	colours := of("rgb", rgb, err)
	film := dicomtest.Slice(8, 6, make([]byte, 96), 0, map[uint32]string{0x00181063: "40", 0x00280008: "2", 0x00200032: ""})
	s, err := w.OpenSeries("scan", []series.File{part("a", 4), part("b", 0), part("c", 2)})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2, 0}, []int{s.Slices[0].File, s.Slices[1].File, s.Slices[2].File})
	job := w.job(1, "brain")
	job.Read, job.Part = nil, 3
	job.Show = func(m *imageio.Image) { assert.Equal(t, 1, m.Slices, "as the file alone would be") }
	require.NoError(t, w.Decode(job))
	for want, files := range map[string][]series.File{
		"scan: a and b lie at one place, 0 mm; leave one of them out.":                         {part("a", 0), part("b", 0), part("c", 2)},
		"scan has one slice, which makes no volume.":                                           {part("a", 0)},
		"scan has more than one orientation or size of a pixel: ":                              {part("a", 0), part("b", 2), turned},
		"rgb makes no volume: it is in colour; take its pictures one by one.":                  {colours, part("b", 2)},
		"film makes no volume: its frames follow each other in time; take its pictures one by": {of("film", film, nil)},
		"a could not be read.": {{Name: "a", Read: func() ([]byte, error) {
			return nil, Fault{"image", "a could not be read.", "Open it again."}
		}}},
		"b.txt: this is a text file, not an image, whatever its name says.": {part("a", 0), {Name: "b.txt", Read: func() ([]byte, error) { return []byte("text"), nil }}},
	} {
		_, err := w.OpenSeries("scan", files)
		f := FaultOf(err)
		assert.Contains(t, f.Message, want, fmt.Sprint(err))
		assert.NotEmpty(t, f.Next)
		assert.Equal(t, "image", FaultOf(w.Decode(Job{Name: "a", Key: 9, Part: 1, Options: job.Options})).Code)
	}
}
