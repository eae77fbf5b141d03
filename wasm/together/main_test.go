//go:build !js

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/study/agree"
	"mrprism/internal/study/fuse"
	"mrprism/internal/study/report"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// events are those of a program that was asked for these lines.
func events(t *testing.T, folder string, lines ...string) (all []event) {
	t.Helper()
	var out, said bytes.Buffer
	require.Equal(t, 0, run(t.Context(), []string{folder}, strings.NewReader(strings.Join(lines, "\n")), &out, &said), said.String())
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var e event
		require.NoError(t, decoder.Decode(&e))
		all = append(all, e)
	}
	return all
}

// find is the first event of a kind.
func find(t *testing.T, all []event, is func(e event) bool) event {
	t.Helper()
	for _, e := range all {
		if is(e) {
			return e
		}
	}
	require.Fail(t, "no such event", "%+v", all)
	return event{}
}

// A data set of two raters is listed, compared, shown and fused.
func TestBringsADataSetTogether(t *testing.T) {
	folder := t.TempDir()
	pair := synthetic.Scenario{Name: "pair", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}, {Name: "bob", Noise: 0.05, Bias: 0.3}}}
	require.NoError(t, synthetic.WriteDataset(t.Context(), filepath.Join(folder, "data"), pair, 2, 64, 1))
	names, err := os.ReadDir(filepath.Join(folder, "data", "images"))
	require.NoError(t, err)
	name := strings.TrimSuffix(names[0].Name(), filepath.Ext(names[0].Name()))
	all := events(t, folder, "show "+name, "fuse", "report", "show none")
	assert.Equal(t, []string{"ann", "bob"}, all[0].List.Raters)
	shown := find(t, all, func(e event) bool { return e.Shown != nil }).Shown
	for class, marks := range shown.Marks {
		assert.Equal(t, []string{"ann", "bob", ":majority", ":staple"}, marks)
		values, err := os.ReadFile(filepath.Join(folder, "shown", class))
		require.NoError(t, err)
		assert.Len(t, values, 4*64*64)
	}
	for _, name := range []string{"agreement/raters.json", "agreement/cases.csv", "fused/raters.csv"} {
		assert.FileExists(t, filepath.Join(folder, name))
	}
	page, err := os.ReadFile(filepath.Join(folder, "agreement", "raters.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "data:image/", "the images with the least agreement")
	assert.NotEmpty(t, find(t, all, func(e event) bool { return e.Doing == "show none" }).Failed)

	folder = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "in"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in", "cut.mrprism"), []byte("PK"), 0o644))
	var said bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{folder}, new(bytes.Buffer), io.Discard, &said))
	assert.Contains(t, said.String(), "cut.mrprism: is no whole session")
}

// mask is a PNG of a rectangle in a picture of w × h pixels; of other pixels it has a level.
func mask(t *testing.T, w, h int, inside image.Rectangle, level uint8) []byte {
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		if m.Pix[i] = level; (image.Point{i % w, i / w}).In(inside) {
			m.Pix[i] = 255
		}
	}
	return encoded(t, m)
}

func encoded(t *testing.T, m image.Image) []byte {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

// photograph is a picture that is larger than those of a data set.
func photograph(t *testing.T, n int) []byte {
	m := image.NewRGBA(image.Rect(0, 0, 1100, 60))
	for i := range 1100 * 60 {
		m.Set(i%1100, i/1100, color.RGBA{uint8(i * n), uint8(i % 1100 / 5), uint8(n), 255})
	}
	return encoded(t, m)
}

// written writes a session: the model's masks on each image, and a stroke on the cup of each, which
// differs from person to person.
func written(t *testing.T, path, grader, saved string, version int, images [][]byte, with map[int]bool, change func(name string, data []byte) []byte) {
	type fields = map[string]any
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, data []byte) {
		if change != nil {
			data = change(name, data)
		}
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write(data)
		require.NoError(t, err)
	}
	var readings []fields
	shift := int(grader[0]) % 7
	for i, data := range images {
		add(fmt.Sprintf("masks/%d_1.png", i), mask(t, 1100, 60, image.Rect(200, 5, 500+10*i, 55), 0))
		add(fmt.Sprintf("masks/%d_2.png", i), mask(t, 1100, 60, image.Rect(300, 20, 400, 40), 0))
		add(fmt.Sprintf("drawn/%d_1.png", i), mask(t, 40, 30, image.Rect(0, 0, 20+i, 10+shift), 128))
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		if with[i] {
			add("images/"+sum+".png", data)
		}
		readings = append(readings, fields{
			"image": fields{"sha256": sum, "name": fmt.Sprintf("eye-%d.png", i)}, "review": "accepted", "decided": "2026-11-28",
			"masks":  []fields{{"class": "disc", "file": fmt.Sprintf("masks/%d_1.png", i)}, {"class": "cup", "file": fmt.Sprintf("masks/%d_2.png", i)}},
			"drawn":  []fields{{"rater": "you", "class": "cup", "file": fmt.Sprintf("drawn/%d_1.png", i), "x": 380 + 3*shift, "y": 10}},
			"result": fields{"classes": []string{"disc", "cup"}},
		})
	}
	text, err := json.Marshal(fields{"format": "MrPrism session", "version": version, "grader": grader, "saved": saved, "readings": readings})
	require.NoError(t, err)
	add("session.json", text)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// Sessions that are read piece by piece have the figures that "evaluate raters" and "evaluate fuse"
// have of the data set that "train import" makes of them. What cannot be used is named.
func TestPiecesEqualTheWhole(t *testing.T) {
	folder := t.TempDir()
	in := filepath.Join(folder, "in")
	require.NoError(t, os.MkdirAll(in, 0o755))
	var images [][]byte
	with := map[int]bool{}
	for i := range 7 {
		images = append(images, photograph(t, i+1))
		with[i] = i > 0 && i < 6 // the first image is missing
	}
	changed := fmt.Sprintf("images/%x.png", sha256.Sum256(images[1]))
	written(t, filepath.Join(in, "ann.mrprism"), "Ann", "2", 1, images, with, func(name string, data []byte) []byte {
		if name == changed {
			return append(data, 0)
		}
		return data
	})
	written(t, filepath.Join(in, "older.mrprism"), "Ann", "1", 1, images[:3], nil, nil)
	written(t, filepath.Join(in, "ben.mrprism"), "Ben", "1", 1, images, nil, func(name string, data []byte) []byte {
		if name == "drawn/2_1.png" {
			return data[:len(data)-20]
		}
		return data
	})
	written(t, filepath.Join(in, "eve.mrprism"), "Eve", "1", 1, images[:5], nil, nil)
	written(t, filepath.Join(in, "new.mrprism"), "New", "1", 9, images, nil, nil)
	before := map[string][]byte{}
	for _, name := range []string{"ann", "ben", "eve"} {
		data, err := os.ReadFile(filepath.Join(in, name+".mrprism"))
		require.NoError(t, err)
		before[name] = data
	}

	// The last image lies beside the sessions, under a name that the page gives with its sum.
	require.NoError(t, os.WriteFile(filepath.Join(in, "left.png"), images[6], 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "sums.json"), fmt.Appendf(nil, `{"left.png": "%x"}`, sha256.Sum256(images[6])), 0o644))

	all := events(t, folder, "fuse", "save")
	assert.Equal(t, map[string]string{"Ann": "accepted", "Ben": "accepted", "Eve": "accepted"}, all[0].List.Images[0].Reviews)
	assert.Len(t, all[0].List.Images, 6)
	assert.Equal(t, "left", all[0].List.Images[5].Name)
	var text strings.Builder
	for _, s := range find(t, all, func(e event) bool { return e.Done == "compare" }).Skipped {
		fmt.Fprintf(&text, "%s: %s\n", strings.TrimPrefix(s.File, in+"/"), s.Reason)
	}
	for _, says := range []string{
		"new.mrprism: it was saved by a later MrPrism", "eye-0: the image with the SHA-256", "eye-1: its image has changed",
		"ben.mrprism, eye-2.png: cup: ", "older.mrprism, eye-2.png: the same person's later session ann.mrprism has it",
	} {
		assert.Contains(t, text.String(), says)
	}
	for name, data := range before {
		after, err := os.ReadFile(filepath.Join(in, name+".mrprism"))
		require.NoError(t, err)
		assert.Equal(t, data, after)
	}

	data, whole := filepath.Join(folder, "data"), t.TempDir()
	set, err := dataset.Open(data)
	require.NoError(t, err)
	study, err := agree.New(set, report.NewOrigin(""))
	require.NoError(t, err)
	require.NoError(t, study.Gather(t.Context(), func(string) {}))
	require.NoError(t, study.Report().Save(filepath.Join(whole, "agreement")))
	fused := fuse.New(set, set.Cases, fuse.Request{Out: filepath.Join(whole, "fused"), Methods: []fuse.Method{fuse.MeanVote, fuse.Majority, fuse.STAPLE, fuse.Edges}})
	require.NoError(t, fused.All(t.Context(), func(string, string) {}))
	require.NoError(t, fused.Save(nil))
	for _, name := range []string{"agreement/cases.csv", "agreement/pairs.csv", "agreement/limits.csv", "agreement/raters.csv", "fused/raters.csv"} {
		assert.Equal(t, string(content(t, whole, name)), string(content(t, folder, name)), name)
	}
	var pieces, of map[string]any
	require.NoError(t, json.Unmarshal(content(t, folder, "agreement/raters.json"), &pieces))
	require.NoError(t, json.Unmarshal(content(t, whole, "agreement/raters.json"), &of))
	delete(pieces, "made")
	delete(of, "made")
	assert.Equal(t, of, pieces)
	assert.EqualValues(t, 5, of["images"])
}

func content(t *testing.T, folder, name string) []byte {
	data, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err)
	return data
}

// "stop" ends the comparison, and the figures are of the images until then.
func TestStops(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, synthetic.WriteDataset(t.Context(), filepath.Join(folder, "data"), synthetic.Scenario{Name: "pair", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}, {Name: "bob", Noise: 0.05}}}, 40, 64, 1))
	done := find(t, events(t, folder, "stop"), func(e event) bool { return e.Done == "compare" })
	assert.True(t, done.Stopped)
	var said struct{ Images, Of int }
	require.NoError(t, json.Unmarshal(content(t, folder, "agreement/raters.json"), &said))
	assert.Equal(t, 40, said.Of)
	assert.Less(t, said.Images, 40)
}
