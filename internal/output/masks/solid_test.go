package masks

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/series"
	"mrprism/internal/segment"
	"mrprism/weights"
)

const (
	wide, high = 70, 60
	step       = 2.0 // mm
	radius     = 18.0
	millilitre = 4. / 3 * math.Pi * radius * radius * radius / 1000
)

// middle is the sphere's, in the patient's mm.
var middle = [3]float64{18.3, 4.1, 25.7}

// ball is a folder of slices that show a sphere, in files whose names are in no order. lacks are
// numbers of slices that it lacks.
func ball(t *testing.T, dir string, lacks ...int) (files []series.File) {
	for i := range 26 {
		missing := false
		for _, k := range lacks {
			missing = missing || k == i
		}
		if missing {
			continue
		}
		z, pixels := step*float64(i), make([]byte, wide*high)
		for k := range pixels {
			x, y := -10+0.8*float64(k%wide)-middle[0], -20+0.8*float64(k/wide)-middle[1]
			if x*x+y*y+(z-middle[2])*(z-middle[2]) < radius*radius {
				pixels[k] = 255
			}
		}
		name := filepath.Join(dir, fmt.Sprintf("IM%02d", i*17%26))
		data := dicomtest.Slice(wide, high, pixels, z, nil)
		require.NoError(t, os.WriteFile(name, data, 0o666))
		files = append(files, series.File{Name: name, Read: func() ([]byte, error) { return data, nil }})
	}
	return files
}

// solidOf is a solid whose mask is what its slices show. A rater says twice as much.
func solidOf(t *testing.T, s *series.Series) *Solid {
	out := NewSolid(s, []Reader{{By: Consensus}}, []string{"brain"}, Formats)
	for i := range s.Slices {
		m, err := s.Read(i)
		require.NoError(t, err)
		levels, area := make([]byte, m.W*m.H), 0
		for k := range levels {
			levels[k] = m.Pix[3*k]
			area += int(levels[k] / 255)
		}
		var packed bytes.Buffer
		z, err := flate.NewWriter(&packed, 1)
		require.NoError(t, err)
		z.Write(levels)
		require.NoError(t, z.Close())
		m.Pix = nil
		out.slices[i] = layer{picture: *m, levels: [][][]byte{{packed.Bytes()}}, areas: [][]int{{area}, {2 * area}}}
	}
	return out
}

// A sphere has its volume, its raters' range, and in NIfTI its place; each frame of the DICOM SEG has
// its source's place and UIDs. nibabel and pydicom say so.
func TestSolidsOfASphere(t *testing.T) {
	dir := t.TempDir()
	s, err := series.New("scan", ball(t, dir))
	require.NoError(t, err)
	solid := solidOf(t, s)
	v := solid.Measure()
	require.Empty(t, v.Withheld)
	assert.InEpsilon(t, millilitre, *v.Structures[0].ML, 0.01)
	assert.Equal(t, []float64{*v.Structures[0].ML, 2 * *v.Structures[0].ML}, []float64{*v.Structures[0].Low, *v.Structures[0].High})
	assert.Len(t, v.Structures[0].Areas, 26)
	assert.InDelta(t, 4, *v.Slices[2].Position, 1e-9)

	for _, identity := range []bool{false, true} {
		d := Drawing{By: Consensus, Model: &weights.Model{SHA256: "0123456789abcdef"}, Day: time.Unix(0, 0), Identity: identity}
		for _, f := range Formats {
			if f.Joined() == nil {
				continue
			}
			data, err := f.Joined()(solid, &d, 0, []int{0})
			require.NoError(t, err, f.Name)
			require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), data, 0o666))
		}
		python := "/usr/bin/python3"
		if err := exec.Command(python, "-c", "import nibabel, pydicom").Run(); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal("python3-nibabel or python3-pydicom is missing: make setup")
			}
			t.Skip("python3-nibabel or python3-pydicom is missing")
		}
		c := exec.Command(python, "testdata/solid.py", dir)
		c.Stderr = os.Stderr
		said, err := c.Output()
		require.NoError(t, err)
		var got struct {
			ML, Levels         float64
			Shape              []int
			Centre             [3]float64
			Frames, Unlike     map[string]int
			Near, Same, Listed bool
		}
		require.NoError(t, json.Unmarshal(said, &got))
		assert.InEpsilon(t, *v.Structures[0].ML, got.ML, 1e-6)
		assert.InEpsilon(t, got.ML, got.Levels, 1e-6, "probabilities of 0 and 1")
		assert.Equal(t, []int{wide, high, 26}, got.Shape)
		assert.InDeltaSlice(t, []float64{-middle[0], -middle[1], middle[2]}, got.Centre[:], 0.05, "NIfTI looks to the right and the front")
		assert.Equal(t, map[string]int{"dicom-seg": 26, "dicom-seg-fractional": 26}, got.Frames)
		assert.Equal(t, map[string]int{"dicom-seg": 0, "dicom-seg-fractional": 0}, got.Unlike, "frames with other pixels than the source at their place")
		assert.Equal(t, []bool{true, identity, true}, []bool{got.Near, got.Same, got.Listed})
	}
	if said, err := exec.Command("dciodvfy", filepath.Join(dir, "dicom-seg")).CombinedOutput(); err == nil || len(said) > 0 {
		assert.NotContains(t, string(said), "Error", "%s", said)
	}
}

// What a person drew counts in place of the model's mask, in volume and files, and the raters'
// range stays. It can be taken back.
func TestSolidsWithDrawings(t *testing.T) {
	s, err := series.New("scan", ball(t, t.TempDir()))
	require.NoError(t, err)
	solid := solidOf(t, s)
	before := solid.Measure().Structures[0]
	drawn := bytes.Repeat([]byte{segment.Unsaid}, wide*high)
	copy(drawn, bytes.Repeat([]byte{255}, 100))
	require.NoError(t, solid.AddMask(1, 0, drawn))
	after := solid.Measure().Structures[0]
	assert.Equal(t, before.Areas[1]+100, after.Areas[1])
	solid.put(1, solidOf(t, s).slices[1])
	assert.Equal(t, after, solid.Measure().Structures[0], "computed once more")
	assert.InEpsilon(t, *before.ML+100*0.8*0.8*step/1000, *after.ML, 1e-9)
	assert.Equal(t, []float64{*before.Low, *before.High}, []float64{*after.Low, *after.High})
	d := Drawing{By: Consensus, Model: &weights.Model{SHA256: "0123456789abcdef"}}
	file, err := Formats[5].Joined()(solid, &d, 0, []int{0})
	require.NoError(t, err)
	m, err := imageio.DecodeSlice("a.nii.gz", file, 2)
	require.NoError(t, err)
	inside := 0
	for k := range wide * high {
		inside += int(m.Pix[3*k] / 255)
	}
	assert.Equal(t, after.Areas[1], inside)
	require.NoError(t, solid.AddMask(1, 0, nil))
	assert.Equal(t, before, solid.Measure().Structures[0])
	require.ErrorContains(t, solid.AddMask(1, 0, drawn[1:]), "the correction has 4199 pixels, and its mask 4200")

	solid.slices[3] = layer{}
	assert.Equal(t, "1 of 26 slices are not computed: there are no volumes in ml.", solid.Measure().Withheld)
	require.ErrorContains(t, solid.AddMask(3, 0, drawn), "its mask 0")
	for _, f := range Formats {
		if f.Joined() != nil {
			_, err := f.Joined()(solid, &d, 0, []int{0})
			require.NoError(t, err, f.Name)
		}
	}
}

// Between two slices of a ball the outlines that are filled in are nearly its own, and lie where
// their slices do. An empty slice, and neighbours, have nothing between.
func TestBetween(t *testing.T) {
	for _, lacks := range [][]int{nil, {9, 10}} {
		s, err := series.New("scan", ball(t, t.TempDir(), lacks...))
		require.NoError(t, err)
		solid := solidOf(t, s)
		from, to := 6, 12-len(lacks)
		filled, err := solid.Between(0, from, to)
		require.NoError(t, err)
		require.Len(t, filled, to-from-1)
		for i, mask := range filled {
			own, lost, area := solid.plane(0, 0, from+1+i), 0, 0
			for k, v := range own {
				area += int(v / 255)
				require.False(t, mask[k] == 255 && v == 0, "a ball bulges: what lies between its slices is within it")
				if mask[k] == 0 && v == 255 {
					lost++
				}
			}
			assert.Less(t, lost, area/5, "slice %d", from+1+i)
			assert.Equal(t, uint8(segment.Unsaid), mask[0])
		}
	}
	s, err := series.New("scan", ball(t, t.TempDir()))
	require.NoError(t, err)
	solid := solidOf(t, s)
	// Two discs, apart: half way the circle between has the mean of their radii.
	disc := func(i int, radius float64) {
		drawn := make([]byte, wide*high)
		for k := range drawn {
			if math.Hypot(float64(k%wide-35), float64(k/wide-30)) < radius {
				drawn[k] = 255
			}
		}
		require.NoError(t, solid.AddMask(i, 0, drawn))
	}
	disc(10, 10)
	disc(12, 20)
	filled, err := solid.Between(0, 10, 12)
	require.NoError(t, err)
	inside := 0
	for _, v := range filled[0] {
		inside += int(v / 255)
	}
	assert.InEpsilon(t, math.Pi*15*15, float64(inside), 0.03)
	solid.slices[11] = layer{}
	filled, err = solid.Between(0, 10, 12)
	require.NoError(t, err)
	assert.Nil(t, filled[0], "it is not computed")
	for _, pair := range [][2]int{{3, 4}, {5, 5}, {-1, 3}, {3, 26}} {
		_, err = solid.Between(0, pair[0], pair[1])
		require.ErrorContains(t, err, "there is nothing between")
	}
	require.NoError(t, solid.AddMask(8, 0, make([]byte, wide*high)))
	_, err = solid.Between(0, 8, 10)
	require.ErrorContains(t, err, "slice 9 has no brain")
}

// A slice that is missing leaves no volume and no NIfTI, and a DICOM SEG.
func TestSolidsWithGaps(t *testing.T) {
	s, err := series.New("scan", ball(t, t.TempDir(), 11))
	require.NoError(t, err)
	solid := solidOf(t, s)
	v := solid.Measure()
	assert.Nil(t, v.Structures[0].ML)
	assert.Len(t, v.Gaps, 1)
	assert.Contains(t, v.Withheld, "Slices are missing")
	d := Drawing{By: Consensus, Model: &weights.Model{SHA256: "0123456789abcdef"}}
	_, err = Formats[4].Joined()(solid, &d, 0, []int{0})
	require.ErrorContains(t, err, "do not lie in even steps")
	seg, err := Find("dicom-seg")
	require.NoError(t, err)
	_, err = seg.Joined()(solid, &d, 0, []int{0})
	require.NoError(t, err)
	require.ErrorContains(t, seg.CheckSeries(&series.Series{Slices: []series.Slice{{Name: "a"}}}), "a: -format dicom-seg: a file of DICOM refers to a DICOM image")

	solid.Series.Step, solid.Series.Gaps = 0, nil
	assert.Contains(t, solid.Measure().Withheld, "how far its slices lie apart")
	solid.slices[0].picture = imageio.Image{W: wide, H: high}
	assert.Contains(t, solid.Measure().Withheld, "how large a pixel is")
}
