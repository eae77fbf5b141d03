package objects

import (
	"encoding/json"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mrprism/internal/data/coco"
	"mrprism/internal/data/contour"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/importer"
	"mrprism/internal/data/instances"
	"mrprism/internal/files/cells"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawn is a field of rows of letters, each the object of its number.
func drawn(numbers map[byte]uint16, rows ...string) *Drawing {
	w, h := len(rows[0]), len(rows)
	labels := make([]uint16, w*h)
	for i := range labels {
		labels[i] = numbers[rows[i/w][i%w]]
	}
	return of(w, h, labels)
}

func of(w, h int, labels []uint16) *Drawing {
	f := instances.FromLabels(w, h, "=cell <é>", labels)
	for i := range f.Objects {
		if doubt := .25 + float64(i)/7; i%2 == 0 {
			f.Objects[i].Doubt = &doubt
		}
	}
	return &Drawing{Field: f, Name: "plate & 1.png", Picture: &imageio.Image{W: w, H: h, Orientation: 1, Spacing: [2]float64{.0005, .0005}, Body: true}}
}

// drawings are fields with all that is odd about objects.
func drawings() map[string]*Drawing {
	odd := drawn(map[byte]uint16{'a': 1, 'b': 2, 'c': 300, 'd': 10000, 'e': 65535, 'f': 7, 'g': 8},
		"aaaa......bbb..ddd..",
		"aaaaa.....b.b..d.d..",
		".aaaa.....bbb..dd...",
		"...................e",
		".fffff..b..........e",
		".f...f...b.......eee",
		".f.f.f..b..c......ee",
		".f...f............e.",
		".fffff.....ggg.ggg..",
		"...........g.g.g.g..",
		"...........ggggggg..",
		".............g.g....",
	)
	const side, row = 264, 33 // 1,089 objects
	many := make([]uint16, side*side)
	for i := range many {
		x, y := i%side, i/side
		if dx, dy := x%8-4, y%8-4; dx*dx+dy*dy < 5+x/8%10 {
			many[i] = uint16(1 + y/8*row + x/8)
		}
	}
	noise, rng := make([]uint16, 60*40), rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = uint16(rng.IntN(3))
	}
	return map[string]*Drawing{"odd": odd, "many": of(side, side, many), "noise": of(60, 40, noise), "none": of(9, 5, make([]uint16, 45))}
}

func written(t *testing.T, name string, d *Drawing) []byte {
	t.Helper()
	f, err := Find(name)
	require.NoError(t, err)
	data, err := f.Write(d)
	require.NoError(t, err)
	again, err := f.Write(d)
	require.NoError(t, err)
	require.Equal(t, data, again, "equal fields give equal bytes")
	return data
}

// saved writes a field, and beside it its labels as plain numbers.
func saved(t *testing.T, d *Drawing) string {
	t.Helper()
	folder := t.TempDir()
	for _, f := range Formats {
		require.NoError(t, os.WriteFile(filepath.Join(folder, f.Name), written(t, f.Name, d), 0o600))
	}
	plain, err := json.Marshal(map[string]any{"w": d.Field.Width, "h": d.Field.Height, "labels": d.Field.Labels})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "plain"), plain, 0o600))
	return folder
}

// Programs of others find every label, the size of a pixel, and every mask.
func TestPython(t *testing.T) {
	const python = "/usr/bin/python3" // Debian's
	if exec.Command(python, "-c", "import numpy, PIL, tifffile, nibabel").Run() != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "make setup installs python3-pil, python3-tifffile and python3-nibabel")
		t.Skip("python3-pil, python3-tifffile or python3-nibabel is missing: make setup")
	}
	for name, d := range drawings() {
		out, err := exec.Command(python, "testdata/objects.py", saved(t, d)).CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		t.Logf("%s: %s", name, out)
	}
}

// Edges enclose the area exactly, and no line passes a corner twice.
func TestEdges(t *testing.T) {
	for name, d := range drawings() {
		for _, o := range d.Field.Objects {
			area := 0.
			for _, polygon := range d.Field.Edges(o.Number) {
				for i, line := range polygon {
					passed, one := map[contour.Point]bool{}, 0.
					for k, p := range line[1:] {
						require.False(t, passed[p], "%s %d", name, o.Number)
						passed[p] = true
						one += (line[k][0]*p[1] - p[0]*line[k][1]) / 2
					}
					require.Equal(t, i == 0, one > 0, "%s %d: the outer line is first", name, o.Number)
					area += one
				}
			}
			require.InDelta(t, o.Area, area, 1e-9, "%s %d", name, o.Number)
		}
	}
	odd := drawings()["odd"].Field
	pieces := func(n uint16) (lines []int) {
		for _, p := range odd.Edges(n) {
			lines = append(lines, len(p))
		}
		return lines
	}
	assert.Equal(t, []int{2, 1, 1, 1}, pieces(2), "a ring and three pixels that touch at corners")
	assert.Equal(t, []int{2, 1}, pieces(7), "a ring and the pixel in it")
	assert.Equal(t, []int{2}, pieces(10000), "a hole that reaches a corner of the outer line")
	assert.Equal(t, []contour.Polygon{{{{12, 6}, {12, 7}, {11, 7}, {11, 6}, {12, 6}}}}, odd.Edges(300))
}

// ImageJ finds in every region as many pixels as the object has, and its number at each.
func TestImageJ(t *testing.T) {
	const jar = "/usr/share/java/ij.jar" // Debian's
	if testing.Short() {
		t.Skip("ImageJ takes seconds")
	}
	if _, err := exec.LookPath("javac"); err != nil || exec.Command("test", "-e", jar).Run() != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "make test-long installs imagej and default-jdk-headless")
		t.Skip("ImageJ or a JDK is missing: make setup")
	}
	args, want := []string{"-Djava.awt.headless=true", "-cp", jar, "testdata/Rois.java"}, []string{}
	for _, d := range drawings() {
		args = append(args, saved(t, d))
		want = append(want, fmt.Sprintf("size %d %d 16 µm 0.5", d.Field.Width, d.Field.Height))
		for _, o := range d.Field.Objects {
			kind := "Composite"
			if polygons := d.Field.Edges(o.Number); len(polygons) == 1 && len(polygons[0]) == 1 {
				kind = "Traced"
			}
			want = append(want, fmt.Sprintf("roi %04d %s %d %d %d %d %d %d %d", o.Number, kind, o.Area, o.Number, o.Number, o.Box.Min.X, o.Box.Min.Y, o.Box.Dx(), o.Box.Dy()))
		}
	}
	out, err := exec.Command("java", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, strings.Join(want, "\n"), strings.TrimSpace(string(out)))
}

// An object that stays as it is keeps its identity; no two have the same.
func TestGeoJSON(t *testing.T) {
	ids := func(d *Drawing) (all []string) {
		var file struct {
			Features []struct {
				ID         string
				Properties struct{ ObjectType string }
			}
		}
		require.NoError(t, json.Unmarshal(written(t, "geojson", d), &file))
		for _, f := range file.Features {
			require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, f.ID)
			assert.Equal(t, "detection", f.Properties.ObjectType)
			all = append(all, f.ID)
		}
		return all
	}
	d := drawings()["odd"]
	before := ids(d)
	d.Field.Delete(1)
	assert.Equal(t, before[1:], ids(d))
	assert.NotContains(t, before[1:], before[0])
	assert.Equal(t, `{"features":[],"type":"FeatureCollection"}`+"\n", string(written(t, "geojson", drawings()["none"])))
	text := string(written(t, "geojson", d))
	assert.NotContains(t, text, "null")
	assert.Equal(t, 3, len(regexp.MustCompile(`"Doubt":`).FindAllString(text, -1)), "of the three that have one")
}

func TestCSV(t *testing.T) {
	d := drawings()["odd"]
	table, cut, err := cells.Read(written(t, "csv", d))
	require.NoError(t, err)
	require.False(t, cut)
	require.Len(t, table.Lines, len(d.Field.Objects))
	for i, o := range d.Field.Objects {
		assert.Equal(t, strconv.Itoa(int(o.Number)), table.Text(i, "number"))
		assert.Equal(t, "'=cell <é>", table.Text(i, "class"), "no formula")
		area, err := strconv.ParseFloat(table.Text(i, "area_um2"), 64)
		require.NoError(t, err)
		assert.InDelta(t, .25*float64(o.Area), area, 1e-9)
		length, err := strconv.ParseFloat(table.Text(i, "perimeter_um"), 64)
		require.NoError(t, err)
		assert.InEpsilon(t, o.Perimeter/2, length, 1e-5)
		assert.Equal(t, o.Doubt == nil, table.Text(i, "doubt") == "")
		assert.Equal(t, strconv.FormatBool(o.Cut), table.Text(i, "cut"))
	}
	d.Picture.Spacing = [2]float64{.2, .3}
	table, _, err = cells.Read(written(t, "csv", d))
	require.NoError(t, err)
	assert.Equal(t, figure(.06*float64(d.Field.Objects[0].Area)), table.Text(0, "area_mm2"))
	assert.NotContains(t, table.Columns, "perimeter_mm", "pixels are not square")
	d.Picture.Body, d.Semicolons = false, true
	text := string(written(t, "csv", d))
	assert.NotContains(t, text, "mm")
	assert.Contains(t, text, "number;class;")
}

// Our own importer reads the masks back. Each is of a class of its own.
func TestCOCOIsImported(t *testing.T) {
	d := drawings()["odd"]
	d.Field.Class, d.Name = "cell", "plate.png"
	var file coco.File
	require.NoError(t, json.Unmarshal(written(t, "coco", d), &file))
	file.Categories = nil
	for i := range file.Annotations {
		n := file.Annotations[i].ID
		file.Annotations[i].Category = n
		file.Categories = append(file.Categories, coco.Category{ID: n, Name: fmt.Sprint("n", n)})
	}
	text, err := json.Marshal(file)
	require.NoError(t, err)
	folder, set := t.TempDir(), filepath.Join(t.TempDir(), "set")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ann.json"), text, 0o600))
	plate := imageio.EncodeGrey(d.Field.Width, d.Field.Height, image.Rectangle{}, make([]uint8, len(d.Field.Labels)), "")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "plate.png"), plate, 0o600))
	layout, err := importer.FindLayout("coco")
	require.NoError(t, err)
	_, err = layout.Run(t.Context(), importer.Options{Source: folder, Destination: set})
	require.NoError(t, err)
	data, err := dataset.Open(set)
	require.NoError(t, err)
	marks, problems := data.Cases[0].Marks()
	require.NoError(t, problems.AsError())
	for k, class := range data.Classes {
		n, err := strconv.Atoi(class[1:])
		require.NoError(t, err)
		for i, v := range marks.Masks[0][k] {
			require.Equal(t, int(d.Field.Labels[i]) == n, v != 0, "%s at %d", class, i)
		}
	}
	assert.Len(t, data.Classes, 7)
}

// The labels of a NIfTI's slice lie where the slice does, in the order of its pixels.
func TestNIfTIKeepsItsPlace(t *testing.T) {
	d := drawings()["odd"]
	w, h := d.Field.Width, d.Field.Height
	place := nifti.Scanner([3]float64{.5, .1, 0}, [3]float64{0, -.6, 0}, [3]float64{0, -.2, 3}, [3]float64{1, 2, 3})
	source, err := nifti.Encode(h, w, place, [2]float64{}, "", [][]uint8{make([]uint8, w*h)}, false)
	require.NoError(t, err)
	slice, err := imageio.Decode("slice.nii.gz", source)
	require.NoError(t, err)
	d.Picture = &imageio.Image{W: w, H: h, Orientation: 6, Format: "nifti", Spacing: slice.Spacing, Header: slice.Header}
	for i := range d.Field.Labels {
		d.Field.Labels[i] = 65535 * min(d.Field.Labels[i], 1)
	}
	again, err := imageio.Decode("labels.nii.gz", written(t, "labels-nifti", d))
	require.NoError(t, err)
	assert.Equal(t, slice.Header, again.Header)
	again = again.Turned(1) // as orientation 6
	for i, n := range d.Field.Labels {
		require.Equal(t, n > 0, again.Pix[3*i] > 127, "pixel %d", i)
	}
}

func TestFormatsAreFound(t *testing.T) {
	_, err := Find("lables-png")
	assert.ErrorContains(t, err, "labels-png")
}
