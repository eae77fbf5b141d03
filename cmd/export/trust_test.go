package main

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// agreed writes a data set of n photographs. The model's own masks are its marks: all results are
// right.
func agreed(t *testing.T, file string, n int) string {
	folder := t.TempDir()
	m, err := computing.Weights(file)
	require.NoError(t, err)
	d, err := device.Open(t.Context(), "processor", device.Options{})
	require.NoError(t, err)
	defer d.Close()
	e, err := segment.New(t.Context(), d, m, "")
	require.NoError(t, err)
	defer e.Close()
	put := func(path string, img image.Image) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		f, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, png.Encode(f, img))
		require.NoError(t, f.Close())
	}
	about := m.Metadata
	for i := range n {
		name := fmt.Sprintf("eye%02d.png", i)
		drawn := synthetic.Photograph(uint64(i), 64, 64)
		put(filepath.Join(folder, "images", name), drawn)
		img := &imageio.Image{W: 64, H: 64}
		for p := 0; p < len(drawn.Pix); p += 4 {
			img.Pix = append(img.Pix, drawn.Pix[p:p+3]...)
		}
		r, err := e.Segment(t.Context(), img, segment.Options{Recurrences: 3})
		require.NoError(t, err)
		for k, class := range about.Classes {
			mask := image.NewGray(image.Rect(0, 0, 64, 64))
			for p, v := range r.Probability(k) {
				if v > .5 {
					mask.Set(p%64, p/64, color.White)
				}
			}
			for _, rater := range about.Raters {
				put(filepath.Join(folder, "raters", rater, class, name), mask)
			}
		}
	}
	text := `{"classes": ["disc", "cup"], "raters": ["atleast1", "atleast2", "atleast3", "atleast4"], "labels": "agreement-levels"}`
	require.NoError(t, os.WriteFile(filepath.Join(folder, "dataset.json"), []byte(text), 0o644))
	return folder
}

// With -folds the file learns evidence, maps and intervals, from images that runs had set aside.
// Without -folds it learns evidence alone. The program says which.
func TestTrustIsLearned(t *testing.T) {
	folder := t.TempDir()
	about := segmenttest.Fundus()
	file, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	encoded, err := segmenttest.Encode(file)
	require.NoError(t, err)
	before, after := filepath.Join(folder, "before.safetensors"), filepath.Join(folder, "after.safetensors")
	require.NoError(t, os.WriteFile(before, encoded, 0o644))
	data := agreed(t, before, 23) // 19 to train on, and nine in the smaller fold
	args := []string{"-weights", before, "-data", data, "-ranges", after, "-device", "processor"}

	code, stdout, stderr := call(t, args...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stdout, "the signs of doubt of 19 training images")
	is, err := computing.Weights(after)
	require.NoError(t, err)
	known := is.Metadata.Trust
	require.NotNil(t, known)
	assert.Equal(t, 19, known.Images)
	assert.Len(t, known.Looks, 2)
	assert.Empty(t, known.Maps, "what the weights have seen says nothing of how far they are off")
	assert.Empty(t, known.Areas)
	assert.Nil(t, known.Ratio)

	written := func(name string, about weights.Metadata) string {
		file, err := segmenttest.Untrained(about)
		require.NoError(t, err)
		encoded, err := segmenttest.Encode(file)
		require.NoError(t, err)
		path := filepath.Join(folder, name+".safetensors")
		require.NoError(t, os.WriteFile(path, encoded, 0o644))
		return path
	}
	about.Data = filepath.Base(data) + "; every fifth image held out; 6 images trained on"
	second := written("second", about)
	about.Data = filepath.Base(data) + ", drawn; every fifth image held out; 9 images trained on"
	elsewhere := written("elsewhere", about)

	var names, halves []string
	for i := range 23 {
		names = append(names, fmt.Sprintf("eye%02d", i))
	}
	for i, s := range []dataset.Split{{Test: names[:12], Train: names[12:]}, {Test: names[12:], Train: names[:12]}, {Test: names[:1]}} {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		halves = append(halves, filepath.Join(folder, fmt.Sprintf("half%d.json", i)))
		require.NoError(t, os.WriteFile(halves[i], text, 0o644))
	}
	code, stdout, stderr = call(t, append(args, "-folds", before+"="+halves[0]+","+elsewhere+"="+halves[1])...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stdout, "from runs that had set them aside")
	assert.Regexp(t, `outlines of the disc, `+filepath.Base(data)+`: \d+ % of 23 patients, 0\.\d\d radii to each side\n`, stdout)
	is, err = computing.Weights(after)
	require.NoError(t, err)
	known = is.Metadata.Trust
	assert.Equal(t, 2, known.FoldsOf)
	assert.Contains(t, known.Maps, "disc")
	require.Contains(t, known.Areas, "disc")
	assert.InDelta(t, 0, known.Areas["disc"].High, .02, "the marks are its own masks")
	assert.Equal(t, .9, known.Areas["disc"].Coverage)
	require.Contains(t, known.Outlines, "disc")
	assert.Less(t, known.Outlines["disc"].High, .15, "a pixel")

	again := slices.Clone(args)
	again[slices.Index(again, before)] = after
	code, _, stderr = call(t, again...)
	require.Equal(t, cli.Done, code, stderr)
	kept, err := computing.Weights(after)
	require.NoError(t, err)
	assert.Equal(t, known.Maps, kept.Metadata.Trust.Maps, "what folds taught stays")
	assert.Equal(t, known.Areas, kept.Metadata.Trust.Areas)
	assert.Equal(t, known.Outlines, kept.Metadata.Trust.Outlines)

	one := t.TempDir() // one person marked this folder
	require.NoError(t, os.CopyFS(filepath.Join(one, "images"), os.DirFS(filepath.Join(data, "images"))))
	require.NoError(t, os.CopyFS(filepath.Join(one, "raters", "expert"), os.DirFS(filepath.Join(data, "raters", "atleast1"))))
	require.NoError(t, os.WriteFile(filepath.Join(one, "dataset.json"), []byte(`{"name": "one", "classes": ["disc", "cup"], "raters": ["expert"]}`), 0o644))
	both := []string{"-weights", before, "-data", data + "," + one, "-ranges", after, "-device", "processor"}
	code, _, stderr = call(t, both...)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, one+": one person marked it")
	about.Panels = []weights.Panel{{Name: filepath.Base(data), Shift: []float64{0, 0}, Weight: 1}, {Name: "one", Shift: []float64{0, 0}}}
	both[1] = written("panels", about)
	code, stdout, stderr = call(t, both...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stdout, "the signs of doubt of 38 training images")

	strange := written("strange", segmenttest.Raters())
	for want, more := range map[string][]string{
		"has other classes":  {"-folds", before + "," + strange},
		"for each of two":    {"-folds", before},
		"each of the 2 runs": {"-folds", before + "," + second + "=" + halves[1]},
		`both have "eye00"`:  {"-folds", before + "=" + halves[0] + "," + second + "=" + halves[2]},
		"was trained on " + filepath.Base(data) + ", drawn, and -data and -also are " + filepath.Base(data): {"-folds", before + "," + elsewhere},
		"none.safetensors": {"-folds", before + "," + filepath.Join(folder, "none.safetensors")},
		"no such file":     {"-also", filepath.Join(folder, "none")},
	} {
		code, _, stderr = call(t, append(args[:len(args):len(args)], more...)...)
		assert.Equal(t, cli.Failed, code)
		assert.Contains(t, stderr, want)
	}
	code, _, stderr = call(t, "-weights", before, "-onnx", filepath.Join(folder, "x.onnx"), "-folds", before)
	assert.Equal(t, cli.Usage, code)
	assert.Contains(t, stderr, "-folds has no effect on -onnx, but on -ranges")
}

// What is known of results holds without mirror images or with them, as it was learned.
func TestMirroredWeightsForgetWhatWasKnown(t *testing.T) {
	about := segmenttest.Fundus()
	about.Trust = &weights.Trust{Threshold: 1}
	file, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	encoded, err := segmenttest.Encode(file)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "known.safetensors")
	require.NoError(t, os.WriteFile(path, encoded, 0o644))
	for _, mirror := range []bool{true, false} {
		r := request{mirror: mirror, given: map[string]bool{"mirror": true}}
		m, err := r.open(path)
		require.NoError(t, err)
		_, named := m.File.Metadata["trust"]
		assert.Equal(t, !mirror, m.Metadata.Trust != nil)
		assert.Equal(t, !mirror, named)
	}
}
