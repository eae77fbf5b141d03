package masks

import (
	"bytes"
	"image"
	"strings"
	"testing"
	"time"

	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// volume has the values of a NIfTI file.
func volume(t *testing.T, data []byte) []float32 {
	t.Helper()
	v, err := nifti.Read(data, 100)
	require.NoError(t, err)
	assert.Equal(t, []int{5, 3}, []int{v.W, v.H})
	return v.Values
}

// drawing is of one or two structures in a picture of 5 × 3 pixels.
func drawing(structures int) *Drawing {
	d := &Drawing{Picture: &imageio.Image{W: 5, H: 3, Orientation: 1}, By: Consensus, Model: &weights.Model{}, Day: time.Unix(0, 0)}
	for i := range structures {
		levels := make([]uint8, 15)
		for k := range levels {
			levels[k] = uint8(16*k + i)
		}
		d.Structures = append(d.Structures, Structure{Name: []string{"disc", "cup"}[i], Levels: levels, Corrected: i == 1})
	}
	return d
}

// A file that says so was corrected by hand; the pixels are the drawing's.
func TestFormatsHoldTheDrawing(t *testing.T) {
	for _, f := range Formats {
		for structures := 1; structures <= 2; structures++ {
			d := drawing(structures)
			data, err := f.Write(d)
			if strings.HasPrefix(f.Name, "dicom-") {
				require.ErrorContains(t, err, "save the masks as NIfTI or TIFF")
				continue
			}
			if structures == 2 && (f.Name == "png" || f.Name == "png-mask" || f.Name == "npy") {
				require.ErrorContains(t, err, "save them one by one")
				continue
			}
			require.NoError(t, err, f.Name)
			if f.Name == "npy" {
				continue // TestFloats
			}
			if f.Name == "svg" || f.Name == "geojson" {
				said := bytes.Contains(data, []byte("corrected by hand")) || bytes.Contains(data, []byte(`"corrected_by_hand":true`))
				assert.Equal(t, structures == 2, said, f.Name)
				continue
			}
			for i, s := range d.Structures {
				m, err := imageio.DecodeSlice(f.Name, data, i+1)
				require.NoError(t, err, f.Name)
				assert.Equal(t, []int{5, 3, structures}, []int{m.W, m.H, m.Slices})
				pixel := func(k int) uint8 { return m.Pix[3*k] }
				if strings.HasPrefix(f.Name, "nifti") {
					values := volume(t, data)
					pixel = func(k int) uint8 { return uint8(255*values[15*i+k] + .5) }
				}
				for k, v := range s.Levels {
					if strings.HasSuffix(f.Name, "-mask") {
						v = v >> 7 * 255
					}
					require.Equal(t, v, pixel(k), "%s, pixel %d", f.Name, k)
				}
			}
		}
	}
	d := drawing(1)
	d.Structures[0].Corrected = true
	for _, name := range []string{"png", "tiff-mask"} {
		f, err := Find(name)
		require.NoError(t, err)
		data, err := f.Write(d)
		require.NoError(t, err)
		assert.Contains(t, string(data), "corrected by hand", name)
	}
}

// A picture that is displayed turned keeps its pixels' places in the file's space.
func TestTurnedPicturesKeepTheirSpace(t *testing.T) {
	stored := image.NewGray(image.Rect(0, 0, 5, 3))
	for i := range stored.Pix {
		stored.Pix[i] = uint8(17 * i)
	}
	for orientation := 1; orientation <= 8; orientation++ {
		d := drawing(1)
		d.Picture.Orientation = orientation
		d.Picture.Header = nifti.Scanner([3]float64{1, 0, 0}, [3]float64{0, 1, 0}, [3]float64{0, 0, 1}, [3]float64{})
		if orientation >= 5 {
			d.Picture.W, d.Picture.H = 3, 5
		}
		// Where the stored pixel (x, y) is displayed, by EXIF.
		for y := range 3 {
			for x := range 5 {
				to := [...][2]int{1: {x, y}, 2: {4 - x, y}, 3: {4 - x, 2 - y}, 4: {x, 2 - y}, 5: {y, x}, 6: {2 - y, x}, 7: {2 - y, 4 - x}, 8: {y, 4 - x}}[orientation]
				d.Structures[0].Levels[to[1]*d.Picture.W+to[0]] = stored.Pix[y*5+x]
			}
		}
		f, err := Find("nifti")
		require.NoError(t, err)
		data, err := f.Write(d)
		require.NoError(t, err)
		for i, v := range volume(t, data) {
			require.Equal(t, stored.Pix[i], uint8(255*v+.5), "orientation %d", orientation)
		}
	}
}

func TestParse(t *testing.T) {
	all, err := Parse("nifti, png,nifti")
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, "nifti", all[0].Name)
	_, err = Parse("png,,tiff")
	assert.ErrorContains(t, err, `no format is named "": there are png, `)
}

// Raters' names in the names of files are unlike each other and all else that follows a class.
func TestSuffixes(t *testing.T) {
	for _, c := range []struct{ raters, classes, want []string }{
		{[]string{"over", "under"}, []string{"disc", "cup"}, []string{"_over", "_under"}},
		{[]string{"Ann", "ann", "ann-2"}, nil, []string{"_Ann", "_ann-2", "_ann-2-2"}},
		{[]string{"mask", "inner", "a_b", "a-b"}, nil, []string{"_mask-2", "_inner-2", "_a-b", "_a-b-2"}},
		{[]string{"left", "lung"}, []string{"lung", "lung_left"}, []string{"_left-2", "_lung"}},
	} {
		require.Equal(t, c.want, Suffixes(c.raters, c.classes))
	}
}
