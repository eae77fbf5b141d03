package site

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/output/sheet"
	"mrprism/weights"
)

// listing opens the site with its own worker and tiny weights, which it chooses as a person does.
func listing(t *testing.T, s *server, extra ...chromedp.ExecAllocatorOption) *page {
	t.Helper()
	s.wishes = "?device=processor"
	p := open(t, s, 1200, 800, extra...)
	p.ready()
	p.saving()
	file := filepath.Join(t.TempDir(), "tiny.safetensors")
	require.NoError(t, os.WriteFile(file, tinyWeights(t, weights.LabelsRaters, nil), 0o644))
	p.dragIn(file) // weights that are dropped are a model
	p.until(`document.getElementById("model").selectedOptions[0].textContent.startsWith("Random weights")`)
	return p
}

// savedAs returns the file that the page saved under a name with an ending.
func (p *page) savedAs(ending string) []byte {
	p.t.Helper()
	p.until(fmt.Sprintf(`Object.keys(saved).some((name) => name.endsWith(%q))`, ending))
	text := get[string](p, fmt.Sprintf(`blobs[saved[Object.keys(saved).find((name) => name.endsWith(%q))]].arrayBuffer().then((all) => new Uint8Array(all).toBase64?.() ?? btoa(Array.from(new Uint8Array(all), (v) => String.fromCharCode(v)).join("")))`, ending))
	data, err := base64.StdEncoding.DecodeString(text)
	require.NoError(p.t, err)
	return data
}

// The table has the columns of the program segment, and the ZIP has each image's masks.
func TestFilesOfTheList(t *testing.T) {
	t.Parallel()
	p := listing(t, real(t, nil))
	folder, paths := folderOf(t, "a.png", "notes.txt", "b.png", "cut.png")
	other := filepath.Join(folder, "more", "a.png")
	require.NoError(t, os.MkdirAll(filepath.Dir(other), 0o755))
	require.NoError(t, os.WriteFile(other, photo(t, 200, 150), 0o644))
	p.upload("file", append(paths, other)...)
	p.allComputed()
	p.press("a", false)
	p.said("a.png", "accepted")
	p.click("correct-start")
	p.press(" ", false)
	p.said("a.png", "corrected")
	p.press("Escape", false)
	p.do(`document.getElementById("work-by").value = "=EM", document.getElementById("work-by").oninput()`)
	p.press("x", false)
	p.said("a.png", "rejected")

	p.click("work-csv")
	data := p.savedAs(".csv")
	table, _, err := sheet.Read(data)
	require.NoError(t, err)
	empty := sheet.New(sheet.Record{Classes: []string{"disc", "cup"}, Raters: []string{"one", "two", "three", "four"}})
	assert.Equal(t, empty.Columns, table.Columns, "the columns of segment -csv")
	lines, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff")))).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 6)
	cell := func(line int, column string) string { return lines[line][slices.Index(lines[0], column)] }
	assert.Equal(t, []string{"a.png", "notes.txt", "b.png", "cut.png", "a.png"}, []string{cell(1, "image"), cell(2, "image"), cell(3, "image"), cell(4, "image"), cell(5, "image")})
	assert.Equal(t, "rejected", cell(1, "review"))
	assert.Equal(t, "'=EM", cell(1, "decided_by"))
	assert.Empty(t, cell(3, "decided_by"), "nobody has decided")
	assert.NotEmpty(t, cell(1, "decided"))
	assert.NotEmpty(t, cell(1, "disc_area_px_of_model"))
	assert.NotEqual(t, cell(1, "disc_area_px_of_model"), cell(1, "disc_area_px"))
	assert.NotEmpty(t, cell(3, "horizontal_cup_disc_ratio"))
	assert.Empty(t, cell(3, "disc_area_px_of_model"), "nobody has corrected it")
	assert.Equal(t, "disc", cell(1, "corrected"))
	assert.Equal(t, "'=EM", cell(1, "corrected_by"), "no formula")
	assert.Contains(t, cell(2, "error"), "text file")
	assert.NotEmpty(t, cell(4, "error"))
	assert.Equal(t, "320", cell(3, "width_px"))
	assert.Equal(t, "150", cell(5, "height_px"))
	assert.NotEmpty(t, cell(3, "disc_area_px"))
	assert.Len(t, cell(3, "weights_sha256"), 64)
	assert.Equal(t, "roi=auto precision=f32 slice=0", cell(3, "options"))
	assert.True(t, strings.HasPrefix(cell(3, "program"), "page "), cell(3, "program"))
	for _, line := range []int{1, 2, 3} {
		date, err := time.Parse(time.RFC3339, cell(line, "date"))
		require.NoError(t, err)
		assert.WithinDuration(t, time.Now(), date, time.Hour)
	}

	p.click("save-csv")
	one, _, err := sheet.Read(p.savedAs("a_corrected.csv"))
	require.NoError(t, err)
	assert.Equal(t, table.Columns, one.Columns, "the table of one image has the columns of the list's")
	assert.Equal(t, table.Lines[:1], one.Lines)

	p.click("work-semicolons")
	p.do(`Object.keys(saved).forEach((name) => delete saved[name])`)
	p.click("save-csv")
	assert.Regexp(t, `^\x{FEFF}image;slice;error;[^\n]+\n[^\n]+;0,\d{1,5};`, string(p.savedAs("a_corrected.csv")))
	p.click("work-zip")
	data = p.savedAs(".zip")
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	sizes := map[string][2]int{}
	for _, f := range archive.File {
		in, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(in)
		require.NoError(t, err)
		sizes[f.Name] = [2]int{}
		if strings.HasSuffix(f.Name, ".png") {
			mask, err := png.Decode(bytes.NewReader(content))
			require.NoError(t, err)
			sizes[f.Name] = [2]int{mask.Bounds().Dx(), mask.Bounds().Dy()}
			assert.Equal(t, strings.HasSuffix(f.Name, "_corrected.png"), strings.Contains(string(content), "corrected by hand"), f.Name)
		}
		if f.Name == "table.csv" {
			assert.Contains(t, string(content), "image;slice;error;review;")
			assert.Regexp(t, `;0,\d{1,5};`, string(content))
		}
		if strings.HasSuffix(f.Name, ".json") {
			var record map[string]any
			require.NoError(t, json.Unmarshal(content, &record))
			assert.Contains(t, record, "measurements")
		}
	}
	assert.Equal(t, map[string][2]int{
		"table.csv": {}, "measurements/a_corrected.json": {}, "measurements/b.json": {}, "measurements/a_2.json": {},
		"masks/drawn/a_disc_mask_corrected.png": {320, 240}, "masks/guessed/a_cup_mask.png": {320, 240}, "masks/guessed/b_disc_mask.png": {320, 240}, "masks/guessed/b_cup_mask.png": {320, 240},
		"masks/guessed/a_2_disc_mask.png": {200, 150}, "masks/guessed/a_2_cup_mask.png": {200, 150},
	}, sizes)
	p.clean()
}

// A long list takes no more memory than a short one: lines keep figures and small files alone.
// MRPRISM_LIST is how many images of a megapixel are segmented by the fundus weights, to measure it.
func TestMemoryOfTheList(t *testing.T) {
	t.Parallel()
	n, width, height := 18, 320, 240
	text := os.Getenv("MRPRISM_LIST")
	if text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
		width, height = 1152, 868
	}
	paths := photographs(t, n, width, height)
	var p *page
	if text != "" {
		_, files := shippedModel(t, "fundus")
		s := real(t, files)
		s.wishes, s.patience = "?device=processor", deadline+time.Duration(n)*10*time.Second
		p = open(t, s, 1200, 800, eagerly)
		p.ready()
	} else {
		p = listing(t, withoutThreads(t), eagerly)
	}
	computed := func(n int) { p.until(fmt.Sprintf(`document.getElementById("work-meter").value >= %d`, n)) }
	used := func(after int) float64 {
		computed(after)
		if waiting := !get[bool](p, `document.getElementById("work-pause").hidden`); waiting {
			p.click("work-pause")
			defer p.click("work-pause")
		}
		p.until(`document.getElementById("progress").hidden`)
		p.still()
		bytes := get[float64](p, `performance.measureUserAgentSpecificMemory().then(({ bytes }) => bytes)`)
		t.Logf("after %d images: %.2f MB in the page and its workers", after, bytes/1e6)
		return bytes
	}
	p.upload("file", paths...)
	p.until(`!document.getElementById("worklist").hidden`)
	begun := used(10)
	start := time.Now()
	computed(n)
	t.Logf("%.2f s an image", time.Since(start).Seconds()/float64(n-10))
	grown := used(n) - begun
	t.Logf("grown by %.2f %% from the tenth to the last", 100*grown/begun)
	most := 0.01 * begun
	if text != "" {
		most += 5e6 // Go's memory grows in steps of 4 MiB, and once or not at all in 500 images
	}
	assert.Less(t, grown, most)
	p.clean()
}

// photographs writes n JPEG files by the generator, each another photograph, and returns their
// paths.
func photographs(t *testing.T, n, width, height int) (paths []string) {
	t.Helper()
	folder := t.TempDir()
	for i := range n {
		var file bytes.Buffer
		require.NoError(t, jpeg.Encode(&file, synthetic.Photograph(uint64(i), width, height), nil))
		paths = append(paths, filepath.Join(folder, fmt.Sprintf("%03d.jpg", i)))
		require.NoError(t, os.WriteFile(paths[i], file.Bytes(), 0o644))
	}
	return paths
}

// withoutThreads is real with one thread. Chromium would wait a minute for threads that sleep
// before it says how much memory the others take.
func withoutThreads(t *testing.T) *server {
	t.Helper()
	script := string(readBuilt(t, "vectors.js"))
	require.Contains(t, script, "MOST = 7")
	script = strings.Replace(script, "MOST = 7", "MOST = 0", 1)
	return serve(t, built(t, map[string][]byte{"sw.js": noKeeper, "vectors.js": []byte(script)}), nil)
}

// eagerly has Chromium measure memory at once, and not when it likes.
func eagerly(a *chromedp.ExecAllocator) {
	chromedp.Flag("enable-blink-features", "ForceEagerMeasureMemory")(a)
}
