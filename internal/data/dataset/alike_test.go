package dataset

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scene draws a photograph of one camera: a bright round field on black, as in all of them, with
// blobs of its own. At (x, y), from 0 to 1, it has a value from 0 to 1.
func scene(seed uint64) func(x, y float64) float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	var blobs [40][4]float64
	for i := range blobs {
		blobs[i] = [4]float64{random.Float64(), random.Float64(), .02 + .04*random.Float64(), .4*random.Float64() - .2}
	}
	return func(x, y float64) float64 {
		if math.Hypot(x-.5, y-.5) > .48 {
			return 0
		}
		v := .6 - .5*math.Hypot(x-.5, y-.5)
		for _, b := range blobs {
			v += b[3] * math.Exp(-(math.Pow(x-b[0], 2)+math.Pow(y-b[1], 2))/(2*b[2]*b[2]))
		}
		return v
	}
}

// drawn is a picture of side × side pixels with noise.
func drawn(side int, at func(x, y float64) float64) image.Image {
	m, random := image.NewGray(image.Rect(0, 0, side, side)), rand.New(rand.NewPCG(uint64(side), 2))
	for i := range m.Pix {
		v := at((float64(i%side)+.5)/float64(side), (float64(i/side)+.5)/float64(side))
		m.SetGray(i%side, i/side, color.Gray{Y: uint8(255*min(max(v+.01*random.NormFloat64(), 0), 1) + .5)})
	}
	return m
}

// Check finds a picture that is held out and of which a copy is learned from, however the copy was
// changed, and finds none among different photographs of one camera.
func TestNearCopies(t *testing.T) {
	const side = 96
	original, dir := scene(0), t.TempDir()
	put(t, filepath.Join(dir, "dataset.json"), []byte(`{"classes":["disc"],"raters":["a"]}`))
	for i := range 9 { // 4 and 9 are held out
		put(t, filepath.Join(dir, "images", name(i)+".png"), pngOf(t, drawn(side, scene(uint64(i)))))
		put(t, maskPath(dir, "a", "disc", i), pngOf(t, image.NewGray(image.Rect(0, 0, side, side))))
	}
	for what, change := range map[string]func() (image.Image, int){ // and the quality as JPEG; 0: PNG
		"another":    func() (image.Image, int) { return drawn(side, scene(99)), 0 },
		"compressed": func() (image.Image, int) { return drawn(side, original), 40 },
		"half":       func() (image.Image, int) { return drawn(side/2, original), 0 },
		"larger":     func() (image.Image, int) { return drawn(131, original), 85 },
		"brighter": func() (image.Image, int) {
			return drawn(side, func(x, y float64) float64 { return 1.3*original(x, y) + .05 }), 90
		},
		"gamma": func() (image.Image, int) {
			return drawn(side, func(x, y float64) float64 { return math.Pow(max(original(x, y), 0), 1.6) }), 90
		},
		"mirrored": func() (image.Image, int) {
			return drawn(side, func(x, y float64) float64 { return original(1-x, y) }), 90
		},
		"turned": func() (image.Image, int) {
			return drawn(70, func(x, y float64) float64 { return original(y, 1-x) }), 90
		},
	} {
		m, quality := change()
		ending, data := ".png", pngOf(t, m)
		if quality > 0 {
			var b bytes.Buffer
			require.NoError(t, jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}))
			ending, data = ".jpg", b.Bytes()
		}
		put(t, filepath.Join(dir, "images", name(9)+ending), data)
		put(t, maskPath(dir, "a", "disc", 9), pngOf(t, image.NewGray(m.Bounds())))
		found := findingsOf(t, check(t, dir), dir, KindDuplicate)
		require.NoError(t, os.Remove(filepath.Join(dir, "images", name(9)+ending)))
		if what == "another" {
			assert.Empty(t, found)
		} else if assert.Len(t, found, 1, what) {
			assert.Contains(t, found[0], "eye09")
			assert.Contains(t, found[0], "shows the same picture as "+filepath.Join(dir, "images", "eye00.png"))
		}
	}
}

// Check asks for groups.csv where names look like those of several images of a patient.
func TestNamesOfOnePatient(t *testing.T) {
	for form, want := range map[string]int{"p%d_slice%d": 1, "hy1%d_%d": 1, "case%d%d": 0, "scan_%d%d": 0} {
		dir := write(t, 10)
		for i := range 10 {
			for _, path := range []string{filepath.Join(dir, "images", name(i)+".png"), maskPath(dir, "a", "disc", i), maskPath(dir, "a", "cup", i),
				maskPath(dir, "b", "disc", i), maskPath(dir, "b", "cup", i), maskPath(dir, "c", "disc", i), maskPath(dir, "c", "cup", i)} {
				if _, err := os.Stat(path); err == nil {
					require.NoError(t, os.Rename(path, filepath.Join(filepath.Dir(path), fmt.Sprintf(form+".png", i/2, i%2))))
				}
			}
		}
		assert.Len(t, findingsOf(t, check(t, dir), dir, KindGroup), want, form)
	}
}

// Slices of two patients are few families, and yet of patients, also if a split keeps these apart. A
// groups.csv that names no image of the folder is refused, and one without lines warned of.
func TestSlicesOfFewPatients(t *testing.T) {
	dir := write(t, 10)
	for i := range 10 {
		for _, path := range slices.Concat(glob(t, dir, "images", name(i)+".*"), glob(t, dir, "raters", "*", "*", name(i)+".*")) {
			require.NoError(t, os.Rename(path, filepath.Join(filepath.Dir(path), fmt.Sprintf("p%d_slice%d.png", i/5, i%5))))
		}
	}
	found := findingsOf(t, check(t, dir), dir, KindGroup)
	require.Len(t, found, 1)
	require.Contains(t, found[0], `"p0_slice0" and "p0_slice4" are on two sides of the split`)
	split := `{"train": ["p0_slice0", "p0_slice1", "p0_slice2", "p0_slice3", "p0_slice4"], "test": ["p1_slice0", "p1_slice1", "p1_slice2", "p1_slice3", "p1_slice4"]}`
	put(t, filepath.Join(dir, SplitFile), []byte(split))
	found = findingsOf(t, check(t, dir), dir, KindGroup)
	require.Len(t, found, 1)
	require.Contains(t, found[0], "without it intervals count each image as a patient")
	put(t, filepath.Join(dir, GroupsFile), []byte("name,group\n"))
	require.Contains(t, strings.Join(findingsOf(t, check(t, dir), dir, KindGroup), "\n"), "gives 10 of 10 images no group")
	put(t, filepath.Join(dir, GroupsFile), []byte("name,group\nq0_slice0,q0\nq1_slice0,q1\n"))
	r := check(t, dir)
	require.True(t, r.Failed())
	require.Contains(t, strings.Join(findingsOf(t, r, dir, KindFault), "\n"), `names images that are not there (2), such as "q0_slice0" in line 2`)
}

func glob(t *testing.T, parts ...string) []string {
	found, err := filepath.Glob(filepath.Join(parts...))
	require.NoError(t, err)
	return found
}

func TestFamily(t *testing.T) {
	for name, want := range map[string]string{"p1_slice5": "p1", "hy100_0": "hy100", "RET002OD": "RET002", "a7_L": "a7", "P1-2b3": "", "scan_12": "", "case01": "", "OD": "", "": ""} {
		assert.Equal(t, want, family(name), name)
	}
}
