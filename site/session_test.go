package site

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// differing writes photographs of different content, since a session knows an image by its content.
func differing(t *testing.T, names ...string) (paths []string) {
	t.Helper()
	folder := t.TempDir()
	for i, name := range names {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, photo(t, 320+8*i, 240), 0o644))
		paths = append(paths, path)
	}
	return paths
}

// goOn opens the session that is kept, as soon as the page offers it.
func (p *page) goOn() {
	p.t.Helper()
	p.until(`(() => { const go = document.querySelector("#session-kept [data-go]"); go?.click(); return Boolean(go); })()`)
}

// sessionOf saves the session of a page, and returns the file.
func (p *page) sessionOf() []byte {
	p.t.Helper()
	p.do(`globalThis.saved = Object.keys(saved).forEach((name) => delete saved[name]) ?? saved`)
	p.click("session-save")
	return p.savedAs(".mrprism")
}

// unpacked are the files of a session, read by Go's own reader, and its JSON.
func unpacked(t *testing.T, data []byte) (files map[string][]byte, session map[string]any) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	files = map[string][]byte{}
	for _, f := range archive.File {
		in, err := f.Open()
		require.NoError(t, err)
		var content bytes.Buffer
		_, err = content.ReadFrom(in) // compares the sum
		require.NoError(t, err)
		files[f.Name] = content.Bytes()
	}
	require.NoError(t, json.Unmarshal(files["session.json"], &session))
	return files, session
}

// begun is a page with three images: a.png accepted, b.png turned and drawn on, c.png rejected with
// a comment.
func begun(t *testing.T, s *server) (*page, []string) {
	p := open(t, s, 1440, 900)
	p.ready()
	p.saving()
	paths := differing(t, "a.png", "b.png", "c.png")
	p.upload("file", paths...)
	p.allComputed()
	p.press("a", false)
	p.said("a.png", "accepted")
	p.press("n", false)
	p.onStage("b.png")
	p.press("t", false)
	p.until(`document.getElementById("file-line").textContent.includes("turned") && ` + sampleDone)
	p.click("correct-start")
	for range 4 {
		p.press("ArrowUp", true) // by 40 pixels from the middle
	}
	p.press(" ", false)
	p.said("b.png", "corrected")
	p.press("Escape", false)
	p.press("n", false)
	p.onStage("c.png")
	p.press("x", false)
	p.said("c.png", "rejected")
	p.do(`document.getElementById("work-comment").value = "Narbe \"unten\"", document.getElementById("work-comment").oninput()`)
	p.do(`document.getElementById("work-by").value = "EM", document.getElementById("work-by").oninput()`)
	return p, paths
}

// A session is saved, opened in another browser without its images, and finds them by their content
// under other names. It is then what it was.
func TestSessionOpensAgain(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	p, paths := begun(t, s)
	p.click("measure")
	p.press("ArrowRight", true)
	p.do(`document.getElementById("ruler-known").value = "2", document.getElementById("ruler-use").click()`)
	before, data := p.lines(), p.sessionOf()
	files, session := unpacked(t, data)
	guide, err := os.ReadFile("guide/sessions.md")
	require.NoError(t, err)
	ofLog, err := os.ReadFile("guide/log.md")
	require.NoError(t, err)
	guide = append(guide, ofLog...)
	reading := session["readings"].([]any)[1].(map[string]any)
	stroke := reading["drawn"].([]any)[0].(map[string]any)
	for _, part := range []map[string]any{session, session["model"].(map[string]any), reading, reading["image"].(map[string]any), stroke} {
		for field := range part {
			assert.Contains(t, string(guide), "`"+field+"`", "a field that the guide does not explain")
		}
	}
	var x, y, n float64
	for i, v := range pixelsOf(t, files["drawn/2_1.png"]) {
		if wide := int(stroke["width"].(float64)); v == 255 {
			x, y, n = x+float64(i%wide), y+float64(i/wide), n+1
		}
	}
	assert.InDelta(t, 164-40, stroke["x"].(float64)+x/n, 6, "what was drawn above on the turned photograph is left in the file")
	assert.InDelta(t, 120, stroke["y"].(float64)+y/n, 6)
	for _, name := range []string{"drawn/2_1.png", "masks/1_1.png", "masks/3_2.png"} {
		require.Contains(t, files, name)
		_, err := png.Decode(bytes.NewReader(files[name]))
		require.NoError(t, err, name)
	}
	assert.Equal(t, "EM", session["grader"])
	log := strings.Split(strings.TrimSpace(string(files["log/1.jsonl"])), "\n")
	var did []string
	for i, line := range log {
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		for field := range entry {
			assert.Contains(t, string(guide), "`"+field+"`", "a field of the log that the guide does not explain")
		}
		assert.Contains(t, string(guide), "`"+entry["did"].(string)+"`")
		before := ""
		if i > 0 {
			before = fmt.Sprintf("%x", sha256.Sum256([]byte(log[i-1])))
		}
		assert.Equal(t, before, entry["previous"], "entry %d", i)
		_, err := time.Parse(time.RFC3339, entry["time"].(string))
		require.NoError(t, err)
		if entry["did"] != "exported" && entry["did"] != "opened" && entry["did"] != "computed" {
			did = append(did, fmt.Sprint(entry["reading"], entry["did"]))
		}
		if entry["did"] == "computed" {
			assert.Equal(t, []any{"levels", "ab12"}, []any{entry["model"], entry["sha256"]})
		}
		if entry["did"] == "set the scale" {
			assert.Equal(t, session["readings"].([]any)[2].(map[string]any)["mm"], entry["mm"])
		}
		if image, ok := entry["image"]; ok {
			assert.Equal(t, session["readings"].([]any)[int(entry["reading"].(float64))].(map[string]any)["image"].(map[string]any)["sha256"], image)
		}
	}
	assert.Equal(t, []string{"0accepted", "1drew", "2rejected", "2commented", "2set the scale"}, did)
	assert.Equal(t, float64(len(log)), session["log"].([]any)[0].(map[string]any)["entries"], "a saved session's log is final")
	for name := range files {
		assert.False(t, strings.HasPrefix(name, "images/"), "images only if asked for")
	}

	other := open(t, s, 1440, 900)
	other.ready()
	other.saving()
	other.drop("of-em.mrprism", data)
	other.until(`document.querySelectorAll("#work-lines [role=option]").length === 3`)
	assert.Contains(t, other.text("banner-next"), "3 images are not attached.")
	assert.Contains(t, other.lines()[0], "a.png, accepted, ")
	assert.Contains(t, other.lines()[0], "not attached")
	assert.Contains(t, other.lines()[0], "from a file")
	folder := t.TempDir()
	renamed := []string{filepath.Join(folder, "x.png"), filepath.Join(folder, "b.png"), filepath.Join(folder, "c.png")}
	for i, name := range []string{paths[1], paths[2], paths[0]} { // each under another's name
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(renamed[i], content, 0o644))
	}
	wrong := filepath.Join(folder, "a.png")
	require.NoError(t, os.WriteFile(wrong, photo(t, 64, 64), 0o644))
	other.upload("file", wrong, renamed[0])
	other.until(`document.getElementById("banner-message").textContent.startsWith("1 image is attached.")`)
	assert.Contains(t, other.text("banner-message"), "Not attached, as the content is another one: a.png.")
	assert.Equal(t, "2 images are still missing.", other.text("banner-next"))
	other.upload("file", renamed[1:]...)
	other.until(`document.getElementById("session-line").hidden`)
	other.pick("b.png")
	other.onStage("b.png")
	assert.Contains(t, other.text("file-line"), "turned by 90°")
	other.until(`document.getElementById("correct-line").textContent.includes("Corrected by hand: disc.")`)
	other.pick("c.png")
	other.onStage("c.png")
	assert.Equal(t, `Narbe "unten"`, get[string](other, `document.getElementById("work-comment").value`))
	other.pick("a.png")
	other.onStage("a.png")
	assert.Equal(t, before, other.lines(), "all are computed here")
	assert.Equal(t, "EM", get[string](other, `document.getElementById("work-by").value`))

	other.do(`document.getElementById("session-log").open = true`)
	other.until(`document.getElementById("session-log").textContent.includes("set the scale ")`)
	assert.Regexp(t, `set the scale 0\.\d+ mm a pixel\s+c\.png`, other.text("session-log"))

	again, _ := unpacked(t, other.sessionOf())
	assert.True(t, bytes.HasPrefix(again["log/1.jsonl"], files["log/1.jsonl"]), "the log grows at its end")
	assert.Regexp(t, `"by":"EM","did":"opened","session":"[^"]+","previous"`, string(again["log/1.jsonl"][len(files["log/1.jsonl"]):]))
	assert.Equal(t, pixelsOf(t, files["drawn/2_1.png"]), pixelsOf(t, again["drawn/2_1.png"]), "every pixel that was drawn")
	p.clean()
	other.clean()
}

func pixelsOf(t *testing.T, data []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	require.IsType(t, &image.Gray{}, img)
	return img.(*image.Gray).Pix
}

// repacked is a session whose JSON was changed, in a ZIP by another program.
func repacked(t *testing.T, data []byte, change func(session map[string]any)) []byte {
	return refiled(t, data, func(_ map[string][]byte, session map[string]any) { change(session) })
}

// refiled is repacked with other files too.
func refiled(t *testing.T, data []byte, change func(files map[string][]byte, session map[string]any)) []byte {
	t.Helper()
	files, session := unpacked(t, data)
	change(files, session)
	var err error
	files["session.json"], err = json.Marshal(session)
	require.NoError(t, err)
	return zipped(t, files)
}

// zipped is a ZIP of files.
func zipped(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for name, content := range files {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return packed.Bytes()
}

// What is no session of this person and this version is named, and the list stays as it is. What
// another computer brings joins it; of two versions a person chooses one.
func TestSessionsThatDiffer(t *testing.T) {
	t.Parallel()
	p, _ := begun(t, mock(t, nil))
	data, before := p.sessionOf(), p.lines()
	for _, c := range []struct {
		says string
		data []byte
	}{
		{"x.mrprism is no session, or its beginning is missing.", []byte("this is text")},
		{"x.mrprism was saved by a later version of MrPrism.", repacked(t, data, func(s map[string]any) { s["version"] = 2 })},
		{"x.mrprism is too large: 20000 drawings of an image, of at most 10.", repacked(t, data, func(s map[string]any) {
			reading := s["readings"].([]any)[1].(map[string]any)
			reading["marks"] = slices.Repeat(reading["drawn"].([]any)[:1], 20_000)
		})},
		{"x.mrprism is the session of AB, and this one is of EM.", repacked(t, data, func(s map[string]any) { s["grader"] = "AB" })},
		{"x.mrprism is of a model that this page does not have: tiny.", repacked(t, data, func(s map[string]any) { s["model"] = map[string]any{"name": "own-12", "title": "tiny"} })},
		{"x.mrprism was cut short: what could be read is here. Not read, as it is missing or damaged: drawn/2_1.png", data[:bytes.Index(data, []byte("drawn/2_1.png"))]},
	} {
		p.drop("x.mrprism", c.data)
		p.until(`document.getElementById("banner-message").textContent.startsWith("` + c.says + `")`)
		assert.Equal(t, before, p.lines(), c.says)
	}
	p.pick("a.png")
	p.onStage("a.png")
	p.press("x", false)
	p.said("a.png", "rejected")
	p.drop("x.mrprism", repacked(t, data, func(s map[string]any) {
		s["readings"].([]any)[1].(map[string]any)["image"].(map[string]any)["sha256"] = strings.Repeat("ab", 32)
	}))
	p.until(`document.getElementById("banner-message").textContent.includes("1 images are new, 0 were taken over, 1 have two versions.")`)
	assert.Contains(t, p.text("work-versions"), "Here: rejected. In the other session: accepted.")
	p.said("a.png", "two versions")
	require.Len(t, p.lines(), 4)
	own, both := unpacked(t, p.sessionOf())
	assert.Len(t, both["readings"], 5, "both versions are saved")
	assert.Len(t, both["log"], 1, "the log that joined is the beginning of this one")
	assert.Contains(t, string(own["log/1.jsonl"]), `"did":"merged"`)

	// A log that somebody changed is named, and kept beside this one as it is.
	entry := strings.Count(string(own["log/1.jsonl"][:bytes.Index(own["log/1.jsonl"], []byte(`"rejected"`))]), "\n")
	p.drop("x.mrprism", refiled(t, data, func(files map[string][]byte, _ map[string]any) {
		files["log/1.jsonl"] = bytes.Replace(files["log/1.jsonl"], []byte(`"rejected"`), []byte(`"accepted"`), 1)
	}))
	p.until(fmt.Sprintf(`document.getElementById("banner-message").textContent.includes("The log was changed after entry %d. All of it is kept.")`, entry))
	p.do(`document.getElementById("session-log").open = true`)
	p.until(fmt.Sprintf(`document.querySelector("#session-log p")?.textContent.includes("after entry %d") && document.querySelectorAll("#session-log tr").length > 10`, entry))
	assert.Regexp(t, `drew disc\s+b\.png`, p.text("session-log"))
	changed, both := unpacked(t, p.sessionOf())
	assert.Len(t, both["log"], 2)
	assert.Equal(t, 1, strings.Count(string(changed["log/2.jsonl"]), `"did":"accepted","reading":2`), string(changed["log/2.jsonl"]))
	p.drop("x.mrprism", repacked(t, data, func(s map[string]any) { s["log"] = []any{} }))
	p.until(`document.getElementById("banner-message").textContent.includes("x.mrprism has work, and an empty log")`)
	p.click("work-theirs")
	p.said("a.png", "accepted")
	p.onStage("a.png")
	assert.False(t, p.visible("work-rival"))
	p.clean()
}

// A session opens before its images and drawings are read. An image in it that is not what it was is
// then named, and asked for.
func TestDamagedImageOfASession(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	p, paths := begun(t, s)
	p.click("session-images")
	data := p.sessionOf()
	photograph, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	at := bytes.Index(data, photograph)
	require.Positive(t, at, "images are stored")
	data[at+len(photograph)/2] ^= 1
	p = open(t, s, 1440, 900)
	p.ready()
	p.do(`globalThis.decoded = 0, globalThis.decode = createImageBitmap, globalThis.createImageBitmap = (of, ...all) => { decoded += of instanceof Blob; return decode(of, ...all); }`) // thumbs are of pixels
	p.drop("x.mrprism", data)
	p.until(`document.getElementById("banner-message").textContent === "Not read, as it is missing or damaged: a.png."`)
	assert.Contains(t, p.text("banner-next"), "1 image is not attached.")
	assert.Contains(t, p.lines()[0], "a.png, accepted, ")
	assert.Contains(t, p.lines()[0], "not attached")
	p.onStage("c.png")
	p.until(`decoded === 6`) // the masks; no drawing of another image
	p.upload("file", paths[0])
	p.until(`document.getElementById("banner-message").textContent === "1 image is attached."`)
	p.pick("b.png")
	p.onStage("b.png")
	p.until(`document.getElementById("correct-line").textContent.includes("Corrected by hand: disc.")`)
	assert.Equal(t, 7, get[int](p, `decoded`))
	p.clean()
}

// The figures of a file say so wherever they go. Masks that are not theirs, or no pictures, are named,
// and what they and the figures said is gone.
func TestFiguresOfAFile(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	p, _ := begun(t, s)
	data := refiled(t, p.sessionOf(), func(files map[string][]byte, _ map[string]any) {
		files["masks/1_1.png"], files["masks/1_2.png"] = files["masks/1_2.png"], files["masks/1_1.png"]
		files["masks/3_1.png"] = []byte("<!doctype html><p>Sign in</p>")
	})
	p = open(t, s, 1440, 900)
	p.ready()
	p.saving()
	p.drop("x.mrprism", data)
	p.until(`document.getElementById("banner-message").textContent === "The masks are not those of the figures: a.png, c.png. Both were dropped."`)
	lines := p.lines()
	for i, decided := range []string{"accepted", "corrected", "rejected"} {
		assert.Equal(t, i == 1, strings.Contains(lines[i], decided), lines[i])
		assert.Equal(t, i == 1, strings.Contains(lines[i], "from a file"), lines[i])
	}
	p.click("work-csv")
	assert.Equal(t, 1, bytes.Count(p.savedAs(".csv"), []byte(`"from_file":true`)))
	p.clean()
}
