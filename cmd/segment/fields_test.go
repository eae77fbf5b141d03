package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/output/objects"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each cell of a field has a number, at its place, in the files and in the JSON.
func TestAllObjects(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	field := write(t, filepath.Join(dir, "field.png"), encodePNG(t, segmenttest.Cells()))
	black := write(t, filepath.Join(dir, "black.png"), encodePNG(t, image.NewGray(image.Rect(0, 0, 300, 200))))
	text := write(t, filepath.Join(dir, "text.png"), []byte("no picture"))
	r := call(t, "-weights", "cells", "-device", "processor", "-roi", "all", "-out", out, "-format", "labels-png,csv,geojson", text, field, black)
	require.Equal(t, 1, r.code, r.stderr)
	assert.Contains(t, r.stderr, "text.png")
	assert.Contains(t, r.stdout, "field.png: 6 cells; doubted ")
	assert.Contains(t, r.stdout, "black.png: no cell found\n")
	assert.Len(t, listed(t, out), 8)

	data, err := os.ReadFile(filepath.Join(out, "field_labels.png"))
	require.NoError(t, err)
	labels, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	data, err = os.ReadFile(filepath.Join(out, "field.json"))
	require.NoError(t, err)
	var entry fieldEntry
	require.NoError(t, json.Unmarshal(data, &entry))
	require.Len(t, entry.Objects, 6)
	seen := map[uint16]bool{}
	for _, at := range segmenttest.CellCentres {
		number := labels.(*image.Gray16).Gray16At(at.X, at.Y).Y
		require.NotZero(t, number, "%v", at)
		seen[number] = true
		o := entry.Objects[number-1]
		assert.Equal(t, number, o.Number)
		assert.InDelta(t, at.X, o.X, 6)
		assert.InDelta(t, at.Y, o.Y, 6)
		assert.InEpsilon(t, 6600, o.Area, 0.5)
		assert.NotNil(t, o.Doubt)
	}
	assert.Len(t, seen, 6)
	require.Len(t, entry.Files, 3)
	assert.Equal(t, "field_objects.geojson", entry.Files[2].File)

	r = call(t, "-weights", "cells", "-device", "processor", "-roi", "all", "-json", "-", "-quiet", black)
	require.Zero(t, r.code, r.stderr)
	assert.Contains(t, r.stdout, `"objects":[]`)
}

func TestAllObjectsOfWrongUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-weights", "fundus"}, "marks one disc a picture"},
		{[]string{"-weights", "cells", "-csv", "a.csv"}, "leave -csv"},
		{[]string{"-weights", "cells", "-slice", "all"}, "and -slice all out"},
		{[]string{"-weights", "cells", "-format", "png"}, "there are " + objects.Names()},
	} {
		r := call(t, append(c.args, "-roi", "all", "-out", t.TempDir(), "a.png")...)
		assert.Equal(t, 2, r.code)
		assert.Contains(t, r.stderr, c.want)
	}
}
