package page

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"mrprism/internal/data/instances"
	"mrprism/shaders/gpu"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func wide(t *testing.T) []byte {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 80, 40))))
	return b.Bytes()
}

func TestObjectsAreFoundAndChanged(t *testing.T) {
	w := here(t, card, gpu.ErrNoAdapter).start()
	w.fails("card", gpu.ErrLost, gpu.ErrLost)
	request := 100
	change := func(c Change) (numbers []uint16, err error) {
		request++
		job := w.job(request, "cells")
		job.Read = func() []byte { return wide(t) }
		f, err := w.Field(job, c)
		if f != nil {
			for _, o := range f.Objects {
				numbers = append(numbers, o.Number)
			}
		}
		return numbers, err
	}
	does := func(c Change, want ...uint16) {
		t.Helper()
		numbers, err := change(c)
		require.NoError(t, err)
		require.Equal(t, want, numbers)
	}
	_, err := change(Change{Do: "delete", Numbers: []uint16{1}})
	require.Equal(t, "gone", FaultOf(err).Code)
	does(Change{Do: "find"}, 1, 2)
	require.Equal(t, processor.String(), w.Computer().Name, "the card was lost twice")
	does(Change{Do: "add", Line: []float64{60, 20}}, 1, 2, 3)
	does(Change{Do: "merge", Numbers: []uint16{1, 2}}, 1, 3)
	does(Change{Do: "undo"}, 1, 2, 3)
	does(Change{Do: "redo"}, 1, 3)
	does(Change{Do: "undo"}, 1, 2, 3)
	does(Change{Do: "split", Numbers: []uint16{1}, Line: []float64{5, -3, 5, 14}}, 1, 2, 3, 4)
	does(Change{Do: "delete", Numbers: []uint16{1, 4}}, 2, 3)
	does(Change{Do: "move", Numbers: []uint16{2}, Line: []float64{15, 30}}, 2, 3)
	found, err := w.Field(w.job(200, "cells"), Change{Do: "undo"})
	require.NoError(t, err)
	assert.Equal(t, 20, found.Find(2).Box.Min.X, "it is where it was")

	table, err := w.SaveField(1, "a.png", "csv", false)
	require.NoError(t, err)
	assert.Equal(t, 1+len(found.Objects), bytes.Count(table, []byte("\n")))
	_, err = w.SaveField(1, "a.png", "jpeg", false)
	require.ErrorContains(t, err, "labels-png")
	_, err = w.SaveField(2, "a.png", "csv", false)
	require.Equal(t, "gone", FaultOf(err).Code)

	_, err = change(Change{Do: "split", Numbers: []uint16{2}, Line: []float64{0, 0, 1, 1}})
	require.Equal(t, Fault{"nothing", "The line does not divide it.", "Draw it from one side to the other."}, FaultOf(err))
	_, err = change(Change{Do: "add", Line: []float64{-90, 5}})
	require.Equal(t, "nothing", FaultOf(err).Code, "the picture ends before")
	_, err = change(Change{Do: "add"})
	require.ErrorContains(t, err, "name a point")
	_, err = change(Change{Do: "dance", Numbers: []uint16{2}})
	require.ErrorContains(t, err, "unknown change")
}

// A turned picture's objects are saved as the file shows them.
func TestObjectsOfATurnedPicture(t *testing.T) {
	w := here(t, processor).start()
	job := w.job(401, "cells")
	job.Turn, job.Read = 1, func() []byte { return wide(t) }
	_, err := w.Field(job, Change{Do: "find"})
	require.NoError(t, err)
	data, err := w.SaveField(job.Key, "a.png", "labels-png", false)
	require.NoError(t, err)
	m, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	require.Equal(t, image.Rect(0, 0, 80, 40), m.Bounds())
	assert.Equal(t, uint16(1), m.(*image.Gray16).Gray16At(4, 35).Y, "what is left above lay left below")
}

// What was saved is given back, with what its pixels do not say, and can be changed further.
func TestObjectsAreGivenBack(t *testing.T) {
	w := here(t, processor).start()
	job := w.job(501, "cells")
	job.Turn, job.Read = 1, func() []byte { return wide(t) }
	found, err := w.Field(job, Change{Do: "find"})
	require.NoError(t, err)
	doubt := 1.5
	want := append([]instances.Object{}, found.Objects...)
	want[0].Doubt, want[0].Disagreement, want[0].By, want[1].By = &doubt, 7, instances.Model, instances.You
	data, err := w.SaveField(job.Key, "a.png", "labels-png", false)
	require.NoError(t, err)
	given := Given{Class: "cell", Labels: data, Objects: want}
	again, err := w.Field(job, Change{Do: "give", Given: given})
	require.NoError(t, err)
	assert.Equal(t, want, again.Objects)
	assert.Equal(t, found.Labels, again.Labels)
	assert.Equal(t, "cell", again.Class)
	again, err = w.Field(job, Change{Do: "delete", Numbers: []uint16{1}})
	require.NoError(t, err)
	assert.Len(t, again.Objects, len(want)-1)

	for name, labels := range map[string][]byte{"cut": data[:len(data)-20], "another": wide(t), "none": nil} {
		_, err = w.Field(job, Change{Do: "give", Given: Given{Class: "cell", Labels: labels}})
		require.Equal(t, Fault{"labels", "The objects of " + job.Name + " in the session are damaged.", "Find them again."}, FaultOf(err), name)
	}
	f, err := w.Field(job, Change{Do: "undo"})
	require.NoError(t, err)
	assert.Len(t, f.Objects, len(want), "what was there stays")
}

// A first object can be drawn where the finder was not asked.
func TestAnObjectIsAddedToAnEmptyField(t *testing.T) {
	w := here(t, processor).start()
	job := w.job(301, "cells")
	job.Read = func() []byte { return wide(t) }
	f, err := w.Field(job, Change{Do: "add", Line: []float64{40, 20}})
	require.NoError(t, err)
	require.Len(t, f.Objects, 1)
	require.Equal(t, "brain", f.Class)
}
