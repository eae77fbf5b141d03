package site

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/program/programtest"
)

// plate is a field of 25 cells of 500 × 500 pixels, and a person's labels of the first n: larger by
// some pixels, and shifted.
func plate(t *testing.T, n, larger, shift int) (picture, labels []byte, objects []map[string]any) {
	t.Helper()
	shown, marked := image.NewGray(image.Rect(0, 0, 500, 500)), image.NewGray16(image.Rect(0, 0, 500, 500))
	for i := range 500 * 500 {
		x, y := i%500, i/500
		at := func(x int) float64 { return float64(x%100) - 50 }
		shown.Pix[i] = uint8(90 + (x*7+y*13)%23)
		if math.Hypot(at(x), at(y)) < 32 {
			shown.Pix[i] += 60
		}
		if number := 1 + y/100*5 + x/100; number <= n && math.Hypot(at(x)-float64(shift), at(y)) < float64(32+larger) {
			marked.SetGray16(x, y, color.Gray16{Y: uint16(number)})
		}
	}
	for number := range n {
		objects = append(objects, map[string]any{"number": number + 1, "by": "model", "disagreement": 20, "doubt": 0.5})
	}
	encoded := func(m image.Image) []byte {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, m))
		return b.Bytes()
	}
	return encoded(shown), encoded(marked), objects
}

// fieldSession is the session of a person who found cells in a plate, and has no mask.
func fieldSession(t *testing.T, grader string, n, larger, shift int) []byte {
	t.Helper()
	type fields = map[string]any
	picture, labels, objects := plate(t, n, larger, shift)
	sum := fmt.Sprintf("%x", sha256.Sum256(picture))
	text, err := json.Marshal(fields{"format": "MrPrism session", "version": 1, "grader": grader, "saved": "2026-11-30", "readings": []fields{{
		"image": fields{"sha256": sum, "name": "plate.png", "slice": 0, "slices": 1}, "review": "accepted", "decided": "2026-11-30T05:00:00Z",
		"field": fields{"class": "cell", "file": "fields/1_1.png", "changed": true, "objects": objects}, "result": fields{"classes": []string{"cell"}},
	}}})
	require.NoError(t, err)
	return zipped(t, map[string][]byte{"session.json": text, "fields/1_1.png": labels, "images/" + sum + ".png": picture})
}

// Three people's sessions of one field of 25 cells come together in the page alone: who found what
// and how alike, everybody's outlines and the fused cells, figures, a data set that "train check"
// passes, and a model that learns from it, to its end (8 minutes) if MRPRISM_LARGE is set.
func TestFieldsOfThreePeople(t *testing.T) {
	t.Parallel()
	_, files := shippedModel(t, "cells")
	s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper}), files)
	s.wishes, s.patience = "?device=processor&steps=4", 8*deadline
	p := open(t, s, 1366, 900)
	p.ready()
	p.choose("cells")
	p.saving()
	folder := t.TempDir()
	var paths []string
	for name, data := range map[string][]byte{"ann": fieldSession(t, "Ann", 25, 0, 0), "ben": fieldSession(t, "Ben", 24, 3, 2), "eve": fieldSession(t, "Eve", 23, -2, 4)} {
		path := filepath.Join(folder, name+".mrprism")
		require.NoError(t, os.WriteFile(path, data, 0o644))
		paths = append(paths, path)
	}
	p.click("together-open")
	p.until(`document.getElementById("together")?.open`)
	p.upload("together input[type=file]", paths...)
	says := func(text string) { p.until(`/` + text + `/.test(document.getElementById("together")?.innerText)`) }
	says(`Ready\.`)
	says(`Objects: cell`)
	says(`Found by one\s+25\s+23\s+1\s+1`)
	says(`People\s+PQ\s+F1 at 0\.5\s+F1 at 0\.75\s+Dice of matched objects\s+Ann, Ben\s+0\.\d+\s+0\.980\s+0\.980`)
	p.until(`[...document.querySelectorAll("#together label.check")].map((one) => one.textContent).join() === "Ann,Ben,Eve,Majority,STAPLE"`)
	labels := `(async () => { const top = await navigator.storage.getDirectory(); let at = top; for (const name of ["learning", "together", "shown"]) at = await at.getDirectoryHandle(name); const bytes = new Uint8Array(await (await (await at.getFileHandle("cell")).getFile()).arrayBuffer()); return [0, 1, 2, 3].map((i) => bytes.subarray(i * 250000, (i + 1) * 250000).reduce((n, v) => n + (v > 0), 0)); })()`
	areas := get[[]int](p, labels)
	assert.InDelta(t, 25*math.Pi*32*32, areas[0], 900)
	assert.InDelta(t, 24*math.Pi*35*35, areas[1], 900)
	assert.InDelta(t, 25*math.Pi*32*32, areas[3], 2500, "the fused cells, of which one has one finder")
	if shots := os.Getenv("MRPRISM_SCREENSHOTS"); shots != "" {
		axe, _ := os.ReadFile(os.Getenv("MRPRISM_AXE"))
		for name, size := range map[string][2]int64{"laptop": {1366, 900}, "kiosk": {1920, 1080}, "phone": {390, 844}} {
			for _, theme := range []string{"light", "dark"} {
				p.run(chromedp.EmulateViewport(size[0], size[1]))
				p.run(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}))
				for part, scroll := range map[string]string{"top": "0", "end": "1e6"} {
					p.do(`document.getElementById("together").scrollTo(0, ` + scroll + `)`)
					p.still()
					p.shot(filepath.Join(shots, fmt.Sprintf("fields-%s-%s-%s.png", name, theme, part)))
				}
				if axe != nil {
					assert.Empty(t, get[[]string](p, string(axe)+`; axe.run("#together", { resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 160)).join(" | ")))`), name+theme)
				}
			}
		}
	}
	press := func(text string) {
		p.do(`[...document.querySelectorAll("#together button")].find((one) => one.textContent === "` + text + `").click()`)
	}
	press("Figures CSV")
	p.until(`Object.keys(saved).some((name) => name.startsWith("mrprism-object-pairs-"))`)
	p.until(`Object.keys(saved).some((name) => name.startsWith("mrprism-objects-"))`)
	checked := func(kind, says string) {
		t.Helper()
		p.do(`[...document.querySelectorAll("#together select")].find(({ value }) => ["crops", "fields", "save"].includes(value)).value = "` + kind + `"`)
		p.do(`Object.keys(saved).forEach((name) => delete saved[name]), 0`)
		press("Save as data set")
		data := p.savedAs(".zip")
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		out := filepath.Join(t.TempDir(), "data")
		require.NoError(t, os.CopyFS(out, archive))
		check, err := exec.Command(filepath.Join(programtest.Build(t, ".", "./cmd/train"), "train"), "check", out).CombinedOutput()
		require.NoError(t, err, string(check))
		assert.Contains(t, string(check), "errors: 0", kind)
		assert.Contains(t, strings.Join(strings.Fields(string(check)), " "), says, kind)
	}
	checked("fields", "1 rater, 2 classes")
	checked("save", "3 raters, 1 class")
	checked("crops", "25 images, ")
	press("Learn from these marks")
	p.until(`/Images: 25\. People: Ann, Ben, Eve\. Structures: cell/.test(document.getElementById("learning")?.innerText)`)
	p.do(`[...document.querySelectorAll("#learning button")].find(({ textContent, hidden, disabled }) => textContent === "Learn" && !hidden && !disabled).click()`)
	p.until(`/Step \d of 7|stopped/.test(document.getElementById("learning")?.innerText)`)
	assert.Regexp(t, `Run 1 of 6: Step \d of 7`, get[string](p, `document.getElementById("learning").innerText`))
	if os.Getenv("MRPRISM_LARGE") != "" { // minutes
		p.until(`/Soft Dice 0\.\d+ before and 0\.\d+ after, on 25 images/.test(document.getElementById("learning")?.innerText)`)
		t.Log(get[string](p, `document.getElementById("learning").innerText`))
		p.do(`[...document.querySelectorAll("#learning button")].find(({ textContent }) => textContent === "Use this model").click()`)
		p.until(`document.getElementById("model").selectedOptions[0]?.text.includes("-model (")`)
	}
	p.clean()
}
