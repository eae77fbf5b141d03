package site

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/output/objects"
	"mrprism/internal/segment/segmenttest"
	"mrprism/weights"
)

const (
	fieldShown = `document.getElementById("field-found") && document.getElementById("progress").hidden && document.getElementById("field-help").textContent !== "Computing…"`
	cellCount  = `document.querySelectorAll("#field-list [role=option]").length`
	cellChosen = `[...document.querySelectorAll("#field-list [aria-selected=true]")].map((one) => Number(one.dataset.number))`
)

// field is a page that shows all cells of a picture of 1536 × 1152 pixels.
type field struct{ drawing }

// cells opens the mock's picture of a name, and finds its cells.
func cells(t *testing.T, name string, width, height int, extra ...chromedp.ExecAllocatorOption) field {
	t.Helper()
	p := open(t, mock(t, nil), width, height, extra...)
	p.ready()
	p.saving()
	p.seen()
	p.do(`globalThis.changes = [], globalThis.posted = Worker.prototype.postMessage, Worker.prototype.postMessage = function (message, transfer) {
		if (message.type === "field") changes.push({ ...message, line: Array.from(message.line ?? []) });
		posted.call(this, message, transfer);
	}`)
	p.dropped(name)
	p.findAll()
	p.until(fieldShown)
	return field{drawing{p}}
}

// findAll presses the button once it is there.
func (p *page) findAll() {
	p.t.Helper()
	p.until(`document.getElementById("field-find").checkVisibility() && !document.getElementById("field-find").ariaDisabled`)
	p.click("field-find")
}

// count waits until the list has so many cells.
func (f field) count(n int) {
	f.t.Helper()
	f.until(fmt.Sprintf(`%s && %s === %d`, fieldShown, cellCount, n))
}

func (f field) chosen() []int {
	f.t.Helper()
	return get[[]int](f.page, cellChosen)
}

// at is the middle of the mock's cell of a number.
func (f field) at(n int) [2]float64 {
	side := 96.
	y := 0.6
	if n == 1 {
		y = 0.25
	}
	return [2]float64{(float64((n-1)%6) + 0.5) * 2 * side, (float64((n-1)/6) + y) * 2 * side}
}

// shift clicks a point with the Shift key.
func (f field) shift(at [2]float64) {
	f.t.Helper()
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		f.run(command(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at[0], Y: at[1], Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1, Modifiers: 8}))
	}
}

func (f field) does(tool string) {
	f.t.Helper()
	f.do(`document.querySelector("input[name=field-tool][value=` + tool + `]").click()`)
}

// A person finds the cells of a picture, chooses them on the stage and in the list, and adds, moves,
// merges, splits and deletes some. Each change can be undone.
func TestCellsOfAPicture(t *testing.T) {
	t.Parallel()
	f := cells(t, "cells.jpg", 1440, 900)
	f.count(24)
	assert.Regexp(t, `^24 cells · median area 1\d.\d{3} px · 3 doubted · 1 cut by the border$`, strings.ReplaceAll(f.text("field-line"), "\u00a0", " "))
	assert.False(t, f.visible("measurements"))
	assert.False(t, f.visible("save"))
	assert.Equal(t, "stage", get[string](f.page, `document.activeElement.id`))
	assert.Equal(t, "true", get[string](f.page, `document.getElementById("field-undo").ariaDisabled`))

	f.clicks(f.at(8))
	assert.Equal(t, []int{8}, f.chosen())
	assert.Regexp(t, `^Number 8, area 1\d.\d{3} px, roundness 1.00$`, f.text("status"))
	f.press("ArrowRight", false)
	assert.Equal(t, []int{9}, f.chosen())
	f.press("ArrowDown", true)
	assert.Equal(t, []int{9, 15}, f.chosen())
	f.shift(f.screen(f.at(16)))
	assert.Equal(t, []int{9, 15, 16}, f.chosen())
	f.shift(f.screen(f.at(9)))
	assert.Equal(t, []int{15, 16}, f.chosen())
	f.click("field-merge")
	f.count(23)
	assert.Equal(t, []int{15}, f.chosen())
	assert.Regexp(t, `^Merged. 23 cells`, f.text("status"))

	f.does("add")
	f.clicks([2]float64{1344, 1000})
	f.count(24)
	assert.Equal(t, []int{16}, f.chosen(), "the least free number")
	f.does("split")
	to := f.at(2)
	f.drag(f.screen([2]float64{to[0], to[1] - 90}), f.screen(to), f.screen([2]float64{to[0], to[1] + 90}))
	f.count(25)
	assert.Equal(t, []int{2, 25}, f.chosen())
	f.does("select")
	f.clicks(f.at(4))
	to = f.at(4)
	f.drag(f.screen(to), f.screen([2]float64{to[0] + 20, to[1]}), f.screen([2]float64{to[0] + 40, to[1]}))
	f.until(fieldShown + ` && document.getElementById("status").textContent.startsWith("Moved.")`)
	f.until(`changes.at(-1).do === "move" && changes.at(-1).numbers[0] === 4`)
	assert.InDelta(t, to[0]+40, get[float64](f.page, `changes.at(-1).line[0]`), 2)
	f.press("Delete", false)
	f.count(24)
	assert.Empty(t, f.chosen())
	for _, n := range []int{25, 25, 24, 23, 24} {
		f.control("z", false)
		f.count(n)
	}
	assert.Equal(t, "true", get[string](f.page, `document.getElementById("undo").ariaDisabled`))
	f.control("z", true)
	f.count(23)
	f.click("field-redo")
	f.count(24)

	f.do(`document.querySelector("[data-number='20']").click()`)
	assert.Equal(t, []int{20}, f.chosen())
	f.do(`document.getElementById("field-list").focus()`)
	f.press("ArrowDown", false)
	assert.Equal(t, []int{21}, f.chosen())
	assert.Equal(t, "cell-21", get[string](f.page, `document.getElementById("field-list").getAttribute("aria-activedescendant")`))
	f.press("Delete", false)
	f.count(23)

	f.do(`(window.confirm = () => { globalThis.said = true; return false; })`)
	f.click("field-close")
	assert.True(t, get[bool](f.page, `said`), "it is not saved")
	for _, format := range objects.Formats {
		f.do(fmt.Sprintf(`(() => { const format = document.getElementById("field-format"); format.value = %q; format.dispatchEvent(new Event("change")); document.getElementById("field-save").click(); })()`, format.Name))
		f.until(fmt.Sprintf(`saved[%q]`, "cells"+format.Ending))
	}
	f.do(`(said = false)`)
	f.click("field-close")
	f.until(`!document.getElementById("field-found") && !document.getElementById("field-offer").hidden`)
	assert.False(t, get[bool](f.page, `said`), "it is saved")
	assert.True(t, f.visible("measurements"))
	assert.False(t, get[bool](f.page, `document.getElementById("legend").hidden`))
	f.clean()
}

// All of it goes by keys.
func TestCellsByKeys(t *testing.T) {
	t.Parallel()
	f := cells(t, "cells.jpg", 1024, 768)
	f.does("add")
	f.do(`document.getElementById("stage").focus()`)
	f.press("ArrowLeft", true)
	f.press("Enter", false)
	f.count(25)
	f.does("split")
	f.do(`document.getElementById("stage").focus()`)
	f.press(" ", false)
	for range 4 {
		f.press("ArrowDown", true)
	}
	f.press("Enter", false)
	f.until(`!document.getElementById("banner").hidden || ` + cellCount + ` === 26`)
	f.does("select")
	f.do(`document.getElementById("stage").focus()`)
	f.press("ArrowRight", false)
	f.press("Enter", false)
	f.press("ArrowRight", true)
	f.press("Enter", false)
	f.until(`changes.at(-1).do === "move"`)
	f.until(fieldShown)
	f.press("Escape", false)
	assert.Empty(t, f.chosen())
	f.press("f", false)
	f.clean()
}

// The page shows how far it is. Cancel leaves the result as it was, and what is asked meanwhile is
// refused. A picture may have none.
func TestFindingCellsIsCancelled(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	p.dropped("cells-slow.jpg")
	p.findAll()
	p.until(`document.getElementById("progress-text").textContent === "Finding all…"`)
	assert.Equal(t, "true", get[string](p, `document.getElementById("field-find").ariaDisabled`))
	p.until(`document.getElementById("progress-text").textContent === "Drawing outlines…" && document.getElementById("progress-figure").textContent === "1 of 3"`)
	p.click("cancel")
	p.until(`document.getElementById("progress").hidden && !document.getElementById("field-find").ariaDisabled`)
	p.still()
	assert.False(t, get[bool](p, `Boolean(document.getElementById("field-found"))`))
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`))

	p.findAll()
	p.until(fieldShown)
	p.press("ArrowRight", false)
	p.press("Delete", false)
	assert.Equal(t, "Computing…", p.text("field-help"))
	p.press("ArrowRight", false)
	p.press("Delete", false)
	p.until(`document.getElementById("banner-message").textContent === "One change at a time."`)
	p.until(cellCount + ` === 23 && document.getElementById("banner").hidden`)

	p.do(`(window.confirm = () => true)`)
	p.click("field-close")
	p.dropped("nocells.jpg")
	p.findAll()
	p.until(fieldShown)
	assert.Equal(t, "No cell was found.", strings.ReplaceAll(p.text("field-line"), "\u00a0", " "))
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`))
	p.clean()
}

// Cells that a person changed stay while another picture of the list is shown.
func TestCellsInAList(t *testing.T) {
	t.Parallel()
	f := cells(t, "cells.jpg", 1440, 900)
	f.press("ArrowRight", false)
	f.press("Delete", false)
	f.count(23)
	f.drop("other.jpg", readBuilt(t, "sample.jpg"))
	f.until(`document.getElementById("file-line").textContent.includes("other.jpg") && ` + sampleDone)
	assert.False(t, f.visible("field"))
	f.press("p", false)
	f.until(`document.getElementById("file-line").textContent.includes("cells.jpg")`)
	f.count(23)
	f.clean()
}

// TestAxeOfCells runs axe over the cells, if MRPRISM_AXE names axe.min.js, and writes what people see
// to the folder MRPRISM_SCREENSHOTS.
func TestAxeOfCells(t *testing.T) {
	script, _ := os.ReadFile(os.Getenv("MRPRISM_AXE"))
	folder := os.Getenv("MRPRISM_SCREENSHOTS")
	if script == nil && folder == "" {
		t.Skip("MRPRISM_AXE names no axe.min.js, and MRPRISM_SCREENSHOTS no folder")
	}
	for _, dark := range []bool{false, true} {
		f := cells(t, "cells-crowd.jpg", 1440, 900, chromedp.Flag("force-dark-mode", dark))
		look := func(state string) {
			t.Helper()
			for _, size := range [][2]int64{{1440, 900}, {1024, 768}, {390, 844}} {
				f.run(chromedp.EmulateViewport(size[0], size[1]))
				f.until(fmt.Sprintf(`innerWidth === %d`, size[0]))
				f.do(`document.getElementById("zoom-fit").click(), document.getElementById("field").scrollIntoView(), new Promise((done) => setTimeout(done, 600))`)
				if folder != "" {
					require.NoError(t, os.MkdirAll(folder, 0o755))
					f.shot(filepath.Join(folder, fmt.Sprintf("cells-%s-%d-%v.png", state, size[0], map[bool]string{true: "dark", false: "light"}[dark])))
				}
				if script != nil {
					_, err := chromedp.Run(f.ctx, chromedp.Evaluate[any](string(script)+"; 0"))
					require.NoError(t, err)
					assert.Empty(t, get[[]string](f.page, `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 120)).join(" | ")))`), "%s, dark %v", state, dark)
				}
			}
		}
		look("found")
		f.press("ArrowRight", false)
		f.press("ArrowRight", true)
		f.press("ArrowDown", true)
		look("chosen")
		f.do(`(() => { const format = document.getElementById("field-format"); format.value = "csv"; format.dispatchEvent(new Event("change")); })()`)
		f.does("split")
		look("split")
		f.click("field-close")
		look("offered")
	}
}

// The page knows the formats of package objects, and names files as it does.
func TestFormatsOfCells(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("field", "field.js"))
	require.NoError(t, err)
	for _, f := range objects.Formats {
		assert.Contains(t, string(text), fmt.Sprintf("[%q, %q,", f.Name, f.Ending))
	}
}

// finding is an untrained model of cells with a finder, whose bias says how much it marks.
func finding(t *testing.T, bias float32) []byte {
	t.Helper()
	about := segmenttest.Raters()
	about.Title, about.Classes = fmt.Sprintf("Random weights, %g", bias), []string{"cell"}
	large, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	about.Name, about.Classes, about.Seed = "finder", []string{"cell", weights.Core}, 4
	small, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	head := small.Tensor("conp.head.bias")
	*head = weights.NewF32(head.Name, head.Shape, []float32{bias, bias})
	require.NoError(t, large.Join(small))
	data, err := segmenttest.Encode(large)
	require.NoError(t, err)
	return data
}

// The page's own worker finds cells with weights of the user's, changes them and saves what the page
// lists.
func TestWorkerFindsCells(t *testing.T) {
	t.Parallel()
	s := real(t, map[string][]byte{"some.safetensors": finding(t, 0), "none.safetensors": finding(t, -30)})
	s.wishes = "?device=processor"
	p := open(t, s, 1200, 800)
	p.ready()
	p.saving()
	p.own("some.safetensors")
	p.drop("montage.png", photo(t, 240, 180))
	p.until(`!document.getElementById("field").hidden && ` + sampleDone)
	p.findAll()
	p.until(fieldShown)
	type cell struct{ Number, Area int }
	listed := func() (all []cell) {
		return get[[]cell](p, `[...document.querySelectorAll("#field-list [role=option]")].map((one) => ({ Number: Number(one.dataset.number), Area: Number(one.children[1].textContent.replace(/\D/g, "")) }))`)
	}
	found := listed()
	require.Greater(t, len(found), 2, "random weights find something")
	t.Log(p.text("field-line"))
	undone := func() {
		t.Helper()
		p.control("z", false)
		p.until(fieldShown + ` && document.getElementById("status").textContent.startsWith("Undone.")`)
		assert.Equal(t, found, listed())
	}
	p.press("ArrowRight", false)
	p.press("Delete", false)
	p.until(fmt.Sprintf(`%s && %s === %d`, fieldShown, cellCount, len(found)-1))
	undone()
	p.do(`document.querySelector("[data-number='1']").click(), document.querySelector("[data-number='2']").dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }))`)
	p.click("field-merge")
	p.until(fmt.Sprintf(`%s && %s === %d`, fieldShown, cellCount, len(found)-1))
	assert.Equal(t, cell{1, found[0].Area + found[1].Area}, listed()[0])
	undone()
	p.do(`document.querySelector("[data-number='2']").click()`)
	p.click("field-delete")
	p.until(fmt.Sprintf(`%s && %s === %d`, fieldShown, cellCount, len(found)-1))
	p.click("field-save")
	p.until(`saved["montage_labels.png"]`)
	text := get[string](p, `new Promise((resolve) => { const reader = new FileReader(); reader.onload = () => resolve(reader.result); reader.readAsDataURL(blobs[saved["montage_labels.png"]]); })`)
	data, err := base64.StdEncoding.DecodeString(text[strings.Index(text, ",")+1:])
	require.NoError(t, err)
	labels, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	areas := map[int]int{}
	for y := range 180 {
		for x := range 240 {
			areas[int(labels.(*image.Gray16).Gray16At(x, y).Y)]++
		}
	}
	delete(areas, 0)
	want := map[int]int{}
	for _, one := range listed() {
		want[one.Number] = one.Area
	}
	assert.Equal(t, want, areas)
	assert.NotContains(t, areas, 2)

	p.click("field-close")
	p.own("none.safetensors")
	p.until(`document.getElementById("about-list").textContent.includes("Random weights, -30") && ` + sampleDone)
	p.findAll()
	p.until(fieldShown)
	assert.Equal(t, "No cell was found.", strings.ReplaceAll(p.text("field-line"), "\u00a0", " "))
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`))
	p.clean()
}
