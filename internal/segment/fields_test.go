//go:build !js

package segment_test

import (
	"context"
	"image"
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/instances"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
	_ "mrprism/weights/shipped"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shipped is the engine of a shipped model.
func shipped(t *testing.T, name string) *segment.Engine {
	m, err := weights.Load(name)
	require.NoError(t, err)
	d, err := device.Open(t.Context(), device.Processor, device.Options{})
	require.NoError(t, err)
	e, err := segment.New(t.Context(), d, m, "")
	require.NoError(t, err)
	t.Cleanup(func() {
		e.Close()
		require.NoError(t, d.Close())
	})
	return e
}

func TestFieldOfCells(t *testing.T) {
	e, img := shipped(t, "cells"), imageio.Convert(segmenttest.Cells())
	stages := map[string]int{}
	o := segment.Options{Recurrences: segment.Trained, Progress: func(stage string, done, total int) {
		require.Less(t, done, total)
		stages[stage]++
	}}
	f, err := e.Field(t.Context(), img, o)
	require.NoError(t, err)
	assert.Len(t, f.Objects, len(segmenttest.CellCentres))
	assert.GreaterOrEqual(t, stages["outline"], 6)
	assert.Greater(t, stages["find"], 4)

	// A cell that was deleted is drawn again where a person clicks, under its number.
	c := segmenttest.CellCentres[2]
	number := f.At(c.X, c.Y)
	area := f.Find(number).Area
	f.Delete(number)
	square := imageio.Square{X: c.X - 93, Y: c.Y - 93, Side: 186}
	again, err := e.Object(t.Context(), img, f, square, number, o)
	require.NoError(t, err)
	assert.Equal(t, number, again)
	assert.InEpsilon(t, area, f.Find(again).Area, 0.15)
	again, err = e.Object(t.Context(), img, f, imageio.Square{X: 700, Y: 0, Side: 50}, 0, o)
	require.NoError(t, err)
	assert.Zero(t, again, "beside the picture there is nothing")

	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(stage string, done, _ int) {
		if stage == "outline" && done == 2 {
			cancel()
		}
	}
	_, err = e.Field(ctx, img, o)
	assert.ErrorIs(t, err, context.Canceled)

	f, err = e.Field(t.Context(), imageio.Convert(image.NewGray(image.Rect(0, 0, 50, 900))), segment.Options{})
	require.NoError(t, err)
	assert.Empty(t, f.Objects)
}

// What cells finds on fields of 25 cells each that it has not learned from, apart and touching.
// Found are cells that overlap an object (IoU) by a quarter; false are objects that overlap no cell so.
func TestFieldsOfHeldOutCells(t *testing.T) {
	const shared = "../../../shared/data/"
	if _, err := os.Stat(shared); err != nil || testing.Short() {
		t.Skip("no cells: ../shared/data is missing; or -short")
	}
	e := shipped(t, "cells")
	for _, c := range []struct {
		set         string
		touching    bool
		found, more float64 // at least, at most
	}{
		{"bubil-cells", false, .8, .12}, {"bubil-cells-2b", false, .95, .03}, {"bubil-cells", true, .8, .24}, {"bubil-cells-2b", true, .9, .04},
	} {
		folder := filepath.Join(t.TempDir(), "fields")
		require.NoError(t, synthetic.WriteFields(t.Context(), folder, synthetic.FieldSet{Sources: []string{shared + c.set}, Images: 20, Least: 25, Most: 25, Touching: c.touching, Seed: 5}))
		d, err := dataset.Open(folder)
		require.NoError(t, err)
		var cells, objects, found, dice float64
		for _, one := range d.HeldOut() {
			l, err := dataset.Load(one)
			require.NoError(t, err)
			f, err := e.Field(t.Context(), l.Image, segment.Options{Recurrences: segment.Trained})
			require.NoError(t, err)
			labels, err := os.ReadFile(filepath.Join(folder, "labels", one.Name+".png"))
			require.NoError(t, err)
			truth, err := instances.ReadPNG(labels, l.W, l.H, "cell")
			require.NoError(t, err)
			score := instances.Compare(truth, f, .25)
			cells, objects = cells+float64(len(truth.Objects)), objects+float64(len(f.Objects))
			found, dice = found+float64(score.Matched), dice+score.Dice*float64(score.Matched)
		}
		t.Logf("%s, touching %v: of %.0f cells %.1f %% are found, Dice %.1f; of %.0f objects %.1f %% are none", c.set, c.touching, cells, 100*found/cells, 100*dice/found, objects, 100-100*found/objects)
		assert.GreaterOrEqual(t, found/cells, c.found)
		assert.LessOrEqual(t, 1-found/objects, c.more)
	}
}
