package synthetic

import (
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/instances"
	"mrprism/internal/data/paint"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeDiscs writes a data set of ten bright discs on noise, each alone in its image. Those of held
// out images are larger.
func writeDiscs(t *testing.T) string {
	folder := filepath.Join(t.TempDir(), "discs")
	d := dataset.Description{Name: "discs", Classes: []string{"cell"}, Raters: []string{"ann"}, Images: 10}
	require.NoError(t, writeSet(t.Context(), folder, d, func(i int) error {
		r, picture, mask := paint.Source(7, uint64(i)), image.NewGray(image.Rect(0, 0, 90, 90)), image.NewGray(image.Rect(0, 0, 90, 90))
		radius := 10. + 8*float64(part(i))
		for j := range picture.Pix {
			picture.Pix[j] = uint8(60 + 4*r.NormFloat64())
			if math.Hypot(float64(j%90)-45, float64(j/90)-45) < radius {
				picture.Pix[j], mask.Pix[j] = 160, 255
			}
		}
		if err := writePNG(picture, folder, "images", caseName(i)); err != nil {
			return err
		}
		return writePNG(mask, folder, "raters/ann/cell", caseName(i))
	}, nil))
	return folder
}

func fieldsOf(t *testing.T, s FieldSet) (all []*instances.Field, folder string) {
	folder = filepath.Join(t.TempDir(), "fields")
	require.NoError(t, WriteFields(t.Context(), folder, s))
	report := dataset.Check(t.Context(), []string{folder}, nil)
	require.False(t, report.Failed())
	for i := range s.Images {
		file, err := os.Open(filepath.Join(folder, "labels", caseName(i)+".png"))
		require.NoError(t, err)
		m, err := png.Decode(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		g := m.(*image.Gray16)
		var labels []uint16
		for j := 0; j < len(g.Pix); j += 2 {
			labels = append(labels, uint16(g.Pix[j])<<8|uint16(g.Pix[j+1]))
		}
		all = append(all, instances.FromLabels(g.Rect.Dx(), g.Rect.Dy(), "cell", labels))
	}
	return all, folder
}

func TestFieldsHaveObjectsThatLieApart(t *testing.T) {
	from := writeDiscs(t)
	fields, folder := fieldsOf(t, FieldSet{Sources: []string{from}, Images: 5, Least: 12, Most: 12, Seed: 1})
	d, err := dataset.Open(folder)
	require.NoError(t, err)
	assert.Equal(t, []string{"cell", "core"}, d.Classes)
	for i, f := range fields {
		require.Len(t, f.Objects, 12)
		small, large := math.Pi*100, math.Pi*18*18
		for _, o := range f.Objects {
			if !o.Cut {
				assert.InEpsilon(t, []float64{small, large}[part(i)], o.Area, .06, "field %d: held-out fields have held-out objects", i)
			}
			for x := o.Box.Min.X - 1; x <= o.Box.Max.X; x++ {
				for y := o.Box.Min.Y - 1; y <= o.Box.Max.Y; y++ {
					if n := f.At(x, y); n > 0 && n != o.Number {
						assert.Greater(t, math.Hypot(f.Find(n).X-o.X, f.Find(n).Y-o.Y), 2*10., "objects lie apart")
					}
				}
			}
		}
		l, err := dataset.Load(d.Cases[i])
		require.NoError(t, err)
		inside, ground, n := 0., 0., 0
		for j, number := range f.Labels {
			assert.Equal(t, number > 0, l.Masks[0][0][j] == 1)
			if l.Masks[0][1][j] == 1 {
				assert.NotZero(t, number, "a core lies in its object")
			}
			if v := float64(l.Image.Pix[3*j]); number > 0 {
				inside, n = inside+v, n+1
			} else {
				ground += v
			}
		}
		assert.Greater(t, inside/float64(n), 2*ground/float64(len(f.Labels)-n), "objects are as bright as they were")
	}
}

func TestFieldsOfTouchingObjects(t *testing.T) {
	fields, _ := fieldsOf(t, FieldSet{Sources: []string{writeDiscs(t)}, Images: 4, Least: 10, Most: 10, Touching: true, Seed: 2})
	touch := 0
	for _, f := range fields {
		require.Len(t, f.Objects, 10)
		for i, o := range f.Objects {
			for _, other := range f.Objects[:i] {
				if math.Hypot(o.X-other.X, o.Y-other.Y) < 24 {
					touch++
				}
			}
		}
	}
	assert.GreaterOrEqual(t, touch, 15, "half of forty touch another one")
}

func TestFieldsOfASizeRepeat(t *testing.T) {
	s := FieldSet{Sources: []string{writeDiscs(t)}, Images: 3, Most: 8, Side: 64, Seed: 3}
	fields, first := fieldsOf(t, s)
	_, second := fieldsOf(t, s)
	for i, f := range fields {
		assert.Equal(t, 64, f.Width)
		a, err := os.ReadFile(filepath.Join(first, "images", caseName(i)+".png"))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(second, "images", caseName(i)+".png"))
		require.NoError(t, err)
		assert.Equal(t, a, b)
	}
}

func TestFieldsNeedOneClass(t *testing.T) {
	eyes := filepath.Join(t.TempDir(), "eyes")
	require.NoError(t, WriteDataset(t.Context(), eyes, Scenarios[0], 5, 32, 1))
	err := WriteFields(t.Context(), filepath.Join(t.TempDir(), "a"), FieldSet{Sources: []string{eyes}, Images: 1, Most: 1})
	assert.ErrorContains(t, err, "marks 2 classes")
}
