package importer

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/files/dicom/dicomtest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type fields = map[string]any

// greys is a PNG of w × h pixels of a level.
func greys(t *testing.T, w, h int, level uint8) []byte {
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = level
	}
	return encoded(t, m, ".png")
}

// Elements of the list of readings take no memory before they are counted.
func TestReadingsAreCountedFirst(t *testing.T) {
	text := []byte("[" + strings.Repeat("0,", 1_000_000) + "0]")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := new(readings).UnmarshalJSON(text)
	runtime.ReadMemStats(&after)
	assert.EqualError(t, err, "it is too large: it has more than 20000 images")
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(text)))
}

// writeSession writes a session of a person: its JSON, and further files.
func writeSession(t *testing.T, path, grader, saved string, readings []fields, more map[string][]byte, change func(fields)) {
	t.Helper()
	says := fields{"format": sessionFormat, "version": 1, "grader": grader, "saved": saved, "study": nil, "readings": readings}
	if change != nil {
		change(says)
	}
	text, err := json.Marshal(says)
	require.NoError(t, err)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, data := range more {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write(data)
		require.NoError(t, err)
	}
	f, err := w.Create("session.json")
	require.NoError(t, err)
	_, err = f.Write(append([]byte("\ufeff"), text...)) // as some editors leave it
	require.NoError(t, err)
	require.NoError(t, w.Close())
	put(t, b.Bytes(), path)
}

// read is a reading of an image: masks and strokes by class.
func read(data []byte, name, review string, more fields) fields {
	r := fields{
		"image": fields{"sha256": sumOf(data), "name": name, "slice": 1, "slices": 1}, "review": review, "decided": "2026-11-27T05:00:00Z",
		"result": fields{"classes": []string{"disc", "cup"}},
	}
	for key, value := range more {
		r[key] = value
	}
	return r
}

var shown = []fields{{"class": "disc", "file": "masks/1_1.png"}, {"class": "cup", "file": "masks/1_2.png"}}

// Ann accepts one image and draws on its cup, and reads it twice. Ben draws another person's image
// by hand, in a blind study, and rejects a third. What nobody drew or accepted is missing.
func TestSessions(t *testing.T) {
	source := t.TempDir()
	first, second, third := encoded(t, eye(40, 30, 1), ".png"), encoded(t, eye(40, 30, 2), ".png"), encoded(t, eye(40, 30, 3), ".png")
	put(t, second, source, "photographs", "left eye.png")
	stroke := []fields{{"rater": "you", "class": "cup", "file": "drawn/1_1.png", "x": 10, "y": 5}}
	model := map[string][]byte{
		"masks/1_1.png": greys(t, 40, 30, 255), "masks/1_2.png": greys(t, 40, 30, 0), "drawn/1_1.png": greys(t, 4, 3, 255), "images/" + sumOf(first) + ".png": first,
	}
	writeSession(t, filepath.Join(source, "ann.mrprism"), "Ann B.", "2026-11-27", []fields{
		read(first, "eye1.png", "accepted", fields{"masks": shown, "drawn": stroke}), read(first, "eye1.png", "", fields{"masks": shown, "drawn": stroke}), read(first, "eye1.png", "accepted", nil),
		read(second, "x.png", "", fields{"masks": shown, "drawn": []fields{{"rater": "you", "class": "cup", "file": "drawn/1_1.png", "x": 10, "y": 5, "filled": true}}}),
	}, model, nil)
	writeSession(t, filepath.Join(source, "older.mrprism"), "Ann B.", "2026-11-20", []fields{read(first, "eye1.png", "rejected", nil)}, nil, nil)
	byHand := append(stroke, fields{"rater": "ann", "class": "disc", "file": "drawn/1_1.png", "x": 0, "y": 0})
	writeSession(t, filepath.Join(source, "ben.mrprism"), "ben", "2026-11-26", []fields{
		read(second, "#1", "accepted", fields{"drawn": byHand}), read(third, "#2", "rejected", fields{"drawn": byHand}), read(first, "#3", "", fields{"drawn": byHand, "masks": []fields{}}),
	}, map[string][]byte{"drawn/1_1.png": greys(t, 4, 3, 200)}, nil)

	destination := filepath.Join(t.TempDir(), "ours")
	s, err := FromSessions.Run(t.Context(), Options{Source: source, Destination: destination})
	require.NoError(t, err)
	assert.Equal(t, []string{"Ann-B", "Ann-B-again", "ben"}, s.Raters)
	assert.Equal(t, []string{"disc", "cup"}, s.Classes)
	d, loaded := load(t, destination)
	require.Len(t, d.Cases, 2)
	assert.Equal(t, "eye1", d.Cases[0].Name)
	assert.Equal(t, "left-eye", d.Cases[1].Name)
	area := func(i, m, k int) int {
		if loaded[i].Masks[m][k] == nil {
			return -1
		}
		return metric.Area(loaded[i].Masks[m][k])
	}
	assert.Equal(t, [2][2]int{{1200, 12}, {-1, 12}}, [2][2]int{{area(0, 0, 0), area(0, 0, 1)}, {area(0, 1, 0), area(0, 1, 1)}}, "ben drew the cup alone, and accepted nothing")
	assert.Equal(t, [2][2]int{{-1, -1}, {0, 12}}, [2][2]int{{area(1, 0, 0), area(1, 0, 1)}, {area(1, 1, 0), area(1, 1, 1)}}, "ann left it undecided; ben accepted that there is no disc")
	assert.Equal(t, uint8(1), loaded[0].Masks[0][1][5*40+10])
	marks, err := os.ReadFile(filepath.Join(destination, "marks.csv"))
	require.NoError(t, err)
	assert.Equal(t, `name,rater,class,origin,decided
eye1,Ann-B,cup,drawn,2026-11-27T05:00:00Z
eye1,Ann-B,disc,accepted,2026-11-27T05:00:00Z
eye1,Ann-B-again,cup,drawn,2026-11-27T05:00:00Z
eye1,ben,cup,drawn,2026-11-27T05:00:00Z
left-eye,ben,cup,drawn,2026-11-27T05:00:00Z
left-eye,ben,disc,accepted,2026-11-27T05:00:00Z
`, string(marks))
	skipped := reasons(s)
	assert.Contains(t, skipped["ann.mrprism, eye1.png"], "third reading")
	assert.Contains(t, skipped["older.mrprism, eye1.png"], "later session ann.mrprism")
	assert.Contains(t, skipped[sumOf(third)[:12]], "put it there")
}

func TestSessionsRefused(t *testing.T) {
	picture := encoded(t, eye(8, 8, 1), ".png")
	good := []fields{read(picture, "a.png", "accepted", nil)}
	for want, change := range map[string]func(fields){
		"later MrPrism (version 2": func(s fields) { s["version"] = 2 },
		"it says no person":        func(s fields) { s["grader"] = " " },
		`its format is "x"`:        func(s fields) { s["format"] = "x" },
		"has disc, cup, and":       func(s fields) { s["study"] = fields{"id": "1", "structures": []string{"cell"}} },
		"of another study":         func(s fields) { s["study"] = fields{"id": "2"} },
		"nobody has marked":        func(s fields) { s["readings"] = nil },
		"cannot be read":           func(s fields) { s["readings"] = "none" },
		"would both be called ben": func(s fields) { s["grader"] = "ben." },
		"no name of its own":       func(s fields) { s["readings"] = nil; s["study"] = fields{"structures": []string{"отёк"}} },
		"is no whole session":      nil,
		"more than 20000 images":   func(s fields) { s["readings"] = make([]fields, 20_001) },
		"2000100 values": func(s fields) {
			s["readings"] = []fields{{"drawn": make([][]int, 0), "x": strings.Repeat("[", 2_000_096)}}
		},
		"would be 128 MiB": func(s fields) { s["grader"] = strings.Repeat("x", 128<<20) },
	} {
		source := t.TempDir()
		put(t, picture, source, "a.png")
		switch {
		case change == nil:
			put(t, []byte("PK no archive"), source, "cut.mrprism")
		default:
			writeSession(t, filepath.Join(source, "b.mrprism"), "ben", "2", good, nil, change)
		}
		if want == "would both be called ben" {
			writeSession(t, filepath.Join(source, "a.mrprism"), "ben", "3", good, nil, nil)
		}
		if want == "has disc, cup, and" || want == "of another study" {
			writeSession(t, filepath.Join(source, "a.mrprism"), "ann", "3", good, nil, func(s fields) { s["study"] = fields{"id": "1"} })
		}
		destination := filepath.Join(t.TempDir(), "ours")
		_, err := FromSessions.Run(t.Context(), Options{Source: source, Destination: destination})
		require.ErrorContains(t, err, want)
		assert.NoDirExists(t, destination)
	}
}

// People and structures may have any names, and a file may say anything of where a drawing lies.
func TestSessionsOfAnyNames(t *testing.T) {
	source, destination := t.TempDir(), filepath.Join(t.TempDir(), "ours")
	picture := encoded(t, eye(8, 8, 1), ".png")
	put(t, picture, source, "a.png")
	for i, grader := range []string{"Анна", strings.Repeat("long ", 16)} {
		writeSession(t, filepath.Join(source, fmt.Sprintf("%d.mrprism", i)), grader, "1", []fields{read(picture, "a.png", "accepted", fields{
			"result": fields{"classes": []string{"optic disc"}},
			"drawn":  []fields{{"rater": "you", "class": "optic disc", "file": "d.png", "x": []int{2, math.MaxInt}[i], "y": 0}},
		})}, map[string][]byte{"d.png": greys(t, 2, 2, 255)}, nil)
	}
	s, err := FromSessions.Run(t.Context(), Options{Source: source, Destination: destination})
	require.NoError(t, err)
	assert.Equal(t, []string{"optic-disc"}, s.Classes)
	require.Len(t, s.Raters, 1, "the other's drawing lies beside the image")
	assert.Regexp(t, `^person-[0-9a-f]{8}$`, s.Raters[0])
	assert.Contains(t, reasons(s)["1.mrprism, a.png"], "lies beside the image")
	_, loaded := load(t, destination)
	assert.Equal(t, 4, metric.Area(loaded[0].Masks[0][0]))
}

// bundle is a ZIP of these files, in their order by name.
func bundle(t *testing.T, files map[string][]byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write(files[name])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// Ann and Ben read an image by the study's file, which alone has it. A third file that is hostile or
// damaged is named, and changes nothing of what they say.
func TestHostileSessions(t *testing.T) {
	picture := encoded(t, eye(40, 30, 1), ".png")
	sum := sumOf(picture)
	byHand := func(x int) []fields {
		return []fields{{"rater": "you", "class": "disc", "file": "d.png", "x": x, "y": 5}, {"rater": "you", "class": "cup", "file": "d.png", "x": x, "y": 5}}
	}
	study := fields{"id": "1", "structures": []string{"disc", "cup"}}
	of := func(grader string, readings []fields, change func(fields)) []byte {
		says := fields{"format": sessionFormat, "version": 1, "grader": grader, "saved": "3", "study": study, "readings": readings}
		if change != nil {
			change(says)
		}
		text, err := json.Marshal(says)
		require.NoError(t, err)
		return text
	}
	pair := func() (source string) {
		source = t.TempDir()
		for i, grader := range []string{"ann", "ben"} {
			text := of(grader, []fields{read(picture, "#1", "accepted", fields{"drawn": byHand(5 + i)})}, nil)
			put(t, bundle(t, map[string][]byte{"session.json": text, "d.png": greys(t, 4, 3, 255)}), source, grader+".mrprism")
		}
		put(t, bundle(t, map[string][]byte{"session.json": of("", []fields{read(picture, "#1", "", fields{"result": nil})}, nil), "images/" + sum + ".png": picture}), source, "study.mrprism")
		return source
	}
	marks := func(source string) (raters []string, masks [][][]uint8, skipped string) {
		s, err := OpenSessions(Options{Source: source, Destination: filepath.Join(t.TempDir(), "data"), Lenient: true})
		require.NoError(t, err)
		defer s.Close()
		for i, c := range s.Data.Cases {
			l, err := dataset.Load(c)
			require.NoError(t, err)
			if sum, _ := s.Read(i); sum == sumOf(picture) {
				masks = l.Masks
			}
		}
		return s.Data.Raters, masks, fmt.Sprint(s.Skipped())
	}
	raters, want, skipped := marks(pair())
	require.Equal(t, []string{"ann", "ben"}, raters)
	require.Equal(t, "[]", skipped)
	require.Equal(t, 12, metric.Area(want[0][0]))

	drawn := func(change fields) []fields {
		one := fields{"rater": "you", "class": "disc", "file": "d.png", "x": 0, "y": 0}
		maps.Copy(one, change)
		return []fields{read(picture, "#1", "accepted", fields{"drawn": []fields{one}})}
	}
	masked := []fields{read(picture, "#1", "accepted", fields{"masks": []fields{{"class": "disc", "file": "d.png"}}})}
	accepted := []fields{read(picture, "#1", "accepted", nil)}
	image := func(change fields) []fields {
		one := fields{"sha256": sum, "name": "#1", "slice": 1, "slices": 1}
		maps.Copy(one, change)
		return []fields{read(picture, "#1", "accepted", fields{"image": one})}
	}
	mutant := func(i int, data []byte) []byte {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		for range 1 + random.IntN(6) {
			data[random.IntN(len(data))] = byte(random.IntN(256))
		}
		return data[:len(data)-random.IntN(2)*random.IntN(len(data))]
	}
	for i := range 60 {
		source := pair()
		text := of("eve", []fields{read(picture, "#1", "accepted", fields{"drawn": byHand(5)}), read(picture, "#1", "accepted", fields{"drawn": byHand(6)})}, nil)
		put(t, mutant(i, bundle(t, map[string][]byte{"session.json": mutant(i*(i%2), text), "d.png": mutant(i*(i%3), greys(t, 4, 3, 255))})), source, "eve.mrprism")
		_, masks, _ := marks(source)
		require.Equal(t, want, masks[:2], "mutant %d", i)
	}
	bomb, list := bytes.Repeat([]byte{0}, maxMaskEntry+1), bytes.Repeat([]byte{0}, maxSessionJSON+1)
	large := greys(t, 3000, 3000, 255)
	cut := greys(t, 40, 30, 255)[:60]
	type hostile struct {
		says     string // what is said of it
		text     []byte
		png      []byte
		withheld bool // it is not named, since nothing of it counts
	}
	for name, one := range map[string]hostile{
		"a study of another id":       {"of another study", of("eve", accepted, func(s fields) { s["study"] = fields{"id": "2"} }), nil, false},
		"other structures":            {"import sessions of the same structures", of("eve", []fields{read(picture, "#1", "accepted", fields{"result": fields{"classes": []string{"Disc", "cup"}}})}, nil), nil, false},
		"the same person once more":   {"the same person's later session", of("ann", drawn(nil), func(s fields) { s["saved"] = "1" }), greys(t, 4, 3, 255), false},
		"another who would be ann":    {"would both be called ann", of("ann!", drawn(nil), nil), greys(t, 4, 3, 255), false},
		"a name of second readings":   {"that ends as those of second readings do", of("ann again", drawn(nil), nil), greys(t, 4, 3, 255), false},
		"no name, and a decision":     {"it says no person", of(" ", accepted, nil), nil, false},
		"NaN":                         {"session.json cannot be read", []byte(`{"format": "MrPrism session", "version": NaN}`), nil, false},
		"a number for a list":         {"session.json cannot be read", of("eve", nil, func(s fields) { s["readings"] = fields{"length": 1e9} }), nil, false},
		"a place that is a fraction":  {"session.json cannot be read", of("eve", drawn(fields{"x": .5}), nil), nil, false},
		"a place that is huge":        {"lies beside the image", of("eve", drawn(fields{"x": math.MaxInt64}), nil), greys(t, 4, 3, 255), false},
		"a place before the image":    {"lies beside the image", of("eve", drawn(fields{"y": -1}), nil), greys(t, 4, 3, 255), false},
		"a drawing that is too large": {"d.png is 3000×3000 pixels, its image 40×30", of("eve", drawn(nil), nil), large, false},
		"a mask that is too large":    {"d.png is 3000×3000 pixels, its image 40×30", of("eve", masked, nil), large, false},
		"a mask that is too small":    {"its mask is 4×3 pixels, its image 40×30", of("eve", masked, nil), greys(t, 4, 3, 255), false},
		"a page for a mask":           {"d.png", of("eve", masked, nil), []byte("<!doctype html><p>Sign in</p>"), false},
		"a mask that is cut":          {"d.png", of("eve", masked, nil), cut, false},
		"a mask that is no file":      {"d.png is not in it", of("eve", masked, nil), nil, false},
		"a file with path parts":      {"../../d.png is not in it", of("eve", drawn(fields{"file": "../../d.png"}), nil), nil, false},
		"a mask that unpacks to much": {"would be 64 MiB", of("eve", masked, nil), bomb, false},
		"a sum with path parts":       {"it has no SHA-256", of("eve", image(fields{"sha256": strings.Repeat("../", 21) + "x"}), nil), nil, false},
		"a sum in capitals":           {"it has no SHA-256", of("eve", image(fields{"sha256": strings.ToUpper(sum)}), nil), nil, false},
		"a slice that is not there":   {"neither in a session", of("eve", image(fields{"sha256": strings.Repeat("0", 64), "slice": -7, "slices": 9}), nil), nil, false},
		"very many values":            {"it is too large: it has more than 20000 images", append([]byte(`{"readings":[0`), append(bytes.Repeat([]byte(",0"), maxReadings), "]}"...)...), nil, false},
		"much to unpack":              {"would be 128 MiB", list, nil, false},
		"nobody":                      {"", of("eve", []fields{read(picture, "#1", "rejected", fields{"drawn": byHand(1)})}, nil), nil, true},
		"a formula for a time":        {"", of("eve", []fields{read(picture, "#1", "", fields{"decided": "=1+1"})}, nil), nil, true},
	} {
		source := pair()
		files := map[string][]byte{"session.json": one.text}
		if one.png != nil {
			files["d.png"] = one.png
		}
		put(t, bundle(t, files), source, "eve.mrprism")
		_, masks, skipped := marks(source)
		require.Equal(t, want, masks[:2], name)
		for _, row := range masks[2:] {
			require.Nil(t, row[0], name)
		}
		if !one.withheld {
			assert.Contains(t, skipped, one.says, name)
		}
	}
}

// Images of one patient are a group, by DICOM's Patient ID, which the data set does not name.
func TestSessionsOfPatients(t *testing.T) {
	source := t.TempDir()
	var readings []fields
	for i, patient := range []string{"MRN-0042", "MRN-0043", "MRN-0042"} {
		data, study := dicomtest.Grey(40, 30, slices.Repeat([]uint8{uint8(i), 9}, 600)), []byte("\x20\x00\x0d\x00UI")
		at := bytes.Index(data, study)
		data = slices.Insert(data, at, append([]byte{0x10, 0, 0x20, 0, 'L', 'O', byte(len(patient)), 0}, patient...)...)
		name := fmt.Sprintf("eye%d.dcm", i)
		put(t, data, source, name)
		readings = append(readings, read(data, name, "accepted", fields{"masks": shown}))
	}
	writeSession(t, filepath.Join(source, "ann.mrprism"), "ann", "2026-11-27", readings, map[string][]byte{"masks/1_1.png": greys(t, 40, 30, 255), "masks/1_2.png": greys(t, 40, 30, 0)}, nil)
	destination := filepath.Join(t.TempDir(), "ours")
	_, err := FromSessions.Run(t.Context(), Options{Source: source, Destination: destination})
	require.NoError(t, err)
	d, _ := load(t, destination)
	require.Len(t, d.Cases, 3)
	assert.Equal(t, []string{"patient-1", "patient-2", "patient-1"}, []string{d.Cases[0].Group, d.Cases[1].Group, d.Cases[2].Group})
	text, err := os.ReadFile(filepath.Join(destination, dataset.GroupsFile))
	require.NoError(t, err)
	assert.NotContains(t, string(text), "MRN")
}
