package site

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drag presses the mouse at the first point and drags it over the others, CSS pixels of the window.
func (p *page) drag(points ...[2]float64) {
	p.t.Helper()
	mouse := func(kind input.DispatchMouseEventType, at [2]float64) {
		p.run(command(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at[0], Y: at[1], Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1}))
	}
	mouse(input.DispatchMouseEventTypeMousePressed, points[0])
	for _, at := range points[1:] {
		mouse(input.DispatchMouseEventTypeMouseMoved, at)
	}
	mouse(input.DispatchMouseEventTypeMouseReleased, points[len(points)-1])
}

// middle is the middle of the mock's structure on the screen, by the view that the page drew
// last, and a photograph pixel's size there.
func (p *page) middle() (x, y, scale float64) {
	p.t.Helper()
	v := get[[]float64](p, `(() => { const box = document.getElementById("stage").getBoundingClientRect(); return [box.left + seen[1] + 1044 * seen[0], box.top + seen[2] + 576 * seen[0], seen[0]]; })()`)
	return v[0], v[1], v[2]
}

// seen has the page keep the view that it draws, as globalThis.seen: scale, x, y.
func (p *page) seen() {
	p.t.Helper()
	p.do(`import("./canvas2d.js").then(({ Pictures: { prototype } }) => {
		const { view } = prototype;
		prototype.view = function (...of) { globalThis.seen = of; view.apply(this, of); };
	})`)
}

// correcting opens the mock's result of a model and begins to correct it by hand.
func correcting(t *testing.T, model string, width, height int, extra ...chromedp.ExecAllocatorOption) *page {
	t.Helper()
	p := open(t, mock(t, nil), width, height, extra...)
	p.ready()
	if model != "levels" {
		p.asking()
		p.choose(model)
	}
	p.sample()
	p.seen()
	p.saving()
	p.click("zoom-region")
	p.click("correct-start")
	p.until(`document.activeElement.id === "stage" && !document.getElementById("correct-tools").hidden`)
	return p
}

// area is the first structure's area in the table of measurements.
const area = `Number([...document.querySelectorAll("#measure-body tr:not(.range):not(.headline)")][0].children[1].textContent.replace(/\D/g, ""))`

func (p *page) tool(name string) {
	p.t.Helper()
	p.do(`document.querySelector("input[value=` + name + `]").click()`)
}

// option takes an option of a list of the tools.
func (p *page) option(id, value string) {
	p.t.Helper()
	p.do(fmt.Sprintf(`(() => { const list = document.getElementById(%q); list.value = %q; list.dispatchEvent(new Event("input", { bubbles: true })); document.getElementById("stage").focus(); })()`, id, value))
}

// control presses a key with Ctrl.
func (p *page) control(key string, shift bool) {
	p.t.Helper()
	modifiers := int64(2)
	if shift {
		modifiers |= 8
	}
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		p.run(command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key, Modifiers: modifiers}))
	}
}

// A person draws with every tool. The measurements follow, each step is undone and done again, and
// what is saved says that it was corrected by hand.
func TestCorrectingByMouse(t *testing.T) {
	t.Parallel()
	p := correcting(t, "levels", 1440, 900)
	x, y, k := p.middle()
	radius := 0.25 * 369 * k // of the mock's disc
	first := get[int](p, area)
	// The mock's figure is not of its map: a dab on the border makes it so.
	p.drag([2]float64{x + 0.72*radius, y + 0.72*radius})
	p.until(area + fmt.Sprintf(" !== %d", first))
	now := get[int](p, area)
	plain := now
	p.drag([2]float64{x, y}) // a stroke that changes no pixel is none, and no step to undo
	p.until(`document.getElementById("status").textContent === "That changes nothing."`)
	step := func(what string, more bool, act func()) {
		t.Helper()
		before := now
		act()
		p.until(fmt.Sprintf(`%s %s %d`, area, map[bool]string{true: ">", false: "<"}[more], before))
		now = get[int](p, area)
		t.Log(what, before, "→", now)
	}
	step("brush", true, func() { p.drag([2]float64{x + radius, y}, [2]float64{x + 1.4*radius, y}) })
	assert.Contains(t, p.text("measure-body"), "Disc, corrected by hand")
	assert.Contains(t, p.text("legend"), "Disc, consensus, corrected by hand")
	p.tool("eraser")
	step("eraser", false, func() { p.drag([2]float64{x, y}, [2]float64{x, y - 0.5*radius}) })
	p.tool("fill")
	step("fill", true, func() { p.drag([2]float64{x, y - 0.2*radius}) })
	p.tool("push")
	step("push", true, func() { p.drag([2]float64{x - 0.8*radius, y}, [2]float64{x - 1.2*radius, y}) })
	p.tool("polygon")
	step("polygon", true, func() {
		p.option("correct-how", "add")
		for _, corner := range [][2]float64{{x, y}, {x + 0.3*radius, y + 1.5*radius}, {x - 0.3*radius, y + 1.5*radius}} {
			p.drag(corner)
		}
		p.press("Enter", false)
	})
	last := now

	for range 5 {
		p.control("z", false)
	}
	p.until(area + fmt.Sprintf(" === %d", plain))
	p.control("z", false)
	p.until(area + fmt.Sprintf(" === %d", first))
	assert.Equal(t, "true", get[string](p, `document.getElementById("undo").ariaDisabled`))
	assert.NotContains(t, p.text("measure-body"), "by hand")
	for range 6 {
		p.control("z", true)
	}
	p.until(area + fmt.Sprintf(" === %d", last))
	assert.Equal(t, "true", get[string](p, `document.getElementById("redo").ariaDisabled`))

	p.do(`document.getElementById("save-json").click(), document.getElementById("save-csv").click(), document.querySelector("[aria-label='Mask PNG of disc']").click(), document.querySelector("[aria-label='Mask PNG of cup']").click()`)
	p.until(`saved["sample_disc_mask_corrected.png"] && saved["sample_cup_mask.png"] && saved["sample_corrected.json"] && saved["sample_corrected.csv"]`)
	record := get[map[string]any](p, `blobs[saved["sample_corrected.json"]].text().then(JSON.parse)`)
	assert.Equal(t, []any{map[string]any{"rater": "you", "class": "disc", "area": float64(last)}}, record["corrected_by_hand"])
	assert.EqualValues(t, first, record["measurements_of_model"].(map[string]any)["structures"].([]any)[0].(map[string]any)["area"])
	result := p.record("sample_corrected.csv")["result"].(map[string]any)
	assert.Equal(t, []any{record["corrected_by_hand"], record["measurements_of_model"]}, []any{result["corrected"], result["by_model"]})
	data, err := base64.StdEncoding.DecodeString(get[string](p, `blobs[saved["sample_disc_mask_corrected.png"]].arrayBuffer().then((all) => btoa(String.fromCharCode(...new Uint8Array(all))))`))
	require.NoError(t, err)
	mask, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	inside := 0
	for i := range 1536 * 1152 {
		if color.GrayModel.Convert(mask.At(i%1536, i/1536)) == (color.Gray{Y: 255}) {
			inside++
		}
	}
	assert.Equal(t, last, inside, "the PNG has the pixels that were measured")

	p.press("Escape", false)
	p.until(`document.getElementById("correct-tools").hidden`)
	p.click("correct-clear")
	p.until(area + fmt.Sprintf(" === %d", first))
	p.click("undo")
	p.until(area + fmt.Sprintf(" === %d", last))
	p.clean()
}

// By keys alone a rater's mark is corrected, and the result settles around it: the worker gets what
// was drawn and the agreed pixels near it. Region, weights and that step are undone in turn.
func TestCorrectingByKeysAndRecalibrating(t *testing.T) {
	t.Parallel()
	p := correcting(t, "marks", 1200, 800)
	p.option("correct-rater", "bob")
	p.until(`document.getElementById("legend").innerText.includes("Bob")`)
	size := get[string](p, `document.getElementById("correct-size-value").textContent`)
	p.press("]", false)
	assert.NotEqual(t, size, p.text("correct-size-value"))
	p.press("[", false)
	p.press("ArrowRight", true)
	for range 12 {
		p.press("ArrowRight", true)
	}
	for !strings.Contains(p.text("correct-line"), "Bob, brain") { // nothing is drawn before the map below has come
		p.press(" ", false)
	}
	p.until(`document.getElementById("measure-body").textContent.includes("Bob, brain, corrected by hand")`)
	p.press("r", false)
	p.until(`asked.at(-1).evidence.length === 1 && ` + sampleDone)
	said := get[[]int](p, `(() => { const { mask } = asked.at(-1).evidence[0]; return [mask.length, ...[0, 128, 255].map((v) => mask.filter((one) => one === v).length)]; })()`)
	assert.Equal(t, 1536*1152, said[0])
	assert.Equal(t, said[0], said[1]+said[2]+said[3])
	assert.Greater(t, said[3], 100, "what was drawn")
	assert.Greater(t, said[1], 100, "the agreed outside near it")
	assert.Greater(t, said[2], said[0]*9/10, "nothing about the rest")
	assert.Contains(t, p.text("mark-list"), "corrected by hand")
	assert.Contains(t, p.text("measure-body"), "Bob, brain, corrected by hand", "it stays as it was drawn")
	p.slide(firstWeight, 20)
	p.until(`asked.at(-1).raterWeights && ` + sampleDone)
	p.click("region-none")
	p.until(`asked.at(-1).roi === "none" && ` + sampleDone)

	undo := func(condition string) {
		t.Helper()
		p.control("z", false)
		p.until(condition + " && " + sampleDone)
	}
	undo(`asked.at(-1).roi === "auto" && asked.at(-1).raterWeights`)
	undo(`!asked.at(-1).raterWeights && asked.at(-1).evidence.length === 1`)
	assert.Equal(t, "34 %", get[string](p, `document.querySelector("#rater-list output").textContent`), "equal shares of three")
	undo(`asked.at(-1).evidence.length === 0`)
	assert.Contains(t, p.text("measure-body"), "by hand")
	undo(`document.getElementById("correct-line").hidden`)
	p.click("redo")
	p.click("redo")
	p.until(`asked.at(-1).evidence.length === 1 && ` + sampleDone)
	p.clean()
}

// One finger draws. A second one takes the stroke back, and both move the view.
func TestCorrectingByTouch(t *testing.T) {
	t.Parallel()
	p := correcting(t, "levels", 390, 844)
	p.run(command(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}))
	x, y, k := p.middle()
	radius := 0.25 * 369 * k
	first := get[int](p, area)
	p.drag([2]float64{x + 0.72*radius, y + 0.72*radius})
	p.until(area + fmt.Sprintf(" !== %d", first)) // the figure is of the map now
	first = get[int](p, area)
	touch := func(kind input.DispatchTouchEventType, points ...*input.TouchPoint) {
		p.run(command(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: append([]*input.TouchPoint{}, points...)}))
	}
	at := func(id, x, y float64) *input.TouchPoint { return &input.TouchPoint{X: x, Y: y, ID: &id} }
	touch(input.DispatchTouchEventTypeTouchStart, at(1, x+radius, y))
	touch(input.DispatchTouchEventTypeTouchMove, at(1, x+1.5*radius, y))
	touch(input.DispatchTouchEventTypeTouchEnd)
	p.until(area + fmt.Sprintf(" > %d", first))
	drawn, zoom := get[int](p, area), p.text("zoom")
	touch(input.DispatchTouchEventTypeTouchStart, at(1, x, y+radius))
	touch(input.DispatchTouchEventTypeTouchMove, at(1, x, y+1.5*radius))
	touch(input.DispatchTouchEventTypeTouchStart, at(1, x, y+1.5*radius), at(2, x, y-radius))
	touch(input.DispatchTouchEventTypeTouchMove, at(1, x, y+1.6*radius), at(2, x, y-1.6*radius))
	touch(input.DispatchTouchEventTypeTouchEnd)
	p.until(fmt.Sprintf(`document.getElementById("zoom").textContent !== %q`, zoom))
	assert.Equal(t, drawn, get[int](p, area))
	assert.Empty(t, get[[]string](p, `[...document.querySelectorAll("#tools button, #correct button, #correct select, #correct .segments label")].filter((e) => e.checkVisibility() &&
		(e.getBoundingClientRect().height < 44 || e.getBoundingClientRect().width < 44)).map((e) => e.id + e.textContent)`), "targets below 44 pixels")
	p.clean()
}

// TestScreenshotsOfCorrecting writes what people see while they correct, for eyes, to the folder
// that MRPRISM_SCREENSHOTS names.
func TestScreenshotsOfCorrecting(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("MRPRISM_SCREENSHOTS")
	if folder == "" {
		t.Skip("MRPRISM_SCREENSHOTS names no folder")
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, size := range [][2]int{{1440, 900}, {1024, 768}, {390, 844}, {1080, 1920}} {
		p := correcting(t, "marks", size[0], size[1])
		x, y, k := p.middle()
		radius := 0.25 * 369 * k
		p.drag([2]float64{x + radius, y}, [2]float64{x + 1.4*radius, y}, [2]float64{x + 1.4*radius, y + 0.5*radius})
		p.until(`!document.getElementById("correct-line").hidden`)
		shot := func(step string) {
			for _, theme := range []string{"light", "dark"} {
				p.do(fmt.Sprintf(`document.documentElement.dataset.theme = %q`, theme))
				p.still()
				p.shot(filepath.Join(folder, fmt.Sprintf("correct-%d-%s-%s.png", size[0], step, theme)))
			}
		}
		shot("brush")
		p.tool("polygon")
		for _, corner := range [][2]float64{{x, y}, {x + 0.3*radius, y + 1.3*radius}, {x - 0.3*radius, y + 1.2*radius}} {
			p.drag(corner)
		}
		shot("polygon")
		drawing{p}.gripping()
		p.do(`document.getElementById("stage").focus()`)
		p.press(".", false)
		shot("handles")
		p.do(`document.getElementById("measurements").scrollIntoView()`)
		shot("measurements")
		p.clean()
	}
}
