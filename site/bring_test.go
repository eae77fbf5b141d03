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
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/program/programtest"
)

// writtenSession is a session of a person who drew a disc and a cup of half the size on each image,
// rectangles side pixels high.
func writtenSession(t *testing.T, grader string, version, side int, images ...[]byte) []byte {
	t.Helper()
	type fields = map[string]any
	files := map[string][]byte{"log/1.jsonl": []byte("{}\n")}
	var readings []fields
	for i, data := range images {
		var all []fields
		for k, class := range []string{"disc", "cup"} {
			mask := image.NewGray(image.Rect(0, 0, side*(i+1)/(k+1), side/(k+1)))
			for at := range mask.Pix {
				mask.Pix[at] = 255
			}
			var drawn bytes.Buffer
			require.NoError(t, png.Encode(&drawn, mask))
			file := fmt.Sprintf("drawn/%d%s.png", i, class)
			files[file] = drawn.Bytes()
			all = append(all, fields{"rater": "you", "class": class, "file": file, "x": 10, "y": 10})
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		files["images/"+sum+".png"] = data
		readings = append(readings, fields{
			"image": fields{"sha256": sum, "name": fmt.Sprintf("eye-%d.png", i), "slice": 0, "slices": 1}, "review": "accepted", "decided": "2026-11-27T05:00:00Z",
			"drawn": all, "result": fields{"classes": []string{"disc", "cup"}},
		})
	}
	var err error
	files["session.json"], err = json.Marshal(fields{"format": "MrPrism session", "version": version, "grader": grader, "saved": "2026-11-27", "readings": readings})
	require.NoError(t, err)
	return zipped(t, files)
}

// Sessions of three graders come together: agreement, the images by disagreement, outlines, fused
// marks, a senior's decision, and a data set that "train check" passes. A session of a later
// version is named, and the rest is read.
func TestBringsGradersTogether(t *testing.T) {
	t.Parallel()
	s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper}), nil)
	s.wishes, s.patience = "?device=processor", 2*deadline
	p := open(t, s, 1366, 900)
	p.ready()
	p.saving()
	folder := t.TempDir()
	images := [][]byte{photo(t, 160, 120), photo(t, 168, 120)}
	var paths []string
	for name, data := range map[string][]byte{
		"ann.mrprism": writtenSession(t, "Ann", 1, 40, images...), "ben.mrprism": writtenSession(t, "Ben", 1, 42, images[0], images[1], images[0]),
		"eve/ann.mrprism": writtenSession(t, "Eve", 1, 30, images...), "new.mrprism": writtenSession(t, "New", 9, 30, images...), "cut.mrprism": []byte("PK"),
	} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o644))
		paths = append(paths, path)
	}
	p.click("together-open")
	p.until(`document.getElementById("together")?.open`)
	p.upload("together input[type=file]", paths...)
	says := func(text string) { p.until(`/` + text + `/.test(document.getElementById("together")?.innerText)`) }
	says(`Ready\.`)
	says(`new\.mrprism: .*later MrPrism`)
	says(`cut\.mrprism was cut short`)
	says(`Agreement in 2 images`)
	says(`Dice [0-9.]+ · accepted: Ann, Ben, Eve`)
	says(`Second readings[^]*Ben\s+disc\s+1\s+0\.5`)
	labels := func(want string) {
		p.until(`[...document.querySelectorAll("#together label.check")].map((one) => one.textContent).join() === "` + want + `"`)
	}
	labels("Ann,Ben,Eve,Majority,STAPLE")
	press := func(text string) {
		p.do(`[...document.querySelectorAll("#together button")].find((one) => one.textContent === "` + text + `").click()`)
	}
	press("Fuse by edges too (reads every image)")
	labels("Ann,Ben,Eve,Majority,STAPLE,Fused by edges (ours)")
	assert.NotEmpty(t, get[string](p, `document.querySelector("#together tbody tr td + td + td")?.textContent`))
	assert.Regexp(t, `Limits of agreement.*Ann, Ben2[+0-9.−-]+ \[n = 2\].*Ben, Eve2`, get[string](p, `document.querySelector("#together details").textContent`))
	if shots := os.Getenv("MRPRISM_SCREENSHOTS"); shots != "" {
		axe, _ := os.ReadFile(os.Getenv("MRPRISM_AXE"))
		for name, size := range map[string][2]int64{"desk-light": {1366, 900}, "phone-light": {390, 844}, "desk-dark": {1366, 900}, "phone-dark": {390, 844}} {
			p.run(chromedp.EmulateViewport(size[0], size[1]))
			_, theme, _ := strings.Cut(name, "-")
			p.run(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}))
			p.still()
			p.shot(filepath.Join(shots, "together-"+name+".png"))
			if axe != nil {
				assert.Empty(t, get[[]string](p, string(axe)+`; axe.run("#together", { resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 160)).join(" | ")))`), name)
			}
		}
	}
	p.do(`(() => { const choose = document.querySelector("#together option[value=':majority']").parentElement; choose.value = ":majority"; document.querySelector("#together input[type=text]").value = "=1+1"; choose.onchange(); })()`)
	says(`truth: Majority`)
	p.do(`Object.assign(globalThis, { asked: 0, confirm: () => { asked++; return false; } })`)
	press("Close")
	p.until(`asked === 1 && document.getElementById("together")?.open`)
	press("Save as data set")
	data := p.savedAs(".zip")
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	out := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(out, "data"), archive))
	check, err := exec.Command(filepath.Join(programtest.Build(t, ".", "./cmd/train"), "train"), "check", filepath.Join(out, "data")).CombinedOutput()
	require.NoError(t, err, string(check))
	assert.Contains(t, string(check), "errors: 0")
	truth, err := os.ReadFile(filepath.Join(out, "data", "truth.csv"))
	require.NoError(t, err)
	assert.Regexp(t, `^\x{feff}name,class,from,by,decided\r\n"eye-\d","disc","majority","'=1\+1","2\d{3}-`, string(truth))
	log, err := os.ReadFile(filepath.Join(out, "data", "log", "together.jsonl"))
	require.NoError(t, err)
	assert.Regexp(t, `(?s)"did":"merged","what":"ann\.mrprism".*"did":"adjudicated","structure":"disc","what":"majority","image":"[0-9a-f]{64}","previous":"[0-9a-f]{64}"}\n[^\n]*"did":"exported","what":"data set"`, string(log))
	theirs, err := os.ReadFile(filepath.Join(out, "data", "log", "ann.mrprism", "1.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, "{}\n", string(theirs), "the log of a session, as it is in it")
	press("Learn from these marks")
	p.until(`/Images: 2\. People: Ann, Ben, Eve/.test(document.getElementById("learning")?.innerText)`)
	p.until(`!document.getElementById("together")`)
	p.until(`navigator.storage.getDirectory().then((root) => root.getDirectoryHandle("learning")).then((folder) => folder.getDirectoryHandle("together")).then(() => false, () => true)`)
	p.clean()
}

func TestTogetherHasItsGerman(t *testing.T) {
	script, err := os.ReadFile("learn/together.js")
	require.NoError(t, err)
	german := readTexts(t, "de.json", "de.sessions.json", "de.together.json")
	texts := regexp.MustCompile(`\bt\(\s*(?:\{\s*one:\s*)?"([^"]+)"`).FindAllSubmatch(script, -1)
	require.Greater(t, len(texts), 25)
	for _, text := range texts {
		assert.Contains(t, german, string(text[1]))
	}
}
