package importer

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
)

// ellipse is an outline in pixels.
type ellipse struct{ x, y, a, b float64 }

// at is 0 in the centre and 1 on the outline.
func (e ellipse) at(x, y int) float64 {
	return math.Hypot((float64(x)-e.x)/e.a, (float64(y)-e.y)/e.b)
}

func (e ellipse) filled(w, h int) []uint8 {
	mask := make([]uint8, w*h)
	for i := range mask {
		if e.at(i%w, i/w) <= 1 {
			mask[i] = 1
		}
	}
	return mask
}

// stroke draws an outline `thick` pixels thick, open over an angle in radians.
func (e ellipse) stroke(m *image.RGBA, ink color.RGBA, thick, open float64) {
	for angle := open; angle < 2*math.Pi; angle += 0.5 / max(e.a, e.b) {
		x, y := e.x+e.a*math.Cos(angle), e.y+e.b*math.Sin(angle)
		for dy := -thick; dy <= thick; dy++ {
			for dx := -thick; dx <= thick; dx++ {
				if math.Hypot(dx, dy) <= thick/2 {
					m.SetRGBA(int(math.Round(x+dx)), int(math.Round(y+dy)), ink)
				}
			}
		}
	}
}

// eye paints something like a photograph: a bright disc on a background of noise.
func eye(w, h int, seed uint64) *image.RGBA {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			light := 90 + 80*math.Exp(-math.Hypot(float64(x-w/2), float64(y-h/2))/30) + 12*rng.Float64()
			m.SetRGBA(x, y, color.RGBA{uint8(light), uint8(light * .6), uint8(light * .3), 255})
		}
	}
	return m
}

func copied(m *image.RGBA) *image.RGBA {
	c := *m
	c.Pix = slices.Clone(m.Pix)
	return &c
}

func put(t *testing.T, data []byte, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, data, 0o644))
	return file
}

// encoded is a picture in the form of a file's extension.
func encoded(t *testing.T, m image.Image, extension string) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch extension {
	case ".tif":
		err = tiff.Encode(&b, m, &tiff.Options{Compression: tiff.Deflate})
	case ".bmp":
		err = bmp.Encode(&b, m)
	case ".png":
		err = png.Encode(&b, m)
	case ".jpg":
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: 92})
	}
	require.NoError(t, err)
	return b.Bytes()
}

// load opens the imported data set and reads all cases.
func load(t *testing.T, folder string) (*dataset.Dataset, []*dataset.Loaded) {
	t.Helper()
	d, err := dataset.Open(folder)
	require.NoError(t, err)
	loaded, left, err := dataset.LoadSound(t.Context(), d.Cases, nil)
	require.NoError(t, err)
	require.Empty(t, left)
	return d, loaded
}

// reasons maps the base names of skipped files to the reasons.
func reasons(s *Summary) map[string]string {
	by := map[string]string{}
	for _, skip := range s.Skipped {
		by[filepath.Base(skip.File)] = skip.Reason
	}
	return by
}

// TestRIGA imports RIGA as it is published: TIFF for MESSIDOR and Magrabia, JPEG with a few TIFF
// for BinRushed, a folder with a corrected twin, copies without a photograph.
func TestRIGA(t *testing.T) {
	const w, h = 320, 240
	source, destination := t.TempDir(), filepath.Join(t.TempDir(), "riga")
	discs, cups := map[string]ellipse{}, map[string]ellipse{}
	write := func(folder, number, extension string, seed uint64) {
		photograph := eye(w, h, seed)
		put(t, encoded(t, photograph, extension), source, folder, "image"+number+"prime"+extension)
		for r := range 6 {
			grow := float64(r)
			disc, cup := ellipse{160, 120, 60 + grow, 66 - grow}, ellipse{158, 123, 25 + 2*grow, 30}
			drawn := copied(photograph)
			disc.stroke(drawn, color.RGBA{0, 0, 255, 255}, 3, 0)
			cup.stroke(drawn, color.RGBA{20, 40, 20, 255}, 2, 0)
			rater := string(rune('1' + r))
			put(t, encoded(t, drawn, extension), source, folder, "image"+number+"-"+rater+extension)
			discs[rater], cups[rater] = disc, cup
		}
	}
	write("MESSIDOR", "1", ".tif", 1)
	write("BinRushed/BinRushed1", "1", ".jpg", 2)
	write("BinRushed/BinRushed1-Corrected", "1", ".jpg", 3)
	write("Magrabia/Magrabia/MagrabiFemale", "4", ".tif", 4)
	write("Magrabia/Magrabia/MagrabiFemale", "48", ".tif", 5)
	female := filepath.Join(source, "Magrabia", "Magrabia", "MagrabiFemale")
	require.NoError(t, os.Remove(filepath.Join(female, "image48prime.tif")))
	corrected := filepath.Join(source, "BinRushed", "BinRushed1-Corrected")
	data, err := os.ReadFile(filepath.Join(female, "image4-3.tif"))
	require.NoError(t, err)
	put(t, data[:len(data)/2], female, "image4-3.tif")
	require.NoError(t, os.Remove(filepath.Join(corrected, "image1-2.jpg")))
	put(t, encoded(t, image.NewRGBA(image.Rect(0, 0, 9, 8)), ".tif"), corrected, "image1-2.tif")
	put(t, encoded(t, eye(w, h, 3), ".jpg"), corrected, "image1-5.jpg") // nothing drawn
	put(t, []byte("x"), source, "readme.txt")
	put(t, []byte("x"), source, "MESSIDOR", ".DS_Store")

	calls := 0
	s, err := riga.Run(t.Context(), Options{Source: source, Destination: destination, Progress: func(done, total int) {
		calls++
		assert.Equal(t, []int{calls, 3}, []int{done, total})
	}})
	require.NoError(t, err)
	d, loaded := load(t, destination)
	assert.Equal(t, []string{"rater1", "rater2", "rater3", "rater4", "rater5", "rater6"}, d.Raters)
	var names []string
	for _, l := range loaded {
		names = append(names, l.Name)
	}
	assert.Equal(t, []string{"binrushed1-corrected-image1", "magrabifemale-image4", "messidor-image1"}, names)
	assert.Equal(t, [][]int{{3, 3}, {2, 2}, {2, 2}, {3, 3}, {2, 2}, {3, 3}}, s.Masks)
	assert.Equal(t, []string{"binrushed1-corrected-image1", "messidor-image1"}, s.Split.Train)
	assert.Equal(t, []string{"magrabifemale-image4"}, s.Split.Test)
	assert.Len(t, d.Splits, 1)
	assert.Equal(t, "magrabifemale-image4", d.HeldOut()[0].Name)
	skipped := reasons(s)
	assert.Contains(t, skipped["BinRushed1"], "7 files: BinRushed1-Corrected replaces it")
	assert.Contains(t, skipped["image48-6.tif"], "no image48prime")
	assert.Contains(t, skipped["readme.txt"], "neither")
	assert.NotEmpty(t, skipped["image4-3.tif"])
	assert.Contains(t, skipped["image1-2.tif"], "9×8")
	assert.Equal(t, "nothing is drawn into it", skipped["image1-5.jpg"])
	assert.Len(t, s.Skipped, 1+6+1+1+1+1)
	for _, l := range loaded {
		for r, masks := range l.Masks {
			if masks[0] == nil {
				continue
			}
			rater := string(rune('1' + r))
			// A pixel along the whole outline is 2 % of the disc and 4 % of the cup.
			assert.Greater(t, metric.Dice(masks[0], discs[rater].filled(w, h)), .985, "%s disc %s", l.Name, rater)
			assert.Greater(t, metric.Dice(masks[1], cups[rater].filled(w, h)), .97, "%s cup %s", l.Name, rater)
		}
	}
}

// A folder keeps its name if the source is ".", and if a sub-folder has the name of the folder
// itself.
func TestRIGAHere(t *testing.T) {
	source, destination := filepath.Join(t.TempDir(), "Female"), filepath.Join(t.TempDir(), "riga")
	photograph := eye(160, 120, 1)
	drawn := copied(photograph)
	ellipse{80, 60, 40, 44}.stroke(drawn, color.RGBA{0, 0, 255, 255}, 2, 0)
	ellipse{80, 60, 20, 18}.stroke(drawn, color.RGBA{0, 0, 255, 255}, 2, 0)
	names := func() (names []string) {
		_, err := riga.Run(t.Context(), Options{Source: ".", Destination: destination, Force: true})
		require.NoError(t, err)
		_, loaded := load(t, destination)
		for _, l := range loaded {
			names = append(names, l.Name)
		}
		return names
	}
	for _, folder := range []string{source, filepath.Join(source, "Female")} {
		put(t, encoded(t, photograph, ".tif"), folder, "image1prime.tif")
		put(t, encoded(t, drawn, ".tif"), folder, "image1-1.tif")
	}
	t.Chdir(filepath.Join(source, "Female"))
	assert.Equal(t, []string{"female-image1"}, names())
	t.Chdir(source)
	assert.Equal(t, []string{"female-female-image1", "female-image1"}, names())
}

// outlined finds thin and thick outlines, outlines with gaps, and outlines that touch. It refuses
// other drawings.
func TestOutlines(t *testing.T) {
	const w, h = 300, 260
	blue := color.RGBA{0, 0, 250, 255}
	disc, cup := ellipse{150, 130, 70, 80}, ellipse{150, 130, 35, 30}
	touching := ellipse{120, 130, 40, 38} // from x 80, as the disc
	crossing := ellipse{112, 130, 40, 38}
	for name, c := range map[string]struct {
		draw      func(m *image.RGBA)
		disc, cup *ellipse
		reason    string
	}{
		"thin":     {func(m *image.RGBA) { disc.stroke(m, blue, 1, 0); cup.stroke(m, blue, 1, 0) }, &disc, &cup, ""},
		"thick":    {func(m *image.RGBA) { disc.stroke(m, blue, 8, 0); cup.stroke(m, blue, 8, 0) }, &disc, &cup, ""},
		"gaps":     {func(m *image.RGBA) { disc.stroke(m, blue, 2, .08); cup.stroke(m, blue, 2, .15) }, &disc, &cup, ""},
		"touching": {func(m *image.RGBA) { disc.stroke(m, blue, 2, 0); touching.stroke(m, blue, 2, 0) }, &disc, &touching, ""},
		"crossing": {func(m *image.RGBA) { disc.stroke(m, blue, 2, 0); crossing.stroke(m, blue, 2, 0) }, &disc, nil, ""},
		"cup open": {func(m *image.RGBA) { disc.stroke(m, blue, 2, 0); cup.stroke(m, blue, 2, 1.5) }, nil, nil, "no closed outline"},
		"no cup":   {func(m *image.RGBA) { disc.stroke(m, blue, 2, 0) }, &disc, nil, "only one closed outline"},
		"disc open": {func(m *image.RGBA) { disc.stroke(m, blue, 2, 1.5); cup.stroke(m, blue, 2, 0) }, nil, nil,
			"no closed outline"},
		"scribble": {func(m *image.RGBA) { disc.stroke(m, blue, 2, 3) }, nil, nil, "no closed outline"},
		"nothing":  {func(*image.RGBA) {}, nil, nil, "nothing is drawn"},
	} {
		t.Run(name, func(t *testing.T) {
			photograph := eye(w, h, 7)
			drawn := copied(photograph)
			c.draw(drawn)
			folder := t.TempDir()
			before, err := readImage(put(t, encoded(t, photograph, ".tif"), folder, "a.tif"))
			require.NoError(t, err)
			after, err := readImage(put(t, encoded(t, drawn, ".tif"), folder, "b.tif"))
			require.NoError(t, err)
			gotDisc, gotCup, reason := outlined(before, after)
			assert.Contains(t, reason, c.reason)
			if c.reason == "" {
				assert.Empty(t, reason)
				require.NotNil(t, gotCup)
			}
			if c.disc == nil {
				assert.Nil(t, gotDisc)
				return
			}
			require.NotNil(t, gotDisc)
			// The part of the cup beyond the disc counts as disc.
			if name == "crossing" {
				both := crossing.filled(w, h)
				for i, v := range disc.filled(w, h) {
					both[i] |= v
				}
				assert.Greater(t, metric.Dice(gotDisc, both), .98)
				return
			}
			assert.Greater(t, metric.Dice(gotDisc, c.disc.filled(w, h)), .98)
			if c.cup != nil {
				assert.Greater(t, metric.Dice(gotCup, c.cup.filled(w, h)), .96)
			}
		})
	}
}

func TestREFUGE(t *testing.T) {
	const w, h = 60, 50
	source, destination := t.TempDir(), filepath.Join(t.TempDir(), "new", "refuge")
	reference := func(cup, rim uint8) image.Image {
		m := image.NewGray(image.Rect(0, 0, w, h))
		for i := range m.Pix {
			m.Pix[i] = 255
			switch x, y := i%w, i/w; {
			case x >= 20 && x < 30 && y >= 20 && y < 30:
				m.Pix[i] = cup
			case x >= 10 && x < 40 && y >= 10 && y < 40:
				m.Pix[i] = rim
			}
		}
		return m
	}
	photograph := encoded(t, eye(w, h, 1), ".jpg")
	put(t, photograph, source, "Training400", "Glaucoma", "g0001.jpg")
	put(t, photograph, source, "Training400", "Non-Glaucoma", "n0001.jpg")
	put(t, photograph, source, "Training400", "Non-Glaucoma", "n0002.jpg")
	put(t, photograph, source, "Training400", "Non-Glaucoma", "n0003.jpg")
	put(t, photograph, source, "REFUGE-Validation400", "V0001.jpg")
	put(t, photograph, source, "REFUGE-Validation400", "V0002.jpg")
	masks := filepath.Join(source, "Annotation-Training400", "Disc_Cup_Masks")
	put(t, encoded(t, reference(0, 128), ".bmp"), masks, "Glaucoma", "g0001.bmp")
	put(t, encoded(t, reference(0, 128), ".bmp"), masks, "Non-Glaucoma", "n0001.bmp")
	put(t, encoded(t, reference(0, 100), ".bmp"), masks, "Non-Glaucoma", "n0002.bmp")
	put(t, encoded(t, reference(0, 128), ".bmp"), masks, "Non-Glaucoma", "n0009.bmp")
	put(t, encoded(t, reference(0, 128), ".bmp"), source, "REFUGE-Validation400-GT", "Disc_Cup_Masks", "V0001.bmp")
	drawn := eye(w, h, 1)
	for i := range drawn.Pix {
		drawn.Pix[i] = 255 * uint8(min(1, i%4)) // red is 0 and would be cup
	}
	put(t, encoded(t, drawn, ".bmp"), source, "REFUGE-Validation400-GT", "Disc_Cup_Masks", "V0002.bmp")
	put(t, photograph, source, "Annotation-Training400", "Disc_Cup_Fovea_Illustration", "g0001.jpg")
	put(t, []byte("x"), source, "Annotation-Training400", "Fovea_location.xlsx")
	put(t, []byte("x"), source, "__MACOSX", "g0001.jpg")
	s, err := refuge.Run(t.Context(), Options{Source: source, Destination: destination})
	require.NoError(t, err)
	d, loaded := load(t, destination)
	assert.Equal(t, []string{"panel"}, d.Raters)
	require.Len(t, loaded, 3)
	assert.Equal(t, "V0001", loaded[0].Name)
	assert.Equal(t, "V0001", d.Validation()[0].Name)
	assert.Len(t, d.Training(), 2)
	disc, cup := 0, 0
	for i, v := range loaded[1].Masks[0][0] {
		disc += int(v)
		cup += int(loaded[1].Masks[0][1][i])
		assert.LessOrEqual(t, loaded[1].Masks[0][1][i], v, "the cup lies in the disc")
	}
	assert.Equal(t, []int{900, 100}, []int{disc, cup})
	skipped := reasons(s)
	assert.Contains(t, skipped["n0002.bmp"], "holds the value 100 at x 10, y 10")
	assert.Contains(t, skipped["V0002.bmp"], "holds the colour 0,255,255 at x 0, y 0; a mask is grey")
	assert.Contains(t, skipped["n0009.bmp"], "no photograph n0009.jpg")
	assert.Contains(t, skipped["n0003.jpg"], "no mask")
	assert.Contains(t, skipped["g0001.jpg"], "illustration")
	assert.Contains(t, skipped["Fovea_location.xlsx"], "neither")
	assert.Len(t, s.Skipped, 6+2)
}

// Seven masks a class belong to the photograph of their folder; a mask of another size is missing.
func TestREFUGERaters(t *testing.T) {
	const w, h = 60, 50
	source, destination := t.TempDir(), filepath.Join(t.TempDir(), "refuge-raters")
	mask := func(w, h, side int) []byte {
		m := image.NewGray(image.Rect(0, 0, w, h))
		for i := range m.Pix {
			if x, y := i%w, i/w; x < side && y < side {
				m.Pix[i] = 255
			} else if x == side && y < side {
				m.Pix[i] = 100 // as JPEG or a resampling leaves it
			}
		}
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, m))
		return b.Bytes()
	}
	for _, name := range []string{"Training-400/0826", "Training-400/0827", "Test-400/0001"} {
		folder, base := filepath.Join(source, filepath.Dir(name), filepath.Base(name)), filepath.Base(name)
		put(t, encoded(t, eye(w, h, 1), ".jpg"), folder, base+".jpg")
		for r := range 7 {
			put(t, mask(w, h, 20+r), folder, fmt.Sprintf("%s_seg_disc_%d.png", base, r+1))
			put(t, mask(w, h, 5+r), folder, fmt.Sprintf("%s_seg_cup_%d.png", base, r+1))
		}
	}
	put(t, mask(9, 9, 3), source, "Training-400", "0827", "0827_seg_cup_3.png")
	put(t, encoded(t, image.NewNRGBA(image.Rect(0, 0, w, h)), ".png"), source, "Training-400", "0827", "0827_seg_cup_4.png")
	put(t, []byte("x"), source, "Training-400", "0827", "notes.txt")
	put(t, mask(w, h, 3), source, "Test-400", "0002", "0002_seg_cup_1.png")
	s, err := refugeRaters.Run(t.Context(), Options{Source: source, Destination: destination})
	require.NoError(t, err)
	d, loaded := load(t, destination)
	assert.Equal(t, []string{"rater1", "rater2", "rater3", "rater4", "rater5", "rater6", "rater7"}, d.Raters)
	require.Len(t, loaded, 3)
	assert.Equal(t, []string{"0001"}, []string{d.HeldOut()[0].Name})
	assert.Equal(t, 26*26, metric.Area(loaded[1].Masks[6][0]))
	assert.Equal(t, 11*11, metric.Area(loaded[1].Masks[6][1]))
	assert.Nil(t, loaded[2].Masks[2][1])
	skipped := reasons(s)
	assert.Contains(t, skipped["0827_seg_cup_3.png"], "9×9")
	assert.Contains(t, skipped["0827_seg_cup_4.png"], "this mask has transparent pixels")
	assert.Contains(t, skipped["notes.txt"], "neither")
	assert.Contains(t, skipped["0002_seg_cup_1.png"], "without a photograph 0002.jpg")
	put(t, encoded(t, eye(w, h, 1), ".jpg"), source, "Test-400", "0826", "0826.jpg")
	put(t, mask(w, h, 3), source, "Test-400", "0826", "0826_seg_cup_1.png")
	_, err = refugeRaters.Run(t.Context(), Options{Source: source, Destination: destination, Force: true})
	assert.ErrorContains(t, err, "two photographs are called 0826")
}

// Run replaces nothing without Force, and with Force only a data set. A failed or stopped import
// leaves nothing.
func TestDestination(t *testing.T) {
	source, parent := t.TempDir(), t.TempDir()
	mask := image.NewGray(image.Rect(0, 0, 60, 50))
	put(t, encoded(t, eye(60, 50, 1), ".jpg"), source, "T0001.jpg")
	put(t, encoded(t, mask, ".bmp"), source, "T0001.bmp")
	o := Options{Source: source, Destination: filepath.Join(parent, "set")}
	_, err := refuge.Run(t.Context(), o)
	require.NoError(t, err)
	_, err = refuge.Run(t.Context(), o)
	require.ErrorContains(t, err, "is not empty")
	o.Force, o.Longest = true, 30
	_, err = refuge.Run(t.Context(), o)
	require.NoError(t, err)
	_, loaded := load(t, o.Destination)
	assert.Equal(t, []int{30, 25}, []int{loaded[0].W, loaded[0].H})
	assert.Equal(t, slices.Repeat([]uint8{1}, 30*25), loaded[0].Masks[0][0], "all of the mask is cup, its border too")

	// A link to an empty folder stays one.
	elsewhere, link := t.TempDir(), filepath.Join(t.TempDir(), "set")
	require.NoError(t, os.Symlink(elsewhere, link))
	_, err = refuge.Run(t.Context(), Options{Source: source, Destination: link})
	require.NoError(t, err)
	load(t, elsewhere)

	other := Options{Source: source, Destination: filepath.Join(parent, "other"), Force: true}
	kept := put(t, []byte("x"), other.Destination, "thesis.doc")
	_, err = refuge.Run(t.Context(), other)
	require.ErrorContains(t, err, "is not a data set")
	assert.FileExists(t, kept)

	for _, destination := range []string{source, filepath.Dir(source)} {
		_, err = refuge.Run(t.Context(), Options{Source: source, Destination: destination, Force: true})
		require.ErrorContains(t, err, "is the source, or holds it")
	}
	_, err = refuge.Run(t.Context(), Options{Source: filepath.Join(source, "T0001.bmp"), Destination: filepath.Join(parent, "x")})
	require.ErrorContains(t, err, "unpack it")
	_, err = riga.Run(t.Context(), Options{Source: source, Destination: filepath.Join(parent, "x")})
	require.ErrorContains(t, err, "nothing of the form of riga")
	require.ErrorContains(t, err, "T0001.bmp: neither")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = refuge.Run(ctx, Options{Source: source, Destination: filepath.Join(parent, "x")})
	require.ErrorIs(t, err, context.Canceled)
	put(t, []byte("BMbroken"), source, "T0001.bmp")
	_, err = refuge.Run(t.Context(), Options{Source: source, Destination: filepath.Join(parent, "x")})
	require.ErrorContains(t, err, "none of its images could be used")
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	assert.Equal(t, "other set", strings.Join(left, " "), "nothing temporary")
	_, err = FindLayout("drive")
	require.ErrorContains(t, err, "riga, refuge, refuge-raters, qubiq")
}
