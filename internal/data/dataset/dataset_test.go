package dataset

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/tiff"

	"mrprism/internal/files/nifti"
)

const sampleW, sampleH = 48, 40

// write makes a sound dataset of n images, classes disc and cup, raters a, b and c. In image i
// rater r marks as disc the rectangle from (10+i, 8) to (30+i, 28+r) and as cup its inner quarter.
func write(t testing.TB, n int) string {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "dataset.json"), []byte(`{"name":"eyes","classes":["disc","cup"],"raters":["a","b","c"],"images":7}`))
	for i := range n {
		m := image.NewRGBA(image.Rect(0, 0, sampleW, sampleH))
		for y := range sampleH {
			for x := range sampleW {
				m.Set(x, y, color.RGBA{uint8(5 * x), uint8(6 * y), uint8(40 * i), 255})
			}
		}
		put(t, filepath.Join(dir, "images", name(i)+".png"), pngOf(t, m))
		for r, rater := range []string{"a", "b", "c"} {
			disc, cup := discOf(i, r)
			put(t, maskPath(dir, rater, "disc", i), pngOf(t, maskOf(disc)))
			put(t, maskPath(dir, rater, "cup", i), pngOf(t, maskOf(cup)))
		}
	}
	return dir
}

func name(i int) string { return fmt.Sprintf("eye%02d", i) }

func maskPath(dir, rater, class string, i int) string {
	return filepath.Join(dir, "raters", rater, class, name(i)+".png")
}

func discOf(i, r int) (disc, cup image.Rectangle) {
	disc = image.Rect(10+i, 8, 30+i, 28+r)
	return disc, image.Rect(15+i, 13, 25+i, 23)
}

func maskOf(r image.Rectangle) image.Image {
	m := image.NewGray(image.Rect(0, 0, sampleW, sampleH))
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			m.Set(x, y, color.White)
		}
	}
	return m
}

func pngOf(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

func put(t testing.TB, path string, data []byte) {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

func TestOpenAndLoad(t *testing.T) {
	dir := write(t, 11)
	put(t, filepath.Join(dir, "images", ".DS_Store"), []byte("x"))
	d, err := Open(dir)
	require.NoError(t, err)
	assert.Equal(t, "eyes", d.Name)
	assert.Equal(t, []string{"disc", "cup"}, d.Classes)
	assert.False(t, d.Levels)
	assert.Empty(t, d.Missing)
	require.Len(t, d.Cases, 11)
	var held []string
	for _, c := range d.HeldOut() {
		held = append(held, c.Name)
	}
	assert.Equal(t, []string{"eye04", "eye09"}, held)
	assert.Len(t, d.Training(), 9)
	l, err := Load(d.Cases[3])
	require.NoError(t, err)
	for r := range 3 {
		disc, cup := discOf(3, r)
		for k, want := range []image.Rectangle{disc, cup} {
			for y := range sampleH {
				for x := range sampleW {
					require.Equal(t, image.Pt(x, y).In(want), l.Masks[r][k][y*sampleW+x] == 1)
				}
			}
		}
	}
	assert.Len(t, l.Given(1), 3)
	calls := 0
	all, left, err := LoadSound(t.Context(), d.Cases, func(done, total int) {
		calls++
		assert.Equal(t, calls, done)
		assert.Equal(t, 11, total)
	})
	require.NoError(t, err)
	require.Empty(t, left)
	assert.Equal(t, "eye10", all[10].Name)

	ctx, cancel := context.WithCancel(t.Context())
	calls = 0
	all, left, err = LoadSound(ctx, d.Cases, func(done, total int) {
		calls++
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.LessOrEqual(t, calls, runtime.GOMAXPROCS(0), "none is begun after that")
	assert.Empty(t, all)
	assert.Empty(t, left)
}

func TestMissingMaskIsMissingLabel(t *testing.T) {
	dir := write(t, 3)
	gone := maskPath(dir, "b", "cup", 1)
	require.NoError(t, os.Remove(gone))
	d, err := Open(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{gone}, d.Missing)
	l, err := Load(d.Cases[1])
	require.NoError(t, err)
	assert.Nil(t, l.Masks[1][1])
	assert.NotNil(t, l.Masks[1][0])
	assert.Len(t, l.Given(1), 2)
}

// Votes needs every agreement level. Of raters it counts those who marked. A case without votes has
// no anchor.
func TestVotes(t *testing.T) {
	dir := write(t, 3)
	require.NoError(t, os.Remove(maskPath(dir, "b", "disc", 1)))
	for labels, counted := range map[string]bool{LabelsRaters: true, LabelsLevels: false} {
		put(t, filepath.Join(dir, "dataset.json"), []byte(`{"classes":["disc","cup"],"raters":["a","b","c"],"labels":"`+labels+`"}`))
		d, err := Open(dir)
		require.NoError(t, err)
		l, err := Load(d.Cases[1])
		require.NoError(t, err)
		votes, ok := l.Votes(0)
		require.Equal(t, counted, ok, labels)
		s, err := newSample(l, 0)
		require.NoError(t, err)
		assert.Equal(t, counted, s.anchored, labels)
		assert.Equal(t, counted, s.disc.radius > 0, labels)
		if counted {
			assert.Equal(t, 2, votes.Raters)
			assert.Equal(t, []uint16{2, 1, 0}, []uint16{votes.Count[20*sampleW+20], votes.Count[29*sampleW+20], votes.Count[31*sampleW+20]}, "a ends at 28, c at 30")
		}
		votes, ok = l.Votes(1)
		require.True(t, ok, "the cup has all three masks")
		assert.Equal(t, 3, votes.Raters)
	}
}

// Open names every fault with its file, all at once.
func TestOpenNamesEveryFault(t *testing.T) {
	dir := write(t, 4)
	small := image.NewGray(image.Rect(0, 0, 8, 9))
	put(t, maskPath(dir, "a", "disc", 0), pngOf(t, small))
	put(t, maskPath(dir, "a", "cup", 2), []byte("this was an image once"))
	put(t, filepath.Join(dir, "raters", "zoe", "disc", "eye00.png"), pngOf(t, small))
	put(t, filepath.Join(dir, "raters", "b", "rim", "eye00.png"), pngOf(t, small))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "raters", "c", "cup")))
	put(t, maskPath(dir, "a", "disc", 77), pngOf(t, small))
	put(t, filepath.Join(dir, "raters", "a", "disc", "eye01.jpg"), []byte("x"))
	put(t, filepath.Join(dir, "images", "eye03.jpg"), []byte("x"))
	put(t, filepath.Join(dir, "images", "notes.txt"), []byte("x"))
	_, err := Open(dir)
	var problems Problems
	require.ErrorAs(t, err, &problems)
	for _, want := range []string{
		filepath.Join("a", "disc", "eye00.png") + ": the mask is 8×9 pixels but",
		filepath.Join("a", "cup", "eye02.png") + ": this is a text file",
		filepath.Join("raters", "zoe") + ": dataset.json names no such rater",
		filepath.Join("b", "rim") + ": dataset.json names no such class",
		filepath.Join("c", "cup") + ": the class is in dataset.json but has no folder",
		filepath.Join("a", "disc", "eye77.png") + ": there is no image of this name",
		filepath.Join("a", "disc", "eye01.jpg") + ": masks are .png files",
		filepath.Join("images", "eye03.png") + ": there is also eye03.jpg",
		filepath.Join("images", "notes.txt") + ": not an image",
	} {
		assert.Contains(t, err.Error(), want)
		assert.Equal(t, 1, strings.Count(err.Error(), want))
	}
	assert.GreaterOrEqual(t, len(problems), 9)
}

// The text of many faults lists ten of them and the number of the others.
func TestProblemsAreTenAtMost(t *testing.T) {
	var p Problems
	for i := range 12 {
		p.add("fault %d.", i)
	}
	assert.Contains(t, p[:10].Error(), "fault 9.")
	assert.NotContains(t, p[:10].Error(), "more")
	assert.Contains(t, p.Error(), "12 problems")
	assert.Contains(t, p.Error(), "fault 9.\n  … and 2 more")
	assert.NotContains(t, p.Error(), "fault 10.")
}

func TestOpenRefuses(t *testing.T) {
	cases := map[string]struct {
		spoil func(t *testing.T, dir string)
		says  string
	}{
		"rater absent": {func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "raters", "b")))
		}, "the rater is in dataset.json but has no folder"},
		"rater empty": {func(t *testing.T, dir string) {
			for i := range 2 {
				for _, class := range []string{"disc", "cup"} {
					require.NoError(t, os.Remove(maskPath(dir, "b", class, i)))
				}
			}
		}, "b: no masks"},
		"image without masks": {func(t *testing.T, dir string) {
			for _, rater := range []string{"a", "b", "c"} {
				require.NoError(t, os.Remove(maskPath(dir, rater, "disc", 1)))
			}
		}, "eye01.png: no rater has marked the disc in it"},
		"no description": {func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "dataset.json")))
		}, "dataset.json: cannot be read"},
		"not JSON": {func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "dataset.json"), []byte("{\n\"raters\": [\"a\"],\n}"))
		}, "not valid JSON, line 3: "},
		"no classes": {func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "dataset.json"), []byte(`{"raters":["a"]}`))
		}, "classes is empty"},
		"path as name": {func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "dataset.json"), []byte(`{"classes":["../up"],"raters":["a","a"]}`))
		}, `"../up" is not letters`},
		"name that no model can bear": {func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "dataset.json"), []byte(`{"classes":["disc","cup"],"raters":["a","b","Dr. Müller"]}`))
		}, `raters: "Dr. Müller" is not letters (a to z), digits, hyphens and underscores; rename it`},
		"unknown labels": {func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "dataset.json"), []byte(`{"classes":["disc","cup"],"raters":["a","b","c"],"labels":"votes"}`))
		}, `labels is "votes"`},
		"no images": {func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "images")))
		}, "images: cannot be read"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := write(t, 2)
			c.spoil(t, dir)
			_, err := Open(dir)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.says)
		})
	}
	_, err := Open()
	assert.Error(t, err)
}

// Load finds the faults that only the pixels show, all of them.
func TestLoadSoundNamesEveryFault(t *testing.T) {
	dir := write(t, 3)
	grey := image.NewGray(image.Rect(0, 0, sampleW, sampleH))
	grey.Pix[5], grey.Pix[6] = 1, 2
	put(t, maskPath(dir, "a", "disc", 0), pngOf(t, grey))
	sound, err := os.ReadFile(maskPath(dir, "b", "cup", 2))
	require.NoError(t, err)
	put(t, maskPath(dir, "b", "cup", 2), sound[:len(sound)-20])
	var photo bytes.Buffer
	require.NoError(t, jpeg.Encode(&photo, grey, nil))
	require.NoError(t, os.Remove(filepath.Join(dir, "images", "eye01.png")))
	put(t, filepath.Join(dir, "images", "eye01.jpg"), photo.Bytes()[:photo.Len()-9])
	d, err := Open(dir)
	require.NoError(t, err, "headers are sound")
	_, left, err := LoadSound(t.Context(), d.Cases, nil)
	require.NoError(t, err)
	require.NotEmpty(t, left)
	for _, want := range []string{
		filepath.Join("a", "disc", "eye00.png") + ": holds 0, 1, 2 (1 at x 5, y 0)",
		filepath.Join("b", "cup", "eye02.png") + ": this PNG is damaged",
		filepath.Join("images", "eye01.jpg") + ": this JPEG is damaged",
	} {
		assert.Contains(t, left.Error(), want)
	}
}

func TestMixing(t *testing.T) {
	a, b := write(t, 10), write(t, 6)
	// The second folder lacks one image: its every fifth image is another one than in the first.
	require.NoError(t, os.Remove(filepath.Join(b, "images", "eye00.png")))
	for _, rater := range []string{"a", "b", "c"} {
		for _, class := range []string{"disc", "cup"} {
			require.NoError(t, os.Remove(maskPath(b, rater, class, 0)))
		}
	}
	d, err := Open(a, b)
	require.NoError(t, err)
	assert.Equal(t, "eyes+eyes", d.Name)
	assert.Len(t, d.Cases, 15)
	held := map[string]bool{}
	for _, c := range d.HeldOut() {
		held[c.Name] = true
	}
	assert.Equal(t, map[string]bool{"eye04": true, "eye09": true, "eye05": true}, held)
	for _, c := range d.Training() {
		assert.False(t, held[c.Name], "%s is held out in one of the folders", c.Name)
	}
	assert.Len(t, d.Training(), 7+3)
	other := write(t, 5)
	put(t, filepath.Join(other, "dataset.json"), []byte(`{"classes":["disc","cup"],"raters":["a","b","c"],"labels":"agreement-levels"}`))
	_, err = Open(a, other)
	require.Error(t, err)
	assert.Contains(t, err.Error(), "only data sets with equal classes, raters and labels can be mixed")
}

// A case that OpenSound leaves out stays held out. If one eye is in two folders, as a crop and as a
// photograph, training uses neither.
func TestHeldOutThoughLeftOut(t *testing.T) {
	a, b := write(t, 10), write(t, 4)
	for _, rater := range []string{"a", "b", "c"} {
		for _, class := range []string{"disc", "cup"} {
			require.NoError(t, os.Rename(maskPath(b, rater, class, 0), maskPath(b, rater, class, 4)))
		}
	}
	require.NoError(t, os.Rename(filepath.Join(b, "images", name(0)+".png"), filepath.Join(b, "images", name(4)+".png")))
	put(t, filepath.Join(a, "images", name(4)+".png"), []byte("a text"))
	d, left, err := OpenSound(a, b)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Len(t, d.HeldOut(), 1)
	for _, c := range d.Training() {
		assert.NotEqual(t, name(4), c.Name, "held out in the first folder")
	}
	assert.Len(t, d.Training(), 8+3)
}

// These are the data of the shipped weights, if they are present.
func TestRealData(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..", "shared", "data")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no real data: %v", err)
	}
	for _, c := range []struct {
		folders []string
		cases   int
		held    int
		levels  bool
	}{
		{[]string{"drishti-gs1-crop", "drishti-gs1-full"}, 100, 20, true},
		{[]string{"qubiq-brain-growth"}, 34, 6, false},
		{[]string{"bubil-cells"}, 82, 16, false},
	} {
		var dirs []string
		for _, f := range c.folders {
			dirs = append(dirs, filepath.Join(root, f))
		}
		d, err := Open(dirs...)
		require.NoError(t, err)
		assert.Len(t, d.Cases, c.cases)
		assert.Len(t, d.HeldOut(), c.held)
		assert.Len(t, d.Training(), c.cases-c.held)
		assert.Equal(t, c.levels, d.Levels)
		_, left, err := LoadSound(t.Context(), d.HeldOut(), nil)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

// An image may have any format that holds one picture, also of 16 bits. A volume is refused.
func TestImagesOfOtherFormats(t *testing.T) {
	dir := write(t, 3)
	image0 := filepath.Join(dir, "images", "eye00")
	require.NoError(t, os.Remove(image0+".png"))
	deep := image.NewGray16(image.Rect(0, 0, sampleW, sampleH))
	for i := range sampleW * sampleH {
		deep.SetGray16(i%sampleW, i/sampleW, color.Gray16{Y: uint16(30 * i)})
	}
	var page bytes.Buffer
	require.NoError(t, tiff.Encode(&page, deep, nil))
	planes := [][]uint8{make([]uint8, sampleW*sampleH), make([]uint8, sampleW*sampleH)}
	planes[0][7] = 255
	one, err := nifti.Encode(sampleW, sampleH, nil, [2]float64{}, "", planes[:1], false)
	require.NoError(t, err)
	two, err := nifti.Encode(sampleW, sampleH, nil, [2]float64{}, "", planes, false)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		data []byte
		says string
	}{".tif": {page.Bytes(), ""}, ".png": {pngOf(t, deep), ""}, ".nii.gz": {one, ""}, ".nii": {two, "holds 2 pictures, and an image is one"}} {
		put(t, image0+name, c.data)
		d, err := Open(dir)
		if c.says != "" {
			require.ErrorContains(t, err, image0+name+": "+c.says)
		} else {
			require.NoError(t, err, name)
			require.Equal(t, "eye00", d.Cases[0].Name)
			l, err := Load(d.Cases[0])
			require.NoError(t, err, name)
			assert.Greater(t, slices.Max(l.Image.Pix), uint8(200), name)
		}
		require.NoError(t, os.Remove(image0+name))
	}
}
