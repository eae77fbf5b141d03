package instances

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// disc is a mask of a disc of radius r in the middle of a square of side 2r + 2.
func disc(r int) (side int, mask []uint8) {
	side = 2*r + 2
	mask = make([]uint8, side*side)
	for i := range mask {
		if math.Hypot(float64(i%side)+.5-float64(side)/2, float64(i/side)+.5-float64(side)/2) < float64(r) {
			mask[i] = 255
		}
	}
	return side, mask
}

func added(t *testing.T, f *Field, x, y, r int) uint16 {
	side, mask := disc(r)
	n, err := f.Add(image.Rect(x, y, x+side, y+side), mask, Object{By: Model})
	require.NoError(t, err)
	return n
}

func TestAnObjectIsMeasured(t *testing.T) {
	f := New(100, 80, "cell")
	o := f.Find(added(t, f, 10, 5, 20))
	require.NotNil(t, o)
	assert.InEpsilon(t, math.Pi*400, o.Area, .01)
	assert.InEpsilon(t, 2*math.Pi*20, o.Perimeter, .03)
	assert.Greater(t, o.Roundness, .94)
	assert.InDelta(t, 31, o.X, .01)
	assert.InDelta(t, 26, o.Y, .01)
	assert.False(t, o.Cut)
	assert.True(t, f.Find(added(t, f, 70, 50, 20)).Cut, "it reaches beyond the border")
}

func TestObjectsShareNoPixel(t *testing.T) {
	f := New(100, 80, "cell")
	first := added(t, f, 0, 0, 20)
	area := f.Find(first).Area
	second := added(t, f, 20, 0, 20)
	assert.Equal(t, area, f.Find(first).Area)
	assert.Less(t, f.Find(second).Area, area)
	n, err := f.Add(image.Rect(21, 21, 22, 22), []uint8{255}, Object{})
	require.NoError(t, err)
	assert.Zero(t, n, "nothing is left for it")
	assert.Len(t, f.Objects, 2)
}

func TestDeleteFreesANumber(t *testing.T) {
	f := New(200, 80, "cell")
	for x := range 3 {
		added(t, f, 60*x, 0, 20)
	}
	f.Delete(2)
	assert.Zero(t, f.At(80, 20))
	assert.Equal(t, uint16(2), added(t, f, 60, 30, 20))
	assert.Equal(t, uint16(3), f.Objects[2].Number)
}

func TestMergeAndSplit(t *testing.T) {
	f := New(200, 80, "cell")
	a, b := added(t, f, 0, 0, 20), added(t, f, 39, 0, 20)
	sum := f.Find(a).Area + f.Find(b).Area
	require.NoError(t, f.Merge(a, b))
	require.Len(t, f.Objects, 1)
	assert.Equal(t, sum, f.Find(a).Area)
	assert.Equal(t, You, f.Find(a).By)
	assert.ErrorContains(t, f.Merge(a), "two objects")
	assert.ErrorContains(t, f.Merge(a, 9), "two objects")

	new, err := f.Split(a, []float64{0, 60, 20, 60})
	require.NoError(t, err)
	assert.Empty(t, new, "the line misses it")
	new, err = f.Split(a, []float64{40.5, -5, 40.5, 70})
	require.NoError(t, err)
	require.Len(t, new, 1)
	assert.Equal(t, sum, f.Find(a).Area+f.Find(new[0]).Area, "no pixel is lost")
	assert.InDelta(t, sum/2, f.Find(a).Area, 60)
	_, err = f.Split(7, []float64{0, 0, 1, 1})
	assert.ErrorContains(t, err, "draw a line")
}

func TestASplitAlongADiagonal(t *testing.T) {
	f := New(50, 50, "cell")
	added(t, f, 0, 0, 20)
	new, err := f.Split(1, []float64{0, 0, 42, 42})
	require.NoError(t, err)
	assert.Len(t, new, 1)
}

func TestLabelsOfAnotherProgram(t *testing.T) {
	f := New(120, 60, "cell")
	added(t, f, 0, 0, 20)
	added(t, f, 50, 5, 20)
	f.Delete(1)
	again := FromLabels(120, 60, "cell", f.Labels)
	require.Len(t, again.Objects, 1)
	assert.Equal(t, f.Objects[0].Area, again.Objects[0].Area)
	assert.Equal(t, uint16(2), again.Objects[0].Number)
}

func TestAHistoryUndoesAndRedoes(t *testing.T) {
	f := New(200, 80, "cell")
	added(t, f, 0, 0, 20)
	added(t, f, 39, 0, 20)
	before, objects := slices.Clone(f.Labels), slices.Clone(f.Objects)
	h := NewHistory(f)
	require.NoError(t, h.Change([]uint16{1, 2}, image.Rectangle{}, func(f *Field) error { return f.Merge(1, 2) }))
	merged := slices.Clone(f.Labels)
	require.NoError(t, h.Change(nil, image.Rect(100, 0, 300, 80), func(f *Field) error { added(t, f, 120, 10, 20); return nil }))
	assert.Len(t, f.Objects, 2)
	require.Error(t, h.Change([]uint16{1}, image.Rectangle{}, func(f *Field) error { f.Delete(1); return ErrTooMany }))
	assert.Len(t, f.Objects, 2, "a change that fails leaves the field as it was")
	assert.True(t, h.Undo())
	assert.Equal(t, merged, f.Labels)
	assert.True(t, h.Undo())
	assert.Equal(t, before, f.Labels)
	assert.Equal(t, objects, f.Objects)
	assert.False(t, h.Undo())
	assert.True(t, h.Redo())
	assert.Equal(t, merged, f.Labels)
	undo, redo := h.Steps()
	assert.Equal(t, []int{1, 1}, []int{undo, redo})
	require.NoError(t, h.Change([]uint16{1}, image.Rectangle{}, func(f *Field) error { f.Delete(1); return nil }))
	assert.False(t, h.Redo(), "a new change ends what was undone")
}

// Clone is a copy that shares nothing.
func (f *Field) Clone() *Field {
	c := *f
	c.Labels, c.Objects = slices.Clone(f.Labels), slices.Clone(f.Objects)
	return &c
}

// A label image that is no grey PNG of 16 bits and of its picture's size is refused.
func TestLabelImagesAreRead(t *testing.T) {
	encoded := func(m image.Image) []byte {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, m))
		return b.Bytes()
	}
	grey := image.NewGray16(image.Rect(0, 0, 4, 2))
	grey.SetGray16(1, 0, color.Gray16{Y: 300})
	grey.SetGray16(2, 0, color.Gray16{Y: 300})
	grey.SetGray16(3, 1, color.Gray16{Y: Most})
	data := encoded(grey)
	f, err := ReadPNG(data, 4, 2, "cell")
	require.NoError(t, err)
	f.Describe([]Object{{Number: 300, By: Model, Disagreement: 2}, {Number: 5, By: Model}})
	require.Len(t, f.Objects, 2)
	assert.Equal(t, []any{uint16(300), 2, Model, 2.}, []any{f.Objects[0].Number, f.Objects[0].Area, f.Objects[0].By, f.Objects[0].Disagreement})
	assert.Equal(t, []any{uint16(Most), 1, You}, []any{f.Objects[1].Number, f.Objects[1].Area, f.Objects[1].By})

	for name, data := range map[string][]byte{"8 bits": encoded(image.NewGray(grey.Rect)), "colours": encoded(image.NewNRGBA64(grey.Rect)), "cut": data[:60], "no file": nil} {
		_, err = ReadPNG(data, 4, 2, "cell")
		assert.Error(t, err, name)
	}
	_, err = ReadPNG(data, 2, 4, "cell")
	assert.EqualError(t, err, "its label image is 4×2 pixels, its image 2×4")
}
