package site

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"mrprism/model"
	"mrprism/shaders/gpu"
)

const sampleDone = `!document.getElementById("save").hidden && !document.getElementById("legend").hidden && document.getElementById("progress").hidden`

// press sends one key as a user would.
func (p *page) press(key string, shift bool) {
	p.t.Helper()
	modifiers := int64(0)
	if shift {
		modifiers = 8
	}
	codes := map[string]int64{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
	text := ""
	if len(key) == 1 {
		text = key
	}
	if key == "Enter" {
		text = "\r"
	}
	code := codes[key]
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		params := input.DispatchKeyEventParams{Type: kind, Key: key, WindowsVirtualKeyCode: code, Modifiers: modifiers}
		if kind == input.DispatchKeyEventTypeKeyDown && text != "" {
			params.Text = text
		}
		p.run(command(input.DispatchKeyEvent, params))
	}
}

func (p *page) sample() {
	p.t.Helper()
	p.do(`document.querySelector("[data-action=sample]").click()`)
	p.until(sampleDone)
}

// choose takes another model.
func (p *page) choose(model string) {
	p.t.Helper()
	p.do(fmt.Sprintf(`(() => { const model = document.getElementById("model"); model.value = %q; model.dispatchEvent(new Event("change")); })()`, model))
}

func TestSampleInThePage(t *testing.T) {
	t.Parallel()
	s := drawn(t)
	p := open(t, s, 1200, 800)
	p.ready()
	p.sample()
	p.viewed()
	assert.Equal(t, "webgl", get[string](p, `document.querySelector("#stage > canvas").getContext("2d") ? "canvas" : "webgl"`), "Ebitengine draws")
	rows := get[[]string](p, `[...document.querySelectorAll("#measure-body tr")].map((row) => [...row.children].map((cell) => cell.textContent).join("|"))`)
	assert.Equal(t, []string{"Cup/disc, vertical0.52", "TrustedDoubt", "experts' range 0.47 – 0.58", "90 % interval 0.42 – 0.66"}, get[[]string](p, `[...document.getElementById("headline").children].map(({ textContent }) => textContent)`))
	assert.Regexp(t, `^experts' range\|25.131 – 28.072\|$`, rows[1])
	assert.Regexp(t, `^90 % interval\|24.062 – 29.943\|$`, rows[2])
	assert.Equal(t, "Consensus, Rec3.", get[string](p, `document.getElementById("measure-note").textContent`))
	p.do(`document.querySelectorAll("#headline .term")[1].click()`)
	assert.Equal(t, "90 % interval: it is made to hold the experts' majority in 90 of 100 images like those that it was learned from.", p.text("meaning"))
	assert.Contains(t, get[string](p, `document.getElementById("status").textContent`),
		"Done in 1.2 seconds. Vertical cup to disc ratio 0.52, experts' range 0.47 to 0.58, 90 percent interval 0.42 to 0.66. Trusted. Disc: ")
	assert.Contains(t, get[string](p, `document.getElementById("about-list").innerText`), "Test adapter [mock]")
	assert.True(t, get[bool](p, `document.getElementById("raters").hidden`), "agreement levels have no sliders")
	assert.Equal(t, "at least 1 of 4 experts", get[string](p, `document.getElementById("level-text").textContent`))
	assert.Contains(t, get[string](p, `document.getElementById("recurrences").textContent`), "levels of agreement equally; each")

	// Level 3, shown at once.
	p.do(`(() => { const level = document.getElementById("level"); level.value = 3; level.dispatchEvent(new Event("input")); })()`)
	p.until(`document.getElementById("legend").innerText.includes("at least 3 of 4 experts")`)
	p.do(`(() => { const r = document.getElementById("recurrence"); r.value = 0; r.dispatchEvent(new Event("input")); })()`)
	p.until(`document.getElementById("legend").innerText.includes("(Rec0)")`)
	legend := func() string { return get[string](p, `document.getElementById("legend").innerText`) }
	assert.Contains(t, legend(), "at least 3 of 4 experts (Rec3)")
	assert.Contains(t, legend(), "Disc: probability, 0 – 100 % (Rec0)")
	p.do(`document.querySelector("input[value=disagreement]").click()`)
	p.until(`document.getElementById("legend").innerText.includes("two experts differ")`)
	assert.Regexp(t, `two experts differ, 0 – \d+ % \(Rec3\)`, legend())
	p.do(`document.querySelector("input[value=heat]").click()`)

	// Another model: named raters, each with a contour and a weight.
	p.choose("raters")
	p.until(`document.querySelectorAll("#rater-list li").length === 7 && !document.getElementById("raters").hidden && document.getElementById("progress").hidden`)
	p.do(`(() => { const w = document.querySelector("input[name=weight]"); w.value = 20; w.dispatchEvent(new Event("input")); })()`)
	p.until(`document.querySelector("#rater-list output").textContent === "20 %"`)
	assert.Equal(t, []string{"20 %", "14 %", "14 %", "13 %", "13 %", "13 %", "13 %"}, get[[]string](p, `[...document.querySelectorAll("#rater-list output")].map((o) => o.textContent)`), "they add up to 100")
	assert.Contains(t, get[string](p, `document.getElementById("recurrences").textContent`), "raters equally, or as their sliders say;")
	p.run(chromedp.EmulateViewport(320, 640))
	p.until(`innerWidth === 320`)
	assert.Zero(t, get[int](p, `(() => { const panel = document.getElementById("panel"); return panel.scrollWidth - panel.clientWidth; })()`), "nothing to scroll sideways to")
	assert.Equal(t, "sample.jpg · 1536 × 1152", get[string](p, `document.querySelector("#opened .file").innerText`))
	p.click("close")
	p.until(`document.getElementById("welcome")?.checkVisibility() && document.getElementById("file-line").textContent === ""`)
	p.clean()
}

// Weights of named raters that have not learned to follow one of them have contours and no sliders.
func TestRatersWithoutWeights(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, func(text string) string { return strings.Replace(text, "steered: true", "steered: false", 1) }), 1200, 800)
	p.ready()
	p.choose("raters")
	p.sample()
	assert.Equal(t, []int{7, 7, 0}, get[[]int](p, `["#rater-list li", "input[name=rater]", "input[name=weight]"].map((s) => document.querySelectorAll(s).length)`))
	assert.Equal(t, []bool{false, true, false}, get[[]bool](p, `["raters", "raters-equal", "raters-unsteered"].map((id) => document.getElementById(id).hidden)`))
	p.clean()
}

func TestKeyboardReachesEverything(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.sample()
	p.do(`document.getElementById("recurrences").open = true, document.activeElement.blur()`)
	reached := map[string]bool{}
	for range 60 {
		p.press("Tab", false)
		id := get[string](p, `document.activeElement === document.body ? "" : document.activeElement.id || document.activeElement.name || document.activeElement.textContent.trim()`)
		if id == "" && len(reached) > 5 {
			break
		}
		reached[id] = true
		assert.True(t, id == "" || get[bool](p, `document.activeElement.matches(":focus-visible")`), "focus shows on %s", id)
	}
	for _, id := range []string{"theme", "stage", "zoom-in", "zoom-fit", "close", "model", "own", "contour", "map", "structure", "opacity", "level-shown", "level", "recurrence",
		"place", "region-auto", "region-none", "save-json", "save-csv"} {
		assert.True(t, reached[id], "Tab reaches %s", id)
	}
	// Every control has a name for a screen reader.
	assert.Empty(t, get[[]string](p, `[...document.querySelectorAll("button, input, select, [role]")].filter((e) => e.checkVisibility?.() !== false && !e.hidden &&
		!(e.ariaLabel || e.getAttribute("aria-labelledby") || e.labels?.length || e.textContent.trim() || e.getAttribute("role") === "status" || e.closest("[hidden]"))).map((e) => e.outerHTML.slice(0, 90))`))

	// The stage: plus zooms in, arrows move, 0 fits.
	p.do(`document.getElementById("stage").focus()`)
	fit := get[string](p, `document.getElementById("zoom").textContent`)
	p.press("+", true)
	p.until(fmt.Sprintf(`document.getElementById("zoom").textContent !== %q`, fit))
	p.press("0", false)
	p.until(fmt.Sprintf(`document.getElementById("zoom").textContent === %q`, fit))

	// Moved to the edge, it stays in view in a smaller window.
	p.seen()
	p.press("+", true)
	for range 4 {
		p.press("ArrowLeft", true)
	}
	before := get[float64](p, `seen[1]`)
	p.run(chromedp.EmulateViewport(900, 800))
	p.until(fmt.Sprintf(`seen[1] < %v && seen[1] < document.getElementById("stage").clientWidth`, before))
	p.clean()
}

func TestPlacingTheRegion(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.sample()
	p.do(`document.getElementById("place").click()`)
	x := get[float64](p, `document.getElementById("region-x").valueAsNumber`)
	p.press("ArrowRight", true)
	p.press("ArrowRight", true)
	assert.Greater(t, get[float64](p, `document.getElementById("region-x").valueAsNumber`), x)
	p.do(`(() => { const side = document.getElementById("region-side"); side.value = 300; side.dispatchEvent(new Event("input")); document.getElementById("stage").focus(); })()`)
	p.press("Enter", false)
	p.until(`document.getElementById("region-line").textContent.includes("300 × 300 px") && document.getElementById("region-line").textContent.endsWith("by hand")`)
	p.until(sampleDone)

	// By dragging, and given up with Escape: nothing changes.
	line := get[string](p, `document.getElementById("region-line").textContent`)
	p.do(`document.getElementById("place").click()`)
	mouse := func(kind input.DispatchMouseEventType, x, y float64) chromedp.Action[chromedp.Void] {
		return command(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1})
	}
	p.run(mouse(input.DispatchMouseEventTypeMousePressed, 120, 200), mouse(input.DispatchMouseEventTypeMouseMoved, 200, 260), mouse(input.DispatchMouseEventTypeMouseReleased, 200, 260))
	assert.NotEqual(t, 300.0, get[float64](p, `document.getElementById("region-side").valueAsNumber`), "a drag on bare ground draws a new square")
	p.press("Escape", false)
	p.until(`document.getElementById("placing").hidden`)
	p.do(`document.getElementById("place").click(), document.getElementById("place-cancel").focus()`)
	p.press("Enter", false)
	p.until(`document.getElementById("placing").hidden`)
	assert.Equal(t, "stage", get[string](p, `document.activeElement.id`), "the focus is not lost with the button")
	assert.Equal(t, line, get[string](p, `document.getElementById("region-line").textContent`))
	p.do(`document.getElementById("region-none").click()`)
	p.until(`document.getElementById("region-line").textContent === "The whole image"`)
	p.clean()
}

// The corner stays where it is while a side is typed digit by digit, and while the side is already
// the smallest or the largest.
func TestPlacedSquareStays(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.sample()
	p.click("place")
	square := func() []int {
		return get[[]int](p, `["x", "y", "side"].map((key) => document.getElementById("region-" + key).valueAsNumber)`)
	}
	for key, value := range map[string]int{"x": -100, "y": -90, "side": 400} {
		p.slide("#region-"+key, value)
	}
	p.do(`document.getElementById("region-side").focus(), document.getElementById("region-side").select()`)
	for _, digit := range []string{"3", "5", "0"} {
		p.press(digit, false)
	}
	assert.Equal(t, []int{-100, -90, 350}, square())
	p.do(`document.getElementById("region-side").select()`)
	p.press("3", false)
	p.do(`document.getElementById("stage").focus()`) // that is all that was meant
	assert.Equal(t, []int{-12, -12, 16}, square(), "the smallest square, a quarter of it on the photograph")
	p.press("-", false)
	p.press("-", false)
	assert.Equal(t, []int{-12, -12, 16}, square())
	p.press("ArrowRight", false)
	moved := square()
	assert.Greater(t, moved[0], -12, "from where it is, not from where it was wanted")
	p.press("-", false)
	assert.Equal(t, moved, square())

	for key, value := range map[string]int{"side": 9999, "x": -500, "y": -600} {
		p.slide("#region-"+key, value)
	}
	p.do(`document.getElementById("stage").focus()`)
	assert.Equal(t, []int{-500, -600, 3072}, square())
	p.press("+", true)
	assert.Equal(t, []int{-500, -600, 3072}, square())
	p.clean()
}

// saving catches what the page hands to the browser to download: saved has addresses by name, blobs
// contents by address.
func (p *page) saving() {
	p.t.Helper()
	p.do(`globalThis.saved = {}, HTMLAnchorElement.prototype.click = function () { const name = this.download; saved[name] = this.href; }`)
	p.do(`globalThis.blobs = {}, globalThis.plain = URL.createObjectURL.bind(URL), URL.createObjectURL = (blob) => { const url = plain(blob); blobs[url] = blob; return url; }`)
}

// record is the image in a table of one line. The worker of the tests writes records, not cells.
func (p *page) record(name string) map[string]any {
	p.t.Helper()
	p.until(fmt.Sprintf(`saved[%q]`, name))
	return get[[]map[string]any](p, fmt.Sprintf(`blobs[saved[%q]].text().then(JSON.parse)`, name))[0]
}

func TestSavedFiles(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.sample()
	p.saving()
	p.do(`document.getElementById("save-json").click(), document.getElementById("save-csv").click(), document.querySelector("[aria-label='Mask PNG of disc']").click()`)
	p.until(`saved["sample_disc_mask.png"]`)
	record := get[map[string]any](p, `blobs[saved["sample.json"]].text().then(JSON.parse)`)
	assert.Equal(t, "sample.jpg", record["image"])
	assert.EqualValues(t, 1536, record["width"])
	ratio := record["measurements"].(map[string]any)["verticalRatio"].(map[string]any)
	assert.Equal(t, map[string]any{"low": 0.42, "high": 0.66, "coverage": 0.9}, ratio["interval"])
	assert.Equal(t, []any{true, []any{}, 0.25}, []any{record["found"], record["doubts"], record["doubt"]})
	assert.Contains(t, record, "device")
	assert.Equal(t, "f32", record["precision"])
	assert.Equal(t, map[string]any{"title": "Fundus: optic disc and cup", "sha256": "ab12", "shipped": true}, record["weights"])
	line := p.record("sample.csv")
	assert.Equal(t, []any{"sample.jpg", 0., "", ""}, []any{line["image"], line["slice"], line["error"], line["decided_by"]})
	assert.Equal(t, record["measurements"].(map[string]any)["verticalRatio"], line["result"].(map[string]any)["measurements"].(map[string]any)["verticalRatio"])
	assert.Equal(t, map[string]any{"x": 860., "y": 392., "side": 369., "whole": false, "by": "found"}, record["region"])
	assert.Equal(t, "image/png", get[string](p, `blobs[saved["sample_disc_mask.png"]].type`))

	// What is saved is the recurrence that is shown, and its name says so.
	p.slide("#recurrence", 0)
	p.do(`document.querySelector("[aria-label='Mask PNG of disc']").click(), document.querySelector("[aria-label='Probability PNG of cup']").click()`)
	p.until(`saved["sample_disc_mask_rec0.png"] && saved["sample_cup_rec0.png"]`)
	p.do(`document.querySelector("[aria-label='Mask PNG of cup']").focus()`)
	p.press("Enter", false)
	p.until(`saved["sample_cup_mask_rec0.png"]`)
	assert.Equal(t, "Mask PNG of cup", get[string](p, `document.activeElement.ariaLabel`), "the focus stays with the button")
	assert.Equal(t, "Mu\u0308ller_1", get[string](p, `import("./exports.js").then(({ stem }) => stem("Mu\u0308ller 1.png"))`), "accents that stand by themselves are letters' parts")
	bytes := func(name string) int { return get[int](p, fmt.Sprintf(`blobs[saved[%q]].size`, name)) }
	assert.NotEqual(t, bytes("sample_disc_mask.png"), bytes("sample_disc_mask_rec0.png"), "another mask")
}

// A cup that was not found is said to be missing, and has no ratio of 0.
func TestCupThatWasNotFound(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.drop("nocup.jpg", readBuilt(t, "sample.jpg"))
	p.until(sampleDone)
	assert.Equal(t, []string{"Cup/disc, vertical", "no cup found"}, get[[]string](p, `[...document.querySelectorAll(".headline > *")].map((cell) => cell.textContent)`))
	assert.Contains(t, get[string](p, `document.getElementById("status").textContent`), "No cup found. Disc: ")
	p.saving()
	p.do(`document.getElementById("save-json").click()`)
	assert.Equal(t, map[string]any{"inner": "cup", "outer": "disc", "value": nil, "low": nil, "high": nil},
		get[map[string]any](p, `blobs[saved["nocup.json"]].text().then((text) => JSON.parse(text).measurements.verticalRatio)`))
	p.clean()
}

func TestErrorsLeaveThePageUsable(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.sample()
	p.drop("notes.png", []byte("not an image"))
	p.until(`!document.getElementById("banner").hidden`)
	assert.Contains(t, get[string](p, `document.getElementById("banner").innerText`), "notes.png")
	assert.Contains(t, get[string](p, `document.getElementById("banner").innerText`), "Open a PNG, JPEG, TIFF, BMP, WebP, DICOM or NIfTI image.")
	assert.True(t, get[bool](p, sampleDone), "the earlier result is still there")
	assert.Contains(t, get[string](p, `document.getElementById("file-line").textContent`), "sample.jpg")

	// The worker dies: it is started again, and the same file can be tried.
	photo := readBuilt(t, "sample.jpg")
	p.drop("crash.jpg", photo)
	p.until(`document.getElementById("banner").innerText.includes("started again")`)
	p.until(`!document.getElementById("model").disabled`)
	p.drop("fine.jpg", photo)
	p.until(`document.getElementById("file-line").textContent.includes("fine.jpg") && ` + sampleDone)
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`), "opening another file takes the message away")

	// It dies with more questions waiting, and each of them fails in it: the page starts one new
	// worker.
	assert.Equal(t, 6, get[int](p, `(async () => {
		const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "crash.jpg");
		const all = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(() => mrprism.segment(image, { model: "levels" })));
		return all.filter(({ reason }) => reason?.code === "crashed").length;
	})()`))
	p.ready()
	p.drop("fine-too.jpg", photo)
	p.until(`document.getElementById("file-line").textContent.includes("fine-too.jpg") && ` + sampleDone)

	// A model that cannot be had leaves the one whose mask is shown.
	p.drop("unready.jpg", photo)
	p.until(`document.getElementById("file-line").textContent.includes("unready.jpg") && ` + sampleDone)
	p.choose("raters")
	p.until(`document.getElementById("banner").innerText.includes("could not be downloaded")`)
	assert.True(t, get[bool](p, `document.getElementById("banner").getBoundingClientRect().bottom < document.getElementById("legend").getBoundingClientRect().top`),
		"the message hides no part of the legend")
	p.until(`document.getElementById("model").value === "levels" && ` + sampleDone)
	assert.Contains(t, get[string](p, `document.getElementById("about-list").innerText`), "Fundus")

	// Cancelling leaves things as they were.
	p.drop("slow.jpg", photo)
	p.until(`!document.getElementById("progress").hidden && document.getElementById("progress-text").textContent.includes("Segmenting")`)
	p.do(`document.getElementById("cancel").click()`)
	p.until(`document.getElementById("progress").hidden`)
	assert.Equal(t, "Cancelled.", get[string](p, `document.getElementById("status").textContent`))
	p.clean()
}

// A photograph that is being opened goes on with the model that was chosen last. A job that is
// cancelled before it began never begins.
func TestPhotographThatWaits(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.asking()
	p.drop("queued.jpg", readBuilt(t, "sample.jpg"))
	p.until(`asked.length === 1`) // the worker has it, and is busy
	p.choose("raters")
	p.until(`document.getElementById("about-list").innerText.includes("Newborn brain") && ` + sampleDone)

	p.do(`document.getElementById("region-none").click(), document.getElementById("cancel").click()`)
	p.until(`document.getElementById("progress").hidden`)
	p.do(`(async () => mrprism.segment(await (await fetch("sample.jpg")).blob()))()`) // the worker answers what came before first
	assert.NotEqual(t, "The whole image", get[string](p, `document.getElementById("region-line").textContent`))
	p.clean()
}

func TestWithoutWebGPU(t *testing.T) {
	t.Parallel()
	s := mock(t, func(text string) string { return strings.Replace(text, "const gpu = true", "const gpu = false", 1) })
	p := open(t, s, 1200, 800)
	p.ready()
	p.until(`document.getElementById("banner").innerText.includes("no WebGPU") && document.getElementById("adapter").innerText.includes("Processor (no WebGPU)")`)
	assert.Contains(t, get[string](p, `document.getElementById("about-list").textContent`), "no GPU adapter: opening the device: this browser has no WebGPU")
	p.sample()

	// Other reasons have their own words. They are texts of gpu.js and of Go.
	script := string(readBuilt(t, "gpu.js"))
	no := func(reason string) error {
		assert.Contains(t, script, `"`+reason+`"`)
		return fmt.Errorf("no GPU can be used: %w: opening the device: %s", gpu.ErrNoAdapter, reason)
	}
	const offered = "the browser offers no GPU (switched off, blocked, or lost twice within minutes)"
	for _, c := range []struct {
		reason error
		had    bool
		chip   string
	}{
		{no("this browser has no WebGPU"), true, "no WebGPU"},
		{no("the page was not loaded over https or from this machine"), false, "no WebGPU"},
		{no(offered), false, "no GPU"},
		{no(offered), true, "GPU lost"},
		{fmt.Errorf("%w: reading: gone", gpu.ErrLost), true, "GPU lost"},
		{fmt.Errorf("%w: 3 buffers", gpu.ErrOutOfMemory), true, "GPU out of memory"},
		{fmt.Errorf("%w: compiling", gpu.ErrValidation), true, "GPU failed"},
		{fmt.Errorf("%w: compiling", gpu.ErrInternal), true, "GPU failed"},
		{model.ErrNothing, true, "GPU failed"},
		{model.ErrWrong, true, "GPU failed"},
		{context.DeadlineExceeded, false, "GPU failed"},
	} {
		why := get[map[string]string](p, fmt.Sprintf(`import("./adapter.js").then(({ whyProcessor }) => whyProcessor(%q, %t))`, c.reason, c.had))
		assert.Equal(t, c.chip, why["chip"], c.reason)
		assert.Regexp(t, `^[A-Z][^-]+\.$`, why["next"], "what a user of the page can do, and no flag")
		assert.Equal(t, c.chip == "no WebGPU", strings.Contains(why["sentence"], "WebGPU"), c.reason)
	}
	p.clean()
}
