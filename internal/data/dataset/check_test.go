package dataset

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/weights"
)

func check(t *testing.T, dirs ...string) *Report {
	t.Helper()
	return Check(t.Context(), dirs, nil)
}

// findingsOf lists the findings of a kind: FILE: TEXT, the file relative to the folder.
func findingsOf(t *testing.T, r *Report, dir, kind string) (found []string) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Kind == kind {
			file := f.File
			if file != "" {
				var err error
				file, err = filepath.Rel(dir, file)
				require.NoError(t, err)
				file += ": "
			}
			found = append(found, file+f.Text)
		}
	}
	return found
}

// Training refuses more raters than a model can have, and so does check.
func TestCheckOfTooManyRaters(t *testing.T) {
	dir, raters := write(t, 6), []string{"a", "b", "c"}
	for n := len(raters); n <= weights.MaxRaters; n++ {
		raters = append(raters, fmt.Sprint("r", n))
	}
	for _, n := range []int{weights.MaxRaters, weights.MaxRaters + 1} {
		text, err := json.Marshal(map[string]any{"classes": []string{"disc", "cup"}, "raters": raters[:n]})
		require.NoError(t, err)
		put(t, filepath.Join(dir, "dataset.json"), text)
		found := slices.Contains(findingsOf(t, check(t, dir), dir, KindFault), "raters: 65, classes: 2; a model has at most 64 and 16")
		assert.Equal(t, n > weights.MaxRaters, found, n)
	}
}

func TestCheckOfSoundData(t *testing.T) {
	dir := write(t, 6)
	calls := 0
	r := Check(t.Context(), []string{dir}, func(done, total int) {
		calls++
		assert.Equal(t, []int{calls, 6}, []int{done, total})
	})
	assert.False(t, r.Failed())
	assert.Equal(t, []int{6, 5, 1}, []int{r.Images, r.Training, r.HeldOut})
	assert.Equal(t, 5*5*sampleW*sampleH, r.Memory)
	for _, f := range r.Findings { // the sample is small, and its cups are all the same
		assert.Contains(t, []string{KindSize, KindSame}, f.Kind, f.Text)
	}
	assert.Equal(t, []string{"raters a and b marked exactly the same cup in 6 of 6 images; is one a copy?",
		"raters a and c marked exactly the same cup in 6 of 6 images; is one a copy?",
		"raters b and c marked exactly the same cup in 6 of 6 images; is one a copy?"}, findingsOf(t, r, dir, KindSame))
	require.Len(t, r.Figures, 6)
	// The discs have 20 columns and 20, 21 and 22 rows; each lies within the next.
	b := r.Figures[1]
	assert.Equal(t, Figure{Class: "disc", Rater: "b", Masks: 6, Share: b.Share, Compared: 6, Dice: b.Dice, Area: b.Area, Worst: "eyes/eye00", Least: b.Least, Displaced: b.Displaced}, b)
	assert.InDelta(t, b.Dice, b.Least, 1e-12, "they are alike in every image")
	assert.InDelta(t, 20*21/float64(sampleW*sampleH), b.Share, 1e-12)
	assert.InDelta(t, (2*20/41.+2*21/43.)/2, b.Dice, 1e-12)
	assert.InDelta(t, 1, b.Area, 1e-12)
}

// Check reports every fault once, although a header's fault appears again in the pixels. It
// examines the sound files too.
func TestCheckGoesOnAfterFaults(t *testing.T) {
	dir := write(t, 11)
	put(t, maskPath(dir, "a", "cup", 2), []byte("this was an image once"))
	put(t, maskPath(dir, "a", "disc", 3), pngOf(t, image.NewGray(image.Rect(0, 0, 8, 9))))
	grey := maskOf(image.Rect(5, 5, 20, 20)).(*image.Gray)
	grey.Pix[7] = 1
	put(t, maskPath(dir, "b", "cup", 5), pngOf(t, grey))
	put(t, filepath.Join(dir, "raters", "zoe", "disc", "eye00.png"), pngOf(t, grey))
	same, err := os.ReadFile(filepath.Join(dir, "images", name(0)+".png"))
	require.NoError(t, err)
	put(t, filepath.Join(dir, "images", name(9)+".png"), same) // held out
	put(t, filepath.Join(dir, "images", name(1)+".png"), same)
	r := check(t, dir)
	assert.True(t, r.Failed())
	faults := findingsOf(t, r, dir, KindFault)
	require.Len(t, faults, 4)
	for i, want := range []string{"zoe: dataset.json names no such rater", filepath.Join("cup", "eye02.png"), "8×9", "(1 at x 7"} {
		assert.Contains(t, faults[i], want)
	}
	for _, f := range r.Findings[:4] {
		assert.True(t, f.Error, "errors come first")
	}
	duplicates := findingsOf(t, r, dir, KindDuplicate)
	require.Len(t, duplicates, 2)
	assert.Contains(t, duplicates[0], filepath.Join("images", "eye01.png")+": the same pixels as")
	assert.Contains(t, duplicates[0], "both are trained on")
	assert.Contains(t, duplicates[1], "held out: scores would be too good")

	r = check(t, filepath.Join(dir, "nowhere"))
	assert.True(t, r.Failed())
	require.Len(t, r.Findings, 1)
}

func TestCheckOfMasks(t *testing.T) {
	dir := write(t, 10)
	disc, _ := discOf(0, 0)
	turned := maskOf(disc).(*image.Gray)
	for i := range turned.Pix {
		turned.Pix[i] = 255 - turned.Pix[i]
	}
	put(t, maskPath(dir, "a", "disc", 0), pngOf(t, turned))
	put(t, maskPath(dir, "b", "disc", 1), pngOf(t, maskOf(image.Rectangle{})))
	put(t, maskPath(dir, "c", "disc", 2), pngOf(t, maskOf(image.Rect(0, 0, 15, 15))))
	put(t, maskPath(dir, "c", "cup", 3), pngOf(t, maskOf(image.Rect(0, 0, sampleW, sampleH))))
	require.NoError(t, os.Remove(maskPath(dir, "a", "cup", 4)))
	for _, rater := range []string{"a", "b", "c"} { // an image without a disc is no fault
		put(t, maskPath(dir, rater, "disc", 5), pngOf(t, maskOf(image.Rectangle{})))
	}
	r := check(t, dir)
	assert.False(t, r.Failed())
	inverted := findingsOf(t, r, dir, KindInverted)
	require.Len(t, inverted, 2)
	assert.Contains(t, inverted[0], filepath.Join("a", "disc", "eye00.png")+": marks 79 % of the image as disc")
	assert.Contains(t, inverted[1], filepath.Join("c", "cup", "eye03.png")+": marks the whole image as cup")
	assert.Equal(t, []string{filepath.Join("raters", "b", "disc", "eye01.png") + ": is empty; 2 other raters marked the disc"}, findingsOf(t, r, dir, KindEmpty))
	outliers := findingsOf(t, r, dir, KindMask)
	require.Len(t, outliers, 1)
	assert.Contains(t, outliers[0], filepath.Join("c", "disc", "eye02.png")+": mean Dice 0.")
	assert.Contains(t, outliers[0], "who have 0.98 among themselves")
	assert.Equal(t, []string{"rater a has not marked the cup in 1 of 10 images; these labels are missing"}, findingsOf(t, r, dir, KindMissing))
}

func TestCheckOfRaters(t *testing.T) {
	dir := write(t, 6)
	for i := range 6 { // half of the disc
		disc, _ := discOf(i, 2)
		disc.Max.X = disc.Min.X + disc.Dx()/2
		put(t, maskPath(dir, "c", "disc", i), pngOf(t, maskOf(disc)))
	}
	found := findingsOf(t, check(t, dir), dir, KindRater)
	require.Len(t, found, 1)
	assert.Contains(t, found[0], "rater c, disc: mean Dice 0.6")
	assert.Contains(t, found[0], "areas 0.54 times theirs, over 6 images") // 10·22 of 20·20 and 20·21

	// Agreement levels are not people: they must be nested. In the sample the upper levels are larger.
	levels := write(t, 5)
	put(t, filepath.Join(levels, "dataset.json"), []byte(`{"classes":["disc","cup"],"raters":["a","b","c"],"labels":"agreement-levels"}`))
	r := check(t, levels)
	assert.Empty(t, findingsOf(t, r, levels, KindSame))
	nesting := findingsOf(t, r, levels, KindNesting)
	require.Len(t, nesting, 10)
	assert.Equal(t, filepath.Join("raters", "b", "disc", "eye00.png")+": 20 of its 420 pixels are not in a, the level below", nesting[0])
}

// A rater who leaves out the left quarter is found and named, once enough images show it; the
// others, and a rater who leaves out a random quarter, are not.
func TestCheckOfDirections(t *testing.T) {
	for _, images := range []int{7, 9} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "dataset.json"), []byte(`{"name": "eyes", "classes": ["disc"], "raters": ["a", "b", "left", "any"]}`))
		for i := range images {
			name := fmt.Sprintf("eye%02d.png", i)
			put(t, filepath.Join(dir, "images", name), pngOf(t, image.NewGray(image.Rect(0, 0, 80, 70))))
			for m, rater := range []string{"a", "b", "left", "any"} {
				mask := image.NewGray(image.Rect(0, 0, 80, 70))
				for y := 10; y < 50+m%2; y++ {
					for x := 20; x < 60; x++ {
						side := []int{x - 20, y - 10, 59 - x, 49 - y}[i%4]
						if !(rater == "left" && x < 30 || rater == "any" && side < 10) {
							mask.SetGray(x, y, color.Gray{255})
						}
					}
				}
				put(t, filepath.Join(dir, "raters", rater, "disc", name), pngOf(t, mask))
			}
		}
		r := check(t, dir)
		require.False(t, r.Failed(), r.Findings)
		if found := findingsOf(t, r, dir, KindDirection); images < 8 {
			assert.Empty(t, found)
			assert.Equal(t, "+11.0 [n = 7]", r.Figures[2].Displaced.X.Text("%+.*f", 100, 1))
		} else {
			assert.Equal(t, []string{"rater left, disc: +5.0, -0.3 pixels to the right and down from the others' majority, in % of its diameter +11.0 [+10.8, +11.1] and -0.7 [-1.0, +0.0]: " +
				"train with orientation upright; otherwise views are mirrored, and left is right"}, found)
		}
	}
}

func TestCheckOfImages(t *testing.T) {
	dir := write(t, 6)
	grey := image.NewGray(image.Rect(0, 0, sampleW, sampleH))
	grey.Pix[3] = 9
	put(t, filepath.Join(dir, "images", name(1)+".png"), pngOf(t, grey))
	blank := image.NewRGBA(image.Rect(0, 0, 200, 90))
	for i := range 200 * 90 {
		blank.Set(i%200, i/200, color.RGBA{1, 2, 3, 255})
	}
	put(t, filepath.Join(dir, "images", "long.png"), pngOf(t, blank))
	for _, rater := range []string{"a", "b", "c"} {
		dot := image.NewGray(blank.Rect)
		put(t, filepath.Join(dir, "raters", rater, "disc", "long.png"), pngOf(t, dot))
		put(t, filepath.Join(dir, "raters", rater, "cup", "long.png"), pngOf(t, dot))
	}
	r := check(t, dir)
	assert.Equal(t, []string{filepath.Join("images", "eye01.png") + ": is grey; 6 of 7 images are in colour"}, findingsOf(t, r, dir, KindColour))
	assert.Equal(t, []string{filepath.Join("images", "long.png") + ": is of one colour, 1,2,3"}, findingsOf(t, r, dir, KindBlank))
	sizes := findingsOf(t, r, dir, KindSize)
	require.Len(t, sizes, 7)
	assert.Contains(t, sizes[6], "long.png: is 200×90 pixels; more than half")

	few := write(t, 2)
	for i := range 2 {
		for _, rater := range []string{"a", "b", "c"} {
			put(t, maskPath(few, rater, "cup", i), pngOf(t, maskOf(image.Rect(9, 9, 10, 10))))
		}
	}
	r = check(t, few)
	assert.Equal(t, []string{"fewer than 5 images: none is held out, and nothing can be measured"}, findingsOf(t, r, few, KindSplit))
	small := findingsOf(t, r, few, KindSmall)
	require.Len(t, small, 1)
	assert.Contains(t, small[0], "the cup covers 0.052 % of an image, 8.5 pixels at 128²")
}

// Masks of other values are read if their meaning is plain, and otherwise refused with advice.
// Check reports a class that nobody marked.
func TestCheckOfMaskValues(t *testing.T) {
	masks := map[string]struct {
		of    image.Image
		found string // error or warning
		bad   bool
	}{
		"of 1":         {grey8(1), "holds 0 and 1, and is read as 0 and 255", false},
		"16 bits of 1": {grey16(1), "holds 0 and 1, and is read as 0 and 255", false},
		"16 bits":      {grey16(65535), "", false},
		"255 in 16":    {grey16(255), "", false},
		"labels":       {grey8(1, 2, 3), "holds 0, 1, 2, 3 (1 at x 12, y 12); a mask is 0 outside and 255 inside: these are labels; write a mask for each class", true},
		"deep labels":  {grey16(1, 2), "these are labels", true},
		"soft":         {grey8(255, 128), "set it to 0 below 128", true},
		"colours":      {coloured(), "is coloured (200,0,0 at x 12, y 12); a mask is grey", true},
		"RGB":          {repainted(grey8(255), image.NewRGBA(image.Rect(0, 0, sampleW, sampleH))), "", false},
		"deep RGB":     {repainted(grey8(255), image.NewRGBA64(image.Rect(0, 0, sampleW, sampleH))), "", false},
		"palette":      {repainted(grey8(255), image.NewPaletted(image.Rect(0, 0, sampleW, sampleH), color.Palette{color.White, color.Black})), "", false},
		"numbers":      {labels(1), "holds 0 and 1, and is read as 0 and 255", false},
		"two numbers":  {labels(1, 2), "holds 0, 1, 2 (1 at x 12, y 12); a mask is 0 outside and 255 inside: these are labels", true},
		"opacity":      {inOpacity(), "this mask has transparent pixels; save it without transparency: 255 inside, 0 outside", true},
		"black":        {labels(3, 4), "this mask has transparent pixels", true},
	}
	dir := write(t, 6)
	for name, c := range masks {
		put(t, maskPath(dir, "b", "cup", 1), pngOf(t, c.of))
		r := check(t, dir)
		assert.Equal(t, c.bad, r.Failed(), name)
		if kind := map[bool]string{true: KindFault, false: KindValues}[c.bad]; c.found == "" {
			assert.Empty(t, findingsOf(t, r, dir, kind), name)
		} else if found := findingsOf(t, r, dir, kind); assert.Len(t, found, 1, name) {
			assert.Contains(t, found[0], c.found, name)
		}
		if !c.bad {
			d, err := Open(dir)
			require.NoError(t, err)
			l, err := Load(d.Cases[1])
			require.NoError(t, err)
			marked := 0
			for _, v := range l.Masks[1][1] {
				marked += int(v)
			}
			assert.Equal(t, 9, marked, name)
		}
	}
	for i := range 6 {
		for _, rater := range []string{"a", "b", "c"} {
			put(t, maskPath(dir, rater, "cup", i), pngOf(t, image.NewGray(image.Rect(0, 0, sampleW, sampleH))))
		}
	}
	r := check(t, dir)
	assert.False(t, r.Failed())
	require.Len(t, findingsOf(t, r, dir, KindNoMarks), 1)
	assert.Contains(t, findingsOf(t, r, dir, KindNoMarks)[0], "all 18 masks of the cup are empty")
}

// grey8 is a picture of 0 with a square of 3×3 pixels that have the given values in turn.
func grey8(values ...uint8) image.Image {
	m := image.NewGray(image.Rect(0, 0, sampleW, sampleH))
	for i := range 9 {
		m.SetGray(12+i%3, 12+i/3, color.Gray{values[i%len(values)]})
	}
	return m
}

func grey16(values ...uint16) image.Image {
	m := image.NewGray16(image.Rect(0, 0, sampleW, sampleH))
	for i := range 9 {
		m.SetGray16(12+i%3, 12+i/3, color.Gray16{values[i%len(values)]})
	}
	return m
}

// repainted is a picture in another form.
func repainted(m image.Image, into draw.Image) image.Image {
	draw.Draw(into, into.Bounds(), m, image.Point{}, draw.Src)
	return into
}

// labels are numbers of red and green, as labelling tools write them (the VOC palette of
// labelme.utils.lblsave and CVAT's "Segmentation mask").
func labels(numbers ...uint8) image.Image {
	m := image.NewPaletted(image.Rect(0, 0, sampleW, sampleH), color.Palette{color.Black, color.RGBA{R: 128, A: 255}, color.RGBA{G: 128, A: 255}, color.Black, color.Transparent})
	for i := range 9 {
		m.SetColorIndex(12+i%3, 12+i/3, numbers[i%len(numbers)])
	}
	return m
}

// inOpacity is a black picture whose opacity is the mark.
func inOpacity() image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, sampleW, sampleH))
	for i := range 9 {
		m.SetNRGBA(12+i%3, 12+i/3, color.NRGBA{A: 255})
	}
	return m
}

func coloured() image.Image {
	m := image.NewRGBA(image.Rect(0, 0, sampleW, sampleH))
	for i := range sampleW * sampleH {
		m.Set(i%sampleW, i/sampleW, color.Black)
	}
	m.Set(12, 12, color.RGBA{R: 200, A: 255})
	return m
}

// A mask may be .PNG, an image may have no extension and points in its name, and two masks of one
// image are an error.
func TestNames(t *testing.T) {
	dir := write(t, 5)
	rename := func(from, to string) {
		require.NoError(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)))
	}
	rename("raters/a/disc/eye00.png", "raters/a/disc/eye00.PNG")
	rename("images/eye01.png", "images/CT.1.2.840.3")
	for _, rater := range []string{"a", "b", "c"} {
		for _, class := range []string{"disc", "cup"} {
			rename("raters/"+rater+"/"+class+"/eye01.png", "raters/"+rater+"/"+class+"/CT.1.2.840.3.png")
		}
	}
	d, err := Open(dir)
	require.NoError(t, err)
	assert.Equal(t, "CT.1.2.840.3", d.Cases[0].Name)
	assert.Empty(t, d.Missing)
	assert.Equal(t, "eye00.PNG", filepath.Base(MaskFile(filepath.Join(dir, "raters", "a", "disc"), "eye00")))
	put(t, filepath.Join(dir, "raters", "a", "disc", "eye00.png"), pngOf(t, grey8(255)))
	if _, err = Open(dir); err == nil {
		t.Skip("this file system ignores the case of names")
	}
	assert.ErrorContains(t, err, "eye00.png: there is also eye00.PNG; one image has one mask")
}
