package importer

import (
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/instances"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// squares is a label image of w × h pixels with squares of a side, whose corners are at.
func squares(t *testing.T, w, h, side int, at ...image.Point) []byte {
	m := image.NewGray16(image.Rect(0, 0, w, h))
	for n, corner := range at {
		for i := range side * side {
			if p := corner.Add(image.Pt(i%side, i/side)); p.In(m.Rect) {
				m.Pix[2*(p.Y*w+p.X)], m.Pix[2*(p.Y*w+p.X)+1] = uint8((n+1)>>8), uint8(n+1)
			}
		}
	}
	return encoded(t, m, ".png")
}

// writeFields writes the session of a person who found objects in an image and changed some, or
// accepted them.
func writeFields(t *testing.T, folder, person string, picture, labels []byte, changed bool, review string) {
	writeSession(t, filepath.Join(folder, person+".mrprism"), person, "2026-11-30", []fields{{
		"image": fields{"sha256": sumOf(picture), "name": "field.png", "slice": 1, "slices": 1}, "review": review, "decided": "2026-11-30T05:00:00Z",
		"result": fields{"classes": []string{"cell"}}, "field": fields{"class": "cell", "file": "fields/1_1.png", "changed": changed, "objects": []fields{{"number": 1, "by": "model", "disagreement": 3}}},
	}}, map[string][]byte{"fields/1_1.png": labels, "images/" + sumOf(picture) + ".png": picture}, nil)
}

// Three people mark a field of four cells, of which two people leave one out. Some files are
// damaged or of another size: they are named.
func TestFieldsOfSeveralPeople(t *testing.T) {
	source := t.TempDir()
	picture := encoded(t, eye(90, 60, 1), ".png")
	a, b, c, d := image.Pt(10, 10), image.Pt(20, 10), image.Pt(40, 40), image.Pt(84, 54)
	writeFields(t, source, "ann", picture, squares(t, 90, 60, 10, a, b, c, d), true, "")
	writeFields(t, source, "ben", picture, squares(t, 90, 60, 10, b, a.Add(image.Pt(0, 1)), c), false, "accepted")
	writeFields(t, source, "cut", picture, squares(t, 90, 60, 10, a)[:70], true, "")
	writeFields(t, source, "eve", picture, squares(t, 90, 60, 10, a, b, image.Pt(60, 20)), true, "")
	writeFields(t, source, "idle", picture, squares(t, 90, 60, 10, a), false, "")
	writeFields(t, source, "none", picture, squares(t, 90, 60, 10), true, "")
	writeFields(t, source, "odd", picture, squares(t, 60, 90, 10, a), true, "accepted")
	writeFields(t, source, "refused", picture, squares(t, 90, 60, 10, a), true, "rejected")

	s, err := OpenSessions(Options{Source: source, Destination: "x"})
	require.NoError(t, err)
	defer s.Close()
	assert.Equal(t, []string{"ann", "ben", "cut", "eve", "none", "odd"}, s.Data.Raters)
	all, err := s.Crowds(0)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, []string{"ann", "ben", "eve", "none"}, all[0].People)
	var finders []int
	for _, g := range all[0].Groups {
		finders = append(finders, g.Finders())
	}
	assert.Equal(t, []int{3, 3, 2, 1, 1}, finders)
	skipped := fmt.Sprint(s.Skipped())
	assert.Contains(t, skipped, "odd.mrprism, field.png cell: its label image is 60×90 pixels, its image 90×60")
	assert.Contains(t, skipped, "cut.mrprism, field.png cell: png: invalid format")
	marks := s.Data.Cases[0].Reader.Marks()
	require.NotNil(t, marks)

	crops := filepath.Join(t.TempDir(), "crops")
	summary, err := FromSessions.Run(t.Context(), Options{Source: source, Destination: crops, Objects: Crops})
	require.NoError(t, err)
	assert.Equal(t, []string{"ann", "ben", "eve"}, summary.Raters, "none has no mask, as has nobody whose file is damaged")
	set, loaded := load(t, crops)
	require.Len(t, set.Cases, 5)
	assert.Equal(t, "field-0001", set.Cases[0].Name)
	first := loaded[0]
	assert.Equal(t, [2]int{16, 16}, [2]int{first.W, first.H}, "1.55 times 10, in whole pixels")
	assert.Len(t, loaded[3].Image.Pix, 3*loaded[3].W*loaded[3].H)
	assert.Less(t, loaded[3].W, 10, "the picture ends before")
	count := func(i, m int) (n int) {
		if loaded[i].Masks[m][0] == nil {
			return -1
		}
		for _, v := range loaded[i].Masks[m][0] {
			n += int(v)
		}
		return n
	}
	assert.Equal(t, [][3]int{{100, 100, 100}, {100, 100, 100}, {100, 100, -1}, {36, -1, -1}, {-1, -1, 100}},
		[][3]int{{count(0, 0), count(0, 1), count(0, 2)}, {count(1, 0), count(1, 1), count(1, 2)}, {count(2, 0), count(2, 1), count(2, 2)}, {count(3, 0), count(3, 1), count(3, 2)}, {count(4, 0), count(4, 1), count(4, 2)}})
	assert.NoFileExists(t, filepath.Join(crops, dataset.GroupsFile), "of one image alone nothing could be held out")
	origins, err := os.ReadFile(filepath.Join(crops, "marks.csv"))
	require.NoError(t, err)
	assert.Contains(t, string(origins), "field-0001,ben,cell,accepted,2026-11-30T05:00:00Z\n")

	whole := filepath.Join(t.TempDir(), "fields")
	summary, err = FromSessions.Run(t.Context(), Options{Source: source, Destination: whole, Objects: Fields})
	require.NoError(t, err)
	assert.Equal(t, []string{"cell", "core"}, summary.Classes)
	_, loaded = load(t, whole)
	require.Len(t, loaded, 1)
	assert.Equal(t, []string{"majority"}, summary.Raters)
	assert.Equal(t, 436, metricArea(loaded[0].Masks[0][0]))
	core := metricArea(loaded[0].Masks[0][1])
	assert.Greater(t, core, 4*9, "the middle of each")
	assert.Less(t, core, 436/2)
}

func metricArea(mask []uint8) (n int) {
	for _, v := range mask {
		n += int(v)
	}
	return n
}

// Of many images the crops of each form a group. A data set of objects needs some.
func TestCropsOfManyFields(t *testing.T) {
	source := t.TempDir()
	for i := range dataset.HoldOut {
		picture := encoded(t, eye(90, 60+i, 1), ".png")
		writeFields(t, filepath.Join(source, fmt.Sprint(i)), fmt.Sprintf("p%d", i), picture, squares(t, 90, 60+i, 10, image.Pt(10, 10), image.Pt(40, 20)), true, "")
	}
	o := Options{Source: source, Destination: filepath.Join(t.TempDir(), "crops"), Objects: Crops}
	summary, err := FromSessions.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 10, summary.Images)
	groups, err := os.ReadFile(filepath.Join(o.Destination, dataset.GroupsFile))
	require.NoError(t, err)
	assert.Equal(t, 11, strings.Count(string(groups), "\n"))

	masks := t.TempDir()
	picture := encoded(t, eye(90, 60, 1), ".png")
	writeFields(t, masks, "ann", picture, squares(t, 90, 60, 10), false, "")
	_, err = FromSessions.Run(t.Context(), Options{Source: masks, Destination: o.Destination + "2", Objects: Crops})
	assert.ErrorContains(t, err, "holds nothing of the form")
}

// A thousand objects of three people are matched in no more than seconds.
func TestAThousandObjects(t *testing.T) {
	source := t.TempDir()
	picture := encoded(t, eye(1000, 1000, 1), ".png")
	var at []image.Point
	for i := range 1000 {
		at = append(at, image.Pt(i%40*25, i/40*40))
	}
	for i, person := range []string{"ann", "ben", "eve"} {
		writeFields(t, source, person, picture, squares(t, 1000, 1000, 20, at[i:]...), true, "")
	}
	s, err := OpenSessions(Options{Source: source, Destination: "x"})
	require.NoError(t, err)
	defer s.Close()
	all, err := s.Crowds(0)
	require.NoError(t, err)
	require.Len(t, all[0].Groups, 1000)
	assert.Equal(t, []int{1, 2, 3}, []int{all[0].Groups[0].Finders(), all[0].Groups[1].Finders(), all[0].Groups[2].Finders()})
	assert.Equal(t, instances.You, all[0].Fields[0].Objects[1].By)
	assert.Equal(t, instances.Model, all[0].Fields[0].Objects[0].By)
}
