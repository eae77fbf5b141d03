//go:build !js

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/data/dataset"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// found writes the session of a person who found squares of 10 pixels, with corners at, in an image
// of 1100 × 60 pixels, and has no mask.
func found(t *testing.T, folder, person string, picture []byte, at ...image.Point) {
	labels := image.NewGray16(image.Rect(0, 0, 1100, 60))
	objects := []map[string]any{}
	for n, corner := range at {
		for i := range 100 {
			labels.Pix[2*((corner.Y+i/10)*1100+corner.X+i%10)+1] = uint8(n + 1)
		}
		objects = append(objects, map[string]any{"number": n + 1, "by": "you", "disagreement": 0, "doubt": nil})
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(picture))
	reading := map[string]any{"image": map[string]any{"sha256": sum, "name": "field.png"}, "decided": "2026-11-30", "result": map[string]any{"classes": []string{"cell"}}}
	if at != nil {
		reading["field"] = map[string]any{"class": "cell", "file": "fields/1_1.png", "changed": true, "objects": objects}
	} else {
		reading["review"] = "accepted"
	}
	text, err := json.Marshal(map[string]any{"format": "MrPrism session", "version": 1, "grader": person, "saved": "1", "readings": []any{reading}})
	require.NoError(t, err)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, data := range map[string][]byte{"session.json": text, "fields/1_1.png": encoded(t, labels), "images/" + sum + ".png": picture} {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, person+".mrprism"), b.Bytes(), 0o644))
}

// Sessions with objects, and without a mask, come together: who found what, how alike it is,
// everybody's outlines and the fused ones, tables and data sets.
func TestFieldsComeTogether(t *testing.T) {
	folder := t.TempDir()
	in := filepath.Join(folder, "in")
	a, b, c := image.Pt(10, 10), image.Pt(20, 10), image.Pt(500, 30)
	picture := photograph(t, 1)
	found(t, in, "ann", picture, a, b, c)
	found(t, in, "ben", picture, a, b.Add(image.Pt(0, 2)), image.Pt(900, 40)) // IoU 80/120
	found(t, in, "eve", picture, a, c)
	all := events(t, folder, "show field", "report", "crops")
	counted := find(t, all, func(e event) bool { return e.Objects != nil }).Objects
	require.Len(t, counted, 2)
	whole := counted[0]
	assert.Equal(t, []any{"", "cell", 4, 1, 2, 1}, []any{whole.Image, whole.Class, whole.Objects, whole.All, whole.Some, whole.One})
	assert.Equal(t, "field", counted[1].Image)
	figures := func(c *couple) []any {
		var all []any
		for _, v := range []*float64{c.PQ, c.F1, c.Strict, c.Dice} {
			all = append(all, fmt.Sprintf("%.4f", *v))
		}
		return append([]any{c.A, c.B, c.Matched}, all...)
	}
	assert.Equal(t, []any{"ann", "ben", 2, "0.5556", "0.6667", "0.3333", "0.9000"}, figures(whole.Pairs[0]))
	assert.Equal(t, []any{"ann", "eve", 2, "0.8000", "0.8000", "0.8000", "1.0000"}, figures(whole.Pairs[1]))
	assert.Equal(t, []any{"ben", "eve", 1, "0.4000", "0.4000", "0.4000", "1.0000"}, figures(whole.Pairs[2]))
	assert.Equal(t, "\ufeffimage,structure,objects,by_all,by_some,by_one\r\n,cell,4,1,2,1\r\nfield,cell,4,1,2,1\r\n", string(content(t, folder, "agreement/objects.csv")))
	assert.Contains(t, string(content(t, folder, "agreement/object-pairs.csv")), "field,cell,ann,ben,2,0.5556,0.6667,0.3333,0.9000\r\n")

	shown := find(t, all, func(e event) bool { return e.Shown != nil }).Shown
	assert.Equal(t, []string{"ann", "ben", "eve", ":majority", ":staple"}, shown.Marks["cell"])
	values := content(t, folder, "shown/cell")
	inside := func(from, x, y int) byte {
		return values[from*shown.W*shown.H+y*shown.H/60*shown.W+x*shown.W/1100]
	}
	assert.Equal(t, []byte{255, 0, 255, 0, 255}, []byte{inside(0, 12, 15), inside(0, 5, 15), inside(0, 25, 15), inside(2, 25, 15), inside(3, 25, 15)})
	seams := bytes.Count(values[:shown.W*shown.H], []byte{seam})
	assert.Greater(t, seams, 5, "where two cells touch")
	assert.Equal(t, 255, int(inside(3, 905, 45)), "what one person found is fused too")

	set, err := dataset.Open(filepath.Join(folder, "data"))
	require.NoError(t, err)
	assert.Len(t, set.Cases, 4)
	events(t, folder, "fields")
	set, err = dataset.Open(filepath.Join(folder, "data"))
	require.NoError(t, err)
	assert.Equal(t, []string{"cell", "core"}, set.Classes)
}

// Where one person alone found objects there is nothing to match. Nobody's may be the answer too.
func TestFieldsOfOnePerson(t *testing.T) {
	folder := t.TempDir()
	picture := photograph(t, 1)
	found(t, filepath.Join(folder, "in"), "ann", picture, image.Pt(10, 10))
	found(t, filepath.Join(folder, "in"), "ben", picture)
	all := events(t, folder, "show field")
	assert.Nil(t, find(t, all, func(e event) bool { return e.Agreement != nil && e.Cases != nil }).Objects)
	for _, e := range all {
		assert.Nil(t, e.Objects)
	}
	assert.NotNil(t, find(t, all, func(e event) bool { return e.Shown != nil }))
	assert.NoFileExists(t, filepath.Join(folder, "agreement", "objects.csv"))
}

// People may agree that there is none.
func TestFieldsWithoutObjects(t *testing.T) {
	folder := t.TempDir()
	for _, person := range []string{"ann", "ben"} {
		found(t, filepath.Join(folder, "in"), person, photograph(t, 1), make([]image.Point, 0)...)
	}
	all := events(t, folder, "show field", "crops")
	counted := find(t, all, func(e event) bool { return e.Objects != nil }).Objects
	assert.Equal(t, []any{0, 0}, []any{counted[0].Objects, counted[0].Pairs[0].Matched})
	assert.Nil(t, counted[0].Pairs[0].PQ)
	assert.NotEmpty(t, find(t, all, func(e event) bool { return e.Doing == "crops" }).Failed)
}
