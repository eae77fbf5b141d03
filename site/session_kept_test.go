package site

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A session that the browser keeps is there after the browser was killed. Another tab is told that
// it is open, and nothing is left once it is forgotten.
func TestKeptSession(t *testing.T) {
	t.Parallel()
	s, folder := mock(t, nil), t.TempDir()
	profile := chromedp.UserDataDir(folder)
	p := open(t, s, 1200, 800, profile)
	p.ready()
	p.upload("file", differing(t, "a.png", "b.png", "c.png")...)
	p.allComputed()
	p.click("session-keep")
	p.until(`document.getElementById("session-line").textContent.includes("Kept in this browser")`)
	p.press("a", false)
	p.said("a.png", "accepted")
	require.Eventually(t, func() bool { // until then a browser that is killed may lose it
		logs, err := filepath.Glob(filepath.Join(folder, "Default", "Local Storage", "leveldb", "*.log"))
		require.NoError(t, err)
		return slices.ContainsFunc(logs, func(log string) bool {
			data, _ := os.ReadFile(log)
			return bytes.Contains(data, []byte("mrprism-sessions"))
		})
	}, deadline, 50*time.Millisecond)
	require.NoError(t, chromedp.FromContext(p.ctx).Browser.Process().Kill())

	p = open(t, s, 1200, 800, profile)
	p.until(`document.querySelectorAll("#session-kept li").length === 1`)
	assert.Contains(t, p.text("session-kept"), "1 of 3 images decided")
	p.goOn()
	p.until(`document.querySelectorAll("#work-lines [role=option]").length === 3 && document.querySelectorAll("#session-kept li").length === 0`)
	assert.Contains(t, p.lines()[0], "a.png, accepted")

	ctx, cancel := chromedp.NewContext(p.ctx)
	t.Cleanup(cancel)
	other := &page{t: t, ctx: ctx}
	other.run(chromedp.Navigate(s.URL))
	other.until(`document.querySelectorAll("#session-kept li").length === 1`)
	other.goOn()
	other.until(`document.getElementById("banner-message").textContent === "This session is open in another tab of this browser."`)
	assert.False(t, other.visible("worklist"))

	p.click("session-keep")
	p.until(`!localStorage.getItem("mrprism-sessions")`)
	assert.Empty(t, get[[]string](p, `navigator.storage.getDirectory().then((root) => root.getDirectoryHandle("sessions")).then(async (folder) => { const names = []; for await (const name of folder.keys()) names.push(name); return names; })`))
	p.clean()
}

// kept are the sessions in the browser's file system: how many images are decided, by the folder, and
// how many files of images there are.
func (p *page) kept() (decided map[string]int, images int) {
	all := get[map[string]int](p, `(async () => {
		const folder = await navigator.storage.getDirectory().then((root) => root.getDirectoryHandle("sessions", { create: true })), all = { " images": 0 };
		for await (const [id, place] of folder.entries()) {
			try { // it may just be written or removed
				for await (const name of place.keys()) all[" images"] += name.startsWith("images_");
				all[id] = JSON.parse(await (await (await place.getFileHandle("session.json")).getFile()).text()).readings.filter(({ review }) => review).length;
			} catch { all[id] = -1; }
		}
		return all;
	})()`)
	images = all[" images"]
	delete(all, " images")
	return all, images
}

// A file never says what this browser keeps, and does not take the place of it. An older file of a
// session that is kept joins it if the person says so. What cannot be read is named and stays. A kiosk
// keeps nothing.
func TestKeptSessionAndItsFile(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	p := open(t, s, 1200, 800)
	p.ready()
	p.saving()
	p.upload("file", differing(t, "a.png", "b.png", "c.png")...)
	p.allComputed()
	p.press("a", false)
	p.said("a.png", "accepted")
	p.click("session-images")
	older := repacked(t, p.sessionOf(), func(s map[string]any) { s["keep"] = true })
	keeps := func(n int) { // until a session is kept with so many decisions
		t.Helper()
		p.until(`document.getElementById("session-keep").checked`)
		for decided, _ := p.kept(); !slices.Contains(slices.Collect(maps.Values(decided)), n); decided, _ = p.kept() {
			p.frame()
		}
	}
	p.click("session-keep")
	for _, name := range []string{"b.png", "c.png"} {
		p.pick(name)
		p.onStage(name)
		p.press("x", false)
		p.said(name, "rejected")
	}
	keeps(3)

	// reload loads the page anew, and answers its questions.
	reload := func(answers ...bool) <-chan string {
		asked := p.answering(answers...)
		p.do(`globalThis.old = true, setTimeout(() => import("./unsaved.js").then(({ leave }) => leave()))`)
		p.until(`globalThis.old === undefined && document.readyState === "complete"`)
		p.ready()
		p.until(`document.querySelectorAll("#session-kept li").length > 0`)
		return asked
	}
	asked := reload(false)
	p.drop("older.mrprism", older)
	assert.Contains(t, <-asked, "This browser keeps this session, with 3 of 3 images decided; older.mrprism has 1.")
	p.until(`document.querySelectorAll("#work-lines [role=option]").length === 3`)
	assert.False(t, get[bool](p, `document.getElementById("session-keep").checked`), "a file does not say what is kept")
	p.click("session-keep")
	keeps(1)
	decided, images := p.kept()
	assert.ElementsMatch(t, []int{3, 1}, slices.Collect(maps.Values(decided)))
	p.click("session-keep")
	for decided, _ = p.kept(); len(decided) > 1; decided, _ = p.kept() {
		p.frame()
	}
	assert.Equal(t, []int{3}, slices.Collect(maps.Values(decided)), "what was kept before is still there")
	assert.NotZero(t, images)

	asked = reload(true)
	p.drop("older.mrprism", older)
	assert.NotEmpty(t, <-asked)
	p.until(`document.getElementById("banner-message").textContent.startsWith("older.mrprism was joined: 0 images are new, 0 were taken over, 0 have two versions.")`)
	for i, what := range []string{"a.png, accepted", "b.png, rejected", "c.png, rejected"} {
		assert.Contains(t, p.lines()[i], what)
	}
	assert.True(t, get[bool](p, `document.getElementById("session-images").checked`), "they are kept with the rest")
	p.pick("b.png")
	p.onStage("b.png")
	p.press("x", false)
	keeps(2)
	_, images = p.kept()
	assert.Equal(t, 3, images)

	// Damaged ones are named, and hide nothing.
	p.do(`(async () => {
		const folder = await navigator.storage.getDirectory().then((root) => root.getDirectoryHandle("sessions"));
		for (const [id, text] of [["empty", ""], ["cut", "{"], ["newer", '{"format":"MrPrism session","version":2}']]) {
			const file = await folder.getDirectoryHandle(id, { create: true }).then((place) => place.getFileHandle("session.json", { create: true })).then((handle) => handle.createWritable());
			await file.write(text);
			await file.close();
		}
	})()`)
	reload()
	p.until(`document.querySelectorAll("#session-kept li").length === 4 && document.querySelectorAll("#session-kept [data-go]").length === 1`)
	assert.Contains(t, p.text("session-kept"), "newer was saved by a later version of MrPrism.")
	assert.Contains(t, p.text("session-kept"), "empty is no session")
	decided, _ = p.kept()
	assert.Len(t, decided, 4)
	p.clean()

	s.wishes, s.before = "?kiosk", `localStorage.setItem("mrprism-sessions", "yes")`
	kiosk := open(t, s, 1200, 800)
	kiosk.ready()
	kiosk.drop("older.mrprism", older)
	kiosk.until(`document.querySelectorAll("#work-lines [role=option]").length === 3`)
	kiosk.do(`document.getElementById("session-keep").click()`)
	kiosk.onStage("a.png")
	kiosk.press("x", false)
	kiosk.said("a.png", "rejected")
	decided, _ = kiosk.kept()
	assert.Empty(t, decided)
	assert.Equal(t, "yes", get[string](kiosk, `localStorage.getItem("mrprism-sessions")`), "the next page looks for what is kept")
	kiosk.clean()
}
