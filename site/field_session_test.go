package site

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listed are the objects in the list: number, area, roundness and words.
func (p *page) listed() []string {
	p.t.Helper()
	return get[[]string](p, `[...document.querySelectorAll("#field-list [role=option]")].map((one) => one.textContent)`)
}

// A session has the objects that the page's own worker found and a person changed, also of a turned
// picture. Opened again they are shown, and can be changed further.
func TestSessionHasTheCells(t *testing.T) {
	t.Parallel()
	s := real(t, map[string][]byte{"some.safetensors": finding(t, 0)})
	s.wishes = "?device=processor"
	p := open(t, s, 1200, 800)
	p.ready()
	p.saving()
	p.own("some.safetensors")
	folder := t.TempDir()
	path := filepath.Join(folder, "montage.png")
	require.NoError(t, os.WriteFile(path, photo(t, 240, 180), 0o644))
	p.upload("file", path)
	p.until(`!document.getElementById("field").hidden && ` + sampleDone)
	p.press("t", false)
	p.until(`document.getElementById("file-line").textContent.includes("turned") && ` + sampleDone)
	p.findAll()
	p.until(fieldShown)
	found := len(p.listed())
	require.Greater(t, found, 2, "random weights find something")
	p.do(`document.querySelector("[data-number='1']").click(), document.querySelector("[data-number='2']").dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }))`)
	p.click("field-merge")
	p.until(fmt.Sprintf(`%s && %s === %d`, fieldShown, cellCount, found-1))
	p.do(`document.getElementById("session-images").checked || document.getElementById("session-images").click()`)
	before, data := p.listed(), p.sessionOf()
	assert.Contains(t, before[0], "by you")
	files, session := unpacked(t, data)
	guide, err := os.ReadFile("guide/sessions.md")
	require.NoError(t, err)
	kept := session["readings"].([]any)[0].(map[string]any)["field"].(map[string]any)
	for field := range kept {
		assert.Contains(t, string(guide), "`"+field+"`", "a field that the guide does not explain")
	}
	assert.Equal(t, true, kept["changed"])
	assert.Equal(t, "cell", kept["class"])
	objects := kept["objects"].([]any)
	require.Len(t, objects, found-1)
	for field := range objects[0].(map[string]any) {
		assert.Contains(t, string(guide), "`"+field+"`", "a field that the guide does not explain")
	}
	assert.Equal(t, []any{"you", "model"}, []any{objects[0].(map[string]any)["by"], objects[1].(map[string]any)["by"]})
	labels, err := png.Decode(bytes.NewReader(files[kept["file"].(string)]))
	require.NoError(t, err)
	assert.Equal(t, image.Rect(0, 0, 240, 180), labels.Bounds(), "as the file lies")

	again := open(t, s, 1200, 800)
	again.ready()
	again.saving()
	again.own("some.safetensors")
	saved := filepath.Join(folder, "a.mrprism")
	require.NoError(t, os.WriteFile(saved, data, 0o644))
	again.upload("file", saved)
	again.until(fmt.Sprintf(`%s && %s === %d`, fieldShown, cellCount, found-1))
	assert.Equal(t, before, again.listed())
	assert.Equal(t, "true", get[string](again, `document.getElementById("field-undo").ariaDisabled`))
	again.do(`document.getElementById("stage").focus()`)
	again.press("ArrowRight", false)
	again.press("Delete", false)
	again.until(fmt.Sprintf(`%s && %s === %d`, fieldShown, cellCount, found-2))
	again.control("z", false)
	again.until(fmt.Sprintf(`%s && %s === %d`, fieldShown, cellCount, found-1))
	assert.Equal(t, before, again.listed())
	again.do(`globalThis.confirm = () => { globalThis.said = true; return true; }`)
	again.click("field-close")
	assert.True(t, get[bool](again, `said`), "what the person changed would be lost")
	_, session = unpacked(t, again.sessionOf())
	assert.Nil(t, session["readings"].([]any)[0].(map[string]any)["field"], "closed")
	p.clean()
	again.clean()
}

// Cells that were found are kept in this browser, and shown again where the person goes on. Damaged
// ones are named, and the rest is read.
func TestKeptCells(t *testing.T) {
	t.Parallel()
	s, profile := mock(t, nil), chromedp.UserDataDir(t.TempDir())
	p := open(t, s, 1200, 800, profile)
	p.ready()
	p.saving()
	p.upload("file", differing(t, "cells-a.png", "b.png", "cells-c.png")...)
	p.allComputed()
	p.do(`document.getElementById("session-images").click()`)
	p.click("session-keep")
	p.findAll()
	p.until(fmt.Sprintf(`%s && %s === 24`, fieldShown, cellCount))
	p.press("n", false)
	p.onStage("b.png")
	assert.False(t, p.visible("field"))
	p.press("p", false)
	p.until(fmt.Sprintf(`document.getElementById("file-line").textContent.startsWith("cells-a.png") && %s && %s === 24`, fieldShown, cellCount))
	p.do(`document.getElementById("stage").focus()`)
	p.press("ArrowRight", false)
	p.press("Delete", false)
	p.until(fmt.Sprintf(`%s && %s === 23`, fieldShown, cellCount))
	p.pick("cells-c.png")
	p.onStage("cells-c.png")
	p.findAll()
	p.until(fmt.Sprintf(`%s && %s === 24`, fieldShown, cellCount))
	p.press("p", false)
	p.press("p", false)
	p.until(fmt.Sprintf(`document.getElementById("file-line").textContent.startsWith("cells-a.png") && %s && %s === 23`, fieldShown, cellCount))
	data := p.sessionOf()
	p.until(`document.getElementById("session-line").textContent.includes("Kept in this browser")`)
	require.Eventually(t, func() bool {
		return get[string](p, `navigator.storage.getDirectory().then((root) => root.getDirectoryHandle("sessions")).then(async (folder) => {
			for await (const place of folder.values()) {
				const { readings } = JSON.parse(await (await (await place.getFileHandle("session.json")).getFile()).text());
				return readings.map(({ field }) => field?.objects.length).join();
			}
		}).catch(String)`) == "23,,24"
	}, deadline, 100*time.Millisecond)

	damaged := filepath.Join(t.TempDir(), "a.mrprism")
	require.NoError(t, os.WriteFile(damaged, bytes.Replace(data, []byte(`[{"number":2,`), []byte(`[["number":2,`), 1), 0o644))
	p.do(`(window.confirm = () => true)`)
	p.run(chromedp.Navigate(s.URL))
	p.ready()
	p.goOn()
	p.until(fmt.Sprintf(`document.getElementById("file-line").textContent.startsWith("cells-a.png") && %s && %s === 23`, fieldShown, cellCount))

	other := open(t, s, 1200, 800)
	other.ready()
	other.upload("file", damaged)
	other.until(`document.getElementById("banner-message").textContent.includes("damaged")`)
	assert.Contains(t, other.text("banner-message"), "fields/1_1.png")
	assert.Len(t, other.lines(), 3)
	p.clean()
	other.clean()
}
