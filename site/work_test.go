package site

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// folderOf writes files into a new folder: a small photograph under each name, text where the name is
// notes.txt, and half a photograph where it is cut.png. It returns the folder and the files' paths.
func folderOf(t *testing.T, names ...string) (folder string, paths []string) {
	t.Helper()
	folder = t.TempDir()
	whole := photo(t, 320, 240)
	for _, name := range names {
		data := whole
		switch filepath.Base(name) {
		case "notes.txt":
			data = []byte("this is text")
		case "cut.png":
			data = whole[:len(whole)/3]
		}
		path := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o644))
		paths = append(paths, path)
	}
	return folder, paths
}

// upload chooses files in a file field, as the browser's dialog does.
func (p *page) upload(id string, paths ...string) {
	p.t.Helper()
	p.run(chromedp.SetUploadFiles("#"+id, paths))
}

// dragIn drops files and folders from outside of the browser.
func (p *page) dragIn(paths ...string) {
	p.t.Helper()
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		p.run(command(input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: 300, Y: 300, Data: data}))
	}
}

// textOfLine is what a line says, by pieces.
const textOfLine = `(line) => [...line.querySelectorAll(".name, .facts > *")].map(({ textContent }) => textContent).join(", ")`

// lines are those that the list shows: name and what it says of them.
func (p *page) lines() []string {
	p.t.Helper()
	return get[[]string](p, `[...document.querySelectorAll("#work-lines [role=option]:not([hidden])")].map(`+textOfLine+`)`)
}

// said waits until the line of a file says something.
func (p *page) said(name, what string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`[...document.querySelectorAll("#work-lines [role=option]")].map(%s).some((text) => text.startsWith(%q) && text.includes(%q))`, textOfLine, name+",", what))
}

// allComputed waits until no line waits.
func (p *page) allComputed() {
	p.t.Helper()
	p.until(`document.getElementById("work-meter").hidden && ` + sampleDone)
}

func (p *page) chosen() string {
	p.t.Helper()
	return get[string](p, `document.querySelector("#work-lines [aria-selected=true] .name").textContent`)
}

// pick clicks the line of a file.
func (p *page) pick(name string) {
	p.t.Helper()
	p.do(fmt.Sprintf(`[...document.querySelectorAll("#work-lines .line")].find((line) => line.querySelector(".name").textContent === %q).click()`, name))
}

func (p *page) onStage(name string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.getElementById("file-line").textContent.startsWith(%q) && `, name) + sampleDone)
}

// Several files become a list. It is computed in the background, and wrong files are lines with errors.
func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	_, paths := folderOf(t, "one.png", "notes.txt", "odd.png", "cut.png", "nodisc.png", "two.png")
	p.upload("file", paths[0])
	p.onStage("one.png")
	assert.False(t, p.visible("worklist"), "one image is no list")

	p.upload("file", paths...)
	p.allComputed()
	assert.Equal(t, []string{
		"one.png, done, Cup/disc, vertical, 0.52, trusted",
		"notes.txt, failed, this is a text file, not an image, whatever its name says.",
		"odd.png, done, Cup/disc, vertical, 0.52, do not use",
		"cut.png, failed, this is a text file, not an image, whatever its name says.",
		"nodisc.png, done, nothing found",
		"two.png, done, Cup/disc, vertical, 0.52, trusted",
	}, p.lines())
	assert.Equal(t, "one.png", p.chosen())
	assert.Equal(t, "All 6 images are computed. 4 to review.", p.text("status"))
	assert.Equal(t, "6 of 6 computed", p.text("work-computed"))
	assert.Equal(t, 4, get[int](p, `document.querySelectorAll("#work-lines img").length`), "small pictures")
	assert.LessOrEqual(t, get[int](p, `Math.max(...[...document.querySelectorAll("#work-lines img")].map(({ naturalWidth, naturalHeight }) => Math.max(naturalWidth, naturalHeight)))`), 96)
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`), "a wrong file stops nobody")

	// A line is chosen by a click. What failed is tried again, and says why.
	p.pick("two.png")
	p.onStage("two.png")
	p.pick("notes.txt")
	p.until(`document.getElementById("banner-message").textContent.includes("notes.txt")`)
	p.pick("odd.png")
	p.onStage("odd.png")
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`))

	// The view of the region stays with the next image.
	p.press("r", false)
	zoom := func() float64 { return get[float64](p, `parseFloat(document.getElementById("zoom").textContent)`) }
	region := zoom()
	p.pick("one.png")
	p.onStage("one.png")
	assert.InEpsilon(t, region, zoom(), 0.1)
	p.press("f", false)
	assert.Less(t, zoom(), region/2)
	p.pick("odd.png")
	p.onStage("odd.png")

	// The filter shows what a person should look at, and the line that was chosen.
	p.click("work-filter")
	assert.Len(t, p.lines(), 4)
	p.press("a", false)
	p.said("odd.png", "accepted")
	assert.Equal(t, "odd.png is accepted.", p.text("status"))
	assert.Len(t, p.lines(), 4, "the line does not go under the hand")
	p.press("n", false)
	p.until(`document.querySelector("#work-lines [aria-selected=true] .name").textContent === "cut.png"`)
	assert.Len(t, p.lines(), 3)
	assert.Equal(t, "true", get[string](p, `document.getElementById("work-accepted").ariaDisabled`), "nothing to accept")
	p.until(`document.getElementById("banner-message").textContent.includes("cut.png")`)
	p.press("x", false)
	p.said("cut.png", "rejected")
	p.press("p", false)
	p.until(`document.getElementById("banner-message").textContent.includes("notes.txt")`)
	p.press("x", false)
	p.said("notes.txt", "rejected")
	p.press("x", false)
	p.said("notes.txt", "failed")
	p.click("work-filter")
	assert.Len(t, p.lines(), 6)

	// In the list itself arrow keys go from line to line, and the image follows.
	p.do(`document.getElementById("work-lines").focus()`)
	p.press("End", false)
	p.onStage("two.png")
	p.press("ArrowUp", false)
	p.onStage("nodisc.png")
	assert.Equal(t, p.chosen(), "nodisc.png")
	p.clean()
}

// The list waits while a person wants it to, and goes on.
func TestPausedList(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1024, 768)
	p.ready()
	p.asking()
	_, paths := folderOf(t, "a.png", "slow-b.png", "slow-c.png", "slow-d.png")
	p.upload("file", paths...)
	p.onStage("a.png")
	p.said("slow-b.png", "computing")
	p.click("work-pause")
	p.said("slow-b.png", "waiting")
	assert.Equal(t, "Go on", p.text("work-pause"))
	before := get[int](p, `asked.length`)
	p.pick("slow-d.png")
	p.onStage("slow-d.png")
	assert.Equal(t, before+1, get[int](p, `asked.length`), "only what a person wants to see")
	p.click("work-pause")
	p.allComputed()
	assert.True(t, get[bool](p, `asked.some(({ name, passing }) => name === "slow-b.png" && passing)`))
	p.clean()
}

// What a person drew is kept with the image, and is there again. Another drawing needs another look.
func TestCorrectionsStayWithTheirLine(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	p.saving()
	p.asking()
	_, paths := folderOf(t, "a.png", "b.png", "c.png")
	p.upload("file", paths...)
	p.allComputed()
	p.press("a", false)
	p.said("a.png", "accepted")
	plain := get[int](p, area)
	p.click("correct-start")
	p.press(" ", false)
	p.until(area + fmt.Sprintf(" !== %d", plain))
	p.said("a.png", "corrected")
	p.said("a.png", "done")
	drawn := get[int](p, area)
	p.pick("b.png")
	p.onStage("b.png")
	assert.Equal(t, plain, get[int](p, area))
	questions := get[int](p, `asked.length`)
	p.pick("a.png")
	p.onStage("a.png")
	p.until(area + fmt.Sprintf(" === %d", drawn))
	assert.Contains(t, p.text("correct-line"), "Corrected by hand: disc.")
	assert.Equal(t, questions, get[int](p, `asked.length`), "nothing is computed again")

	p.do(`document.getElementById("work-by").value = "EM", document.getElementById("work-by").oninput()`)
	p.click("work-csv")
	p.until(`Object.keys(saved).some((name) => name.endsWith(".csv"))`)
	var records []struct {
		Image, Review string
		Result        struct {
			Corrected   []struct{ Rater, Class string }
			CorrectedBy string `json:"corrected_by"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(get[string](p, `blobs[saved[Object.keys(saved)[0]]].text()`)), &records))
	require.Len(t, records, 3)
	assert.Equal(t, "EM", records[0].Result.CorrectedBy)
	assert.Len(t, records[0].Result.Corrected, 1)
	assert.Empty(t, records[1].Result.CorrectedBy)
	p.clean()
}

// A folder is chosen or dropped, with the folders in it. Hidden files are no lines.
func TestFolders(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	folder, _ := folderOf(t, "eye10.png", "eye2.png", ".hidden.png", "left/eye1.png", ".git/x.png", "left/notes.txt", "notes.txt")
	want := []string{"eye2.png", "eye10.png", "left/eye1.png"}
	names := func() []string {
		return get[[]string](p, `[...document.querySelectorAll("#work-lines .name")].map(({ textContent }) => textContent)`)
	}
	p.upload("folder", folder)
	p.allComputed()
	assert.Equal(t, want, names())
	assert.Equal(t, "2 files are no images that MrPrism reads, and were passed over.", p.text("banner-message"))

	p.click("work-close")
	p.until(`document.getElementById("welcome")?.checkVisibility() && document.getElementById("worklist")?.hidden`)
	p.ready()
	p.dragIn(folder)
	p.until(`!document.getElementById("worklist").hidden`)
	p.allComputed()
	assert.Equal(t, want, names())
	_, more := folderOf(t, "more.png", "yet-more.png")
	p.dragIn(more...)
	p.onStage("more.png")
	assert.Equal(t, append(want, "more.png", "yet-more.png"), names(), "a list grows")
	p.clean()
}

// What the watched folder brings becomes a list behind the image that is looked at.
func TestWatchedFolderFillsTheList(t *testing.T) {
	t.Parallel()
	s, f := mock(t, nil), &folder{data: photo(t, 320, 240)}
	Mount(s.inner, "/private/", f)
	s.wishes = "?watch"
	p := open(t, s, 1200, 800)
	p.ready()
	require.Eventually(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.asked > 0 }, deadline, 50_000_000)
	f.add("first.png")
	p.onStage("first.png")
	assert.False(t, p.visible("worklist"))
	f.add("second.png")
	p.said("second.png", "done")
	assert.Equal(t, "first.png", p.chosen())
	assert.Contains(t, p.text("file-line"), "first.png")
	p.until(`document.querySelectorAll("#work-lines img").length === 2`)
	p.pick("second.png")
	p.onStage("second.png")
	p.clean()
}

// A step shows the next image with its outlines at once, and the worker computes nothing. Lines are
// sorted and filtered, and a decision goes on where a person wants that.
func TestInstantSteps(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	p := open(t, s, 1200, 800)
	p.ready()
	p.asking()
	folder := t.TempDir()
	var paths []string
	size := [2]int{1152, 864}
	if os.Getenv("MRPRISM_LARGE") != "" { // to measure steps at 12 megapixels
		size = [2]int{4000, 3000}
	}
	data := photo(t, size[0], size[1])
	for _, name := range []string{"c10.png", "b2-odd.png", "c9.png", "a-high.png"} {
		paths = append(paths, filepath.Join(folder, name))
		require.NoError(t, os.WriteFile(paths[len(paths)-1], data, 0o644))
	}
	p.do(`import("./segmenter.js").then(({ Segmenter: { prototype } }) => {
		const { decode } = prototype;
		globalThis.decoded = 0, prototype.decode = async function (...of) { const made = await decode.apply(this, of); decoded++; return made; };
	})`)
	p.upload("file", paths...)
	p.allComputed()
	p.until(`decoded >= 2`) // its neighbours
	questions := get[int](p, `asked.length`)
	p.do(`(() => { const plain = setTimeout; globalThis.waits = []; globalThis.setTimeout = (f, ms = 0, ...rest) => { waits.push(ms); return plain(f, ms, ...rest); }; })()`)
	step := func(key, name string) {
		ms := get[float64](p, fmt.Sprintf(`new Promise((resolve) => {
			const start = performance.now(), look = () => document.getElementById("file-line").textContent.startsWith(%q) && %s ? requestAnimationFrame(() => resolve(performance.now() - start)) : setTimeout(look);
			document.body.dispatchEvent(new KeyboardEvent("keydown", { key: %q, bubbles: true }));
			look();
		})`, name, sampleDone, key))
		t.Logf("%s after %.0f ms", name, ms)
	}
	step("n", "b2-odd.png")
	step("p", "c10.png")
	step("n", "b2-odd.png")
	step("n", "c9.png")
	assert.NotContains(t, get[[]float64](p, `waits`), 250., "a step back waits for no further step (LINE_DELAY, work.js)")
	step("n", "a-high.png")
	step("p", "c9.png")
	assert.Equal(t, questions, get[int](p, `asked.length`), "the worker is asked for nothing but pixels")

	order := func(by string, want ...string) {
		p.do(`document.getElementById("work-sort").value = "` + by + `", document.getElementById("work-sort").onchange()`)
		assert.Equal(t, want, get[[]string](p, `[...document.querySelectorAll("#work-lines [role=option]:not([hidden]) .name")].map(({ textContent }) => textContent)`), by)
	}
	order("name", "a-high.png", "b2-odd.png", "c9.png", "c10.png")
	order("doubt", "b2-odd.png", "c10.png", "c9.png", "a-high.png")
	order("trust", "b2-odd.png", "c10.png", "c9.png", "a-high.png")
	order("ratio", "a-high.png", "c10.png", "b2-odd.png", "c9.png")
	p.do(`document.getElementById("work-text").value = "C", document.getElementById("work-text").oninput()`)
	order("name", "c9.png", "c10.png")
	p.click("work-onward")
	p.press("a", false)
	p.onStage("c10.png")
	p.said("c9.png", "accepted")
	p.clean()
}

// Decisions that are typed faster than images are shown are each for the image that keys had
// reached: 12 of 12, at any speed, and whether images are computed or not.
func TestFastDecisions(t *testing.T) {
	t.Parallel()
	const keys = "AXAAXXAXAAXA"
	p := open(t, mock(t, nil), 1200, 800)
	names, want := []string{}, []string{}
	for i, key := range keys {
		names = append(names, fmt.Sprintf("%02d.png", i))
		want = append(want, map[rune]string{'A': "accepted", 'X': "rejected"}[key])
	}
	_, paths := folderOf(t, names...)
	for _, computed := range []bool{false, true} {
		for _, ms := range []int{0, 60, 300} { // the last one is longer than LINE_DELAY (work.js)
			p.do(`globalThis.before = true, setTimeout(() => import("./unsaved.js").then(({ leave }) => leave()))`)
			p.until(`!globalThis.before && document.readyState === "complete"`)
			p.ready()
			p.upload("file", paths...)
			p.until(`!document.getElementById("worklist").hidden`)
			p.do(`document.getElementById("work-onward").checked || document.getElementById("work-onward").click()`)
			if computed {
				p.allComputed()
			}
			p.do(fmt.Sprintf(`(async () => {
				for (const key of %q) {
					document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
					if (%d) await new Promise((resolve) => setTimeout(resolve, %[2]d));
				}
			})()`, keys, ms))
			p.until(`document.getElementById("work-waiting").hidden && document.getElementById("progress").hidden`)
			assert.Equal(t, want, get[[]string](p, `[...document.querySelectorAll("#work-lines .state")].map(({ textContent }) => textContent)`), "computed %v, %d ms", computed, ms)
		}
	}
	p.clean()
}

// Ten thousand files become ten thousand lines, and the page answers keys while it computes them.
func TestTenThousandFiles(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.do(`(async () => {
		const small = document.createElement("canvas"), transfer = new DataTransfer();
		const blob = await new Promise((done) => small.toBlob(done, "image/png"));
		for (let i = 0; i < 1e4; i++) transfer.items.add(new File([blob], "eye-" + i + ".png"));
		dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
	})()`)
	p.until(`document.getElementById("work-computed").textContent.startsWith("2 of 10")`)
	for i := range 3 {
		p.press("n", false)
		assert.Equal(t, fmt.Sprintf("%d of 10\u202f000", i+2), p.text("work-at"))
	}
	assert.Equal(t, 10_000, get[int](p, `document.querySelectorAll("#work-lines .line").length`))
	p.clean()
}
