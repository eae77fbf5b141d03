package compare

import (
	"bytes"
	"image"
	"image/color"
	"path/filepath"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/data/dataset"
	"mrprism/internal/files/npy"

	"github.com/stretchr/testify/require"
)

// grey is a PNG of 3 × 1 pixels.
func grey(t *testing.T, values ...uint8) []byte {
	return encoded(t, &image.Gray{Pix: values, Stride: 3, Rect: image.Rect(0, 0, 3, 1)})
}

// twoImages has the images x and x_2 of 3 × 1 pixels. Cups lie in discs.
func twoImages(t *testing.T, classes ...string) *dataset.Dataset {
	d, dir := &dataset.Dataset{Name: "set", Classes: classes, Raters: []string{"ann", "bob"}}, t.TempDir()
	var masks []string
	for k, class := range classes {
		masks = append(masks, filepath.Join(dir, class+".png"))
		studytest.WriteFile(t, masks[k], map[string][]byte{"disc": grey(t, 255, 255, 0), "cup": grey(t, 255, 0, 0), "vein": grey(t, 0, 0, 255)}[class])
	}
	for _, name := range []string{"x", "x_2"} {
		d.Cases = append(d.Cases, dataset.Case{Name: name, Image: name + ".png", W: 3, H: 1, Masks: [][]string{masks, make([]string, len(classes))}})
	}
	return d
}

// What people have is read: label maps, files beside each other, and those of segment by its names.
func TestFolders(t *testing.T) {
	palette := &image.Paletted{Pix: []uint8{2, 1, 0}, Stride: 3, Rect: image.Rect(0, 0, 3, 1), Palette: color.Palette{color.Black, color.NRGBA{R: 255, A: 255}, color.White}}
	integers := npy.Encode(1, 3, []float32{0, 0, 0})
	copy(integers[len(integers)-12:], "\x02\x00\x00\x00\x01\x00\x00\x00")
	integers = bytes.Replace(integers, []byte("<f4"), []byte("<i4"), 1)
	nested, second := [][]float32{{1, 1, 0}, {1, 0, 0}}, [][]float32{{1, 0, 0}, {0, 0, 1}}
	maps := [][]float32{{1, .2, 0}, {0, .2, 0}}
	summary := []byte(`{"classes": ["disc", "cup", "vein"], "raters": ["bob", "carl"], "labels": "raters"}`)
	earlier := []byte(`{"classes": ["disc"], "raters": ["rater2", "bob"], "labels": "raters", "files": {"all": [{"file": "x_disc_rater2.png", "by": "guess of bob"}]}}`)
	for name, c := range map[string]struct {
		classes []string
		files   map[string][]byte
		want    [][]float32 // by class, of x
		bob     []float32   // map of the disc
		trouble string
	}{
		"labels":   {want: nested, files: map[string][]byte{"x.png": grey(t, 2, 1, 0), "plans.json": nil}},
		"palette":  {want: nested, files: map[string][]byte{"x.png": encoded(t, palette)}},
		"integers": {want: nested, files: map[string][]byte{"x.npy": integers}},
		"apart":    {classes: []string{"disc", "vein"}, want: second, files: map[string][]byte{"x.png": grey(t, 1, 0, 2)}},
		"beside":   {want: maps, files: map[string][]byte{"x_disc.png": grey(t, 255, 51, 0), "x_cup.npy": npy.Encode(1, 3, maps[1])}},
		"of one":   {classes: []string{"disc"}, want: maps[:1], files: map[string][]byte{"x.png": grey(t, 255, 51, 0)}},
		"ones":     {classes: []string{"disc"}, want: nested[:1], files: map[string][]byte{"x.png": grey(t, 1, 1, 0), "x_2.png": grey(t, 0, 0, 0)}},
		"faint":    {classes: []string{"disc"}, want: [][]float32{{1. / 255, 0, 0}}, files: map[string][]byte{"x.png": grey(t, 1, 0, 0), "x_2.png": grey(t, 2, 0, 0)}},
		"segment": {want: maps, bob: []float32{0, 1, 0}, files: map[string][]byte{
			"x.json": summary, "x_disc.npy": npy.Encode(1, 3, maps[0]), "x_disc.png": grey(t, 0, 0, 0), "x_disc_mask.png": grey(t, 0, 0, 0), "x_cup_mask.png": grey(t, 9, 9, 9), "x_cup.png": grey(t, 0, 51, 0),
			"x_disc_bob.png": grey(t, 0, 255, 0), "x_disc_carl.png": nil, "x_vein.png": nil, "x_vein_bob.png": nil, "x_disc_others.png": nil, "x_cup_inner.png": nil,
		}},
		"earlier":  {want: nested, bob: []float32{0, 1, 0}, files: map[string][]byte{"x.png": grey(t, 2, 1, 0), "x.json": earlier, "x_disc_rater2.png": grey(t, 0, 255, 0)}},
		"stranger": {want: nested, trouble: "y.png: the data set has no image of this name", files: map[string][]byte{"x.png": grey(t, 2, 1, 0), "y.png": nil}},
		"whose": {want: nested, bob: []float32{0, 1, 0}, trouble: "x_disc_rater1.png: the data set has no image of this name", files: map[string][]byte{
			"x.png": grey(t, 2, 1, 0), "x_disc_bob.png": grey(t, 0, 255, 0), "x_disc_rater1.png": nil,
		}},
		"two files": {want: nested, trouble: "x.tif: there is also x.png; remove one", files: map[string][]byte{"x.png": grey(t, 2, 1, 0), "x.tif": nil}},
		"too large": {trouble: "it holds 3 at x 0, y 0; a label map has 0 for the background and 1 to 2 for disc, cup", files: map[string][]byte{"x.png": grey(t, 3, 1, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.classes == nil {
				c.classes = []string{"disc", "cup"}
			}
			data, dir := twoImages(t, c.classes...), t.TempDir()
			for name, content := range c.files {
				studytest.WriteFile(t, filepath.Join(dir, name), content)
			}
			m, troubles, err := newFolder(dir, data)
			require.NoError(t, err)
			require.Equal(t, c.classes, m.Classes)
			require.Equal(t, c.bob != nil, m.Heads)
			p, err := m.predict(t.Context(), &subject{Case: data.Cases[0]})
			require.NoError(t, err)
			for k := range c.classes {
				got, err := p.pass(0, k)
				if c.want == nil {
					require.ErrorContains(t, err, c.trouble)
					return
				}
				require.NoError(t, err)
				require.InDeltaSlice(t, c.want[k], got, 1e-6)
			}
			for rater, want := range [][]float32{nil, c.bob} {
				got, err := p.head(rater, 0)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			if c.trouble == "" {
				require.Empty(t, troubles)
			} else {
				require.Contains(t, troubles[0].Text, c.trouble)
			}
		})
	}
}

// The error says what was looked for, and what is there.
func TestNoPredictions(t *testing.T) {
	dir := t.TempDir()
	studytest.WriteFile(t, filepath.Join(dir, "y.png"), nil)
	studytest.WriteFile(t, filepath.Join(dir, "notes.txt"), nil)
	_, _, err := newFolder(dir, twoImages(t, "disc", "cup"))
	require.EqualError(t, err, dir+": it has no prediction of an image of set, such as x. Looked for: a folder for each class, as "+filepath.Join(dir, "disc", "NAME.png")+
		"; NAME_disc.png, as segment names its files; and NAME.png, a label map with 1 to 2 for disc, cup. In place of .png a name may end in .nii, .nii.gz, .npy, .png, .tif, .tiff. "+
		`The folder holds "notes.txt", "y.png"`)
}

// A prediction belongs to its image, though a Mac has decomposed the letters of its name.
func TestNamesOfAMac(t *testing.T) {
	data, dir := twoImages(t, "disc"), t.TempDir()
	data.Cases[0].Name = "m\u00fcller"
	studytest.WriteFile(t, filepath.Join(dir, "mu\u0308ller.png"), grey(t, 255, 51, 0))
	studytest.WriteFile(t, filepath.Join(dir, "x_2_disc.PNG"), grey(t, 0, 0, 0))
	m, troubles, err := newFolder(dir, data)
	require.NoError(t, err)
	require.Empty(t, troubles)
	require.Len(t, m.predictor.(*folder).files, 2)
}
