package site

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// second chooses the photograph to compare with.
func (p *page) second(name string, content []byte) {
	p.t.Helper()
	p.do(fmt.Sprintf(`(() => {
		const data = new DataTransfer(), input = document.getElementById("compare-file");
		data.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], %q));
		input.files = data.files;
		input.dispatchEvent(new Event("change"));
	})()`, base64.StdEncoding.EncodeToString(content), name))
}

const compareDone = `!document.getElementById("comparison-table").hidden && document.getElementById("comparison-line").hidden`

// line is a row of the table of differences.
func (p *page) line(figure string) string {
	p.t.Helper()
	return get[string](p, fmt.Sprintf(`[...document.querySelectorAll("#comparison-body tr")].map((row) => [...row.children].map((cell) => cell.innerText.replace("\n", " ")).join("|")).find((text) => text.startsWith(%q)) ?? ""`, figure))
}

// Two photographs stand side by side, each with its outlines and figures, and a table has their
// differences. What the controls show is shown on both. Leaving the comparison keeps the first.
func TestComparison(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	p.asking()
	assert.False(t, p.visible("compare-open"), "there is nothing yet to compare with")
	p.sample()
	photo := readBuilt(t, "sample.jpg")
	p.second("nocup-later.jpg", photo)
	p.until(compareDone)
	assert.Equal(t, "Second: nocup-later.jpg", p.text("second-caption"))
	assert.Equal(t, "First: sample.jpg · you work on it", p.text("stage-caption"))
	assert.Equal(t, "Cup/disc, vertical|0.52|–|–", p.line("Cup/disc, vertical"))
	assert.Regexp(t, `^Disc, area, px\|26\D735\|26\D735\|0 0 %$`, p.line("Disc, area"))
	assert.Regexp(t, `^Cup, area, px\|7\D2\d\d\|0\|−7\D2\d\d −100 %$`, p.line("Cup, area"))
	box := func(id string) []float64 {
		return get[[]float64](p, `(({ x, y, width, height }) => [x, y, width, height])(document.getElementById("`+id+`").getBoundingClientRect())`)
	}
	assert.InDelta(t, box("stage")[2], box("second")[2], 2)
	assert.InDelta(t, box("stage")[1], box("second")[1], 1, "side by side")
	pixels := `(() => { const c = document.querySelector("#second > canvas"), copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true }); copy.drawImage(c, 0, 0);
		const d = copy.getImageData(0, 0, c.width, c.height).data; let sum = 0; for (let i = 0; i < d.length; i++) sum = (sum * 31 + d[i]) % 1000003; return sum; })()`
	lines := func(of string) float64 {
		return settled[float64](p, `(() => { const c = document.querySelector("#`+of+` > canvas:last-of-type"), copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true }); copy.drawImage(c, 0, 0);
			const d = copy.getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 200; return n; })()`)
	}
	assert.InEpsilon(t, lines("stage"), lines("second"), 0.1, "the same outlines on both")
	heat := get[int](p, pixels)
	p.do(`document.querySelector("input[value=none]").click()`)
	p.until(fmt.Sprintf(`%s !== %d`, pixels, heat))
	plain := get[int](p, pixels)
	p.do(`document.getElementById("comparison-mirror").click()`)
	p.until(fmt.Sprintf(`%s !== %d`, pixels, plain))
	assert.Contains(t, p.text("second-caption"), "mirrored")

	assert.Contains(t, p.text("comparison-note"), "3 of 8 turned, shifted and dimmed views show all structures: too few to say how figures repeat.")

	// Of two photographs of one size the table says how far views of each differ, and what that means.
	p.drop("visit1.jpg", photo)
	p.until(`document.getElementById("file-line").textContent.includes("visit1.jpg") && ` + sampleDone)
	p.second("visit2_high.jpg", photo)
	p.until(compareDone + ` && document.getElementById("comparison-note").innerText.includes("This is beyond the 0.14 by which two photographs of one eye differ (95 of 100 of 183 pairs).")`)
	assert.Equal(t, "Cup/disc, vertical|0.52|0.75|+0.23 views ±0.06\none eye ±0.14", p.line("Cup/disc, vertical"))

	// Of a right and a left eye the difference is remarked.
	p.drop("a_OD.jpg", photo)
	p.until(`document.getElementById("file-line").textContent.includes("a_OD.jpg") && ` + sampleDone)
	p.second("a_OS_high.jpg", photo)
	p.until(compareDone + ` && document.getElementById("second-caption").textContent.includes("a_OS")`)
	assert.Equal(t, "Eye|right|left|", p.line("Eye"))
	assert.Contains(t, p.text("comparison-note"), "differ by 0.23. A difference of 0.2 or more")
	p.saving()
	p.do(`document.getElementById("save-json").click(), document.getElementById("save-csv").click()`)
	p.until(`saved["a_OD.json"]`)
	record := get[map[string]any](p, `blobs[saved["a_OD.json"]].text().then(JSON.parse)`)["fellow_eye"].(map[string]any)
	assert.Equal(t, []any{"a_OS_high.jpg", "left", true}, []any{record["image"], record["eye"], record["remarked"]})
	assert.InDelta(t, -0.23, record["vertical_ratio_difference"], 1e-9)
	assert.InDelta(t, -0.23, p.record("a_OD.csv")["result"].(map[string]any)["less_fellow_eye"], 1e-9)

	// In millimetres where both have a scale, and by keys on the second.
	p.drop("spaced.jpg", photo)
	p.until(`document.getElementById("file-line").textContent.includes("spaced.jpg") && ` + sampleDone)
	assert.Contains(t, p.line("Disc, area"), "px", "one alone has a scale")
	p.second("spaced-later.jpg", photo)
	p.until(compareDone + ` && document.getElementById("second-caption").textContent.includes("spaced-later")`)
	assert.Regexp(t, `^Disc, height, mm\|1\.\d+\|1\.\d+\|0`, p.line("Disc, height"))
	p.do(`document.getElementById("second").focus()`)
	p.press("+", true)

	// Another model computes both anew.
	p.choose("raters")
	p.until(`document.querySelectorAll("#rater-list li").length === 7 && ` + sampleDone + ` && ` + compareDone)
	assert.Contains(t, p.line("Brain, area"), "mm²")
	assert.Equal(t, "raters", p.lastAsked().Model)

	for _, size := range [][2]int64{{390, 844}, {1080, 1920}} {
		p.run(chromedp.EmulateViewport(size[0], size[1]))
		p.until(fmt.Sprintf(`innerWidth === %d`, size[0]))
		if size[0] == 390 {
			assert.Greater(t, box("second")[1], box("stage")[1]+50, "stacked on a phone")
		} else {
			assert.InDelta(t, box("stage")[1], box("second")[1], 1)
		}
	}
	p.second("notes.png", []byte("this is text"))
	p.until(`document.getElementById("comparison-line").textContent.includes("text file")`)
	p.click("comparison-end")
	p.until(`document.getElementById("comparison").hidden && document.getElementById("second-pane").hidden`)
	assert.Contains(t, p.text("file-line"), "spaced.jpg")
	assert.True(t, get[bool](p, sampleDone))
	p.clean()
}

// Legend, bars and messages lie beside the photograph and not over it. On a phone the result comes
// first. What is touched is at least 44 pixels high.
func TestNothingCoversThePhotograph(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	p.sample()
	p.second("later.jpg", readBuilt(t, "sample.jpg"))
	p.until(compareDone)
	p.drop("notes.png", []byte("this is text"))
	p.until(`!document.getElementById("banner").hidden && document.getElementById("progress").hidden`)
	covered := `["legend", "tools", "progress", "left", "banner", "placing", "ruler", "stage-caption", "second-caption"].filter((id) => {
		const box = document.getElementById(id).getBoundingClientRect();
		return box.width && ["stage", "second"].some((of) => { const s = document.getElementById(of).getBoundingClientRect();
			return s.width && box.left < s.right - 1 && box.right > s.left + 1 && box.top < s.bottom - 1 && box.bottom > s.top + 1; });
	})`
	small := `[...document.querySelectorAll("button:not(.term), select, summary, input:not([type=checkbox], [type=radio], [type=file]), .check, .segments span")].filter((e) => e.checkVisibility()).filter((e) => {
		const box = e.getBoundingClientRect(); return box.height < 43.5 || e.matches("button") && box.width < 43.5; }).map((e) => e.id || e.textContent.trim() || e.name)`
	for _, size := range [][2]int64{{1440, 900}, {1024, 768}, {390, 844}, {1080, 1920}} {
		p.run(chromedp.EmulateViewport(size[0], size[1]))
		p.until(fmt.Sprintf(`innerWidth === %d && (document.querySelector("section").id === "measurements") === %t`, size[0], size[0] == 390))
		for _, mode := range []string{"", "banner-close", "measure", "place"} {
			if mode != "" && p.visible(mode) {
				p.click(mode)
			}
			assert.Empty(t, get[[]string](p, covered), "%v %s", size, mode)
			assert.Greater(t, get[float64](p, `document.getElementById("stage").clientHeight`), 60.0, "%v %s", size, mode)
		}
		p.click("place-cancel")
		if size[0] == 390 || size[0] == 1080 {
			assert.Empty(t, get[[]string](p, small), "%v", size)
			assert.LessOrEqual(t, get[int](p, `document.getElementById("tools").scrollWidth`), int(size[0]))
		}
	}
}

// TestAxe runs axe over the page's newer states, if MRPRISM_AXE names axe.min.js.
func TestAxe(t *testing.T) {
	file := os.Getenv("MRPRISM_AXE")
	if file == "" {
		t.Skip("MRPRISM_AXE names no axe.min.js")
	}
	script, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, dark := range []bool{false, true} {
		p := open(t, mock(t, nil), 1440, 900, chromedp.Flag("force-dark-mode", dark))
		p.ready()
		_, err = chromedp.Run(p.ctx, chromedp.Evaluate[any](string(script)+"; 0"))
		require.NoError(t, err)
		check := func(state string) {
			t.Helper()
			assert.Empty(t, get[[]string](p, `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 120)).join(" | ")))`), "%s, dark %v", state, dark)
		}
		p.choose("marks")
		p.sample()
		p.do(`document.querySelectorAll("details").forEach((one) => { one.open = true; })`)
		check("shares")
		p.load("bob", "bob.png", []byte("bob"))
		p.until(`!document.getElementById("advanced").hidden && ` + sampleDone)
		check("advanced")
		p.do(`window.confirm = () => true`) // bob's mark is not saved
		p.choose("levels")
		p.until(`!document.getElementById("levels").hidden && ` + sampleDone)
		p.click("correct-start")
		p.tool("polygon")
		check("correcting")
		p.tool("handles")
		p.until(`document.getElementById("correct-drop").checkVisibility()`)
		check("handles")
		p.click("correct-end")
		p.click("turn")
		p.until(`document.getElementById("file-line").textContent.includes("turned") && ` + sampleDone)
		p.second("later.jpg", readBuilt(t, "sample.jpg"))
		p.until(compareDone)
		check("comparison")
		p.click("comparison-swap")
		p.until(`document.getElementById("panes").classList.contains("swapped")`)
		check("working on the second")
		p.dropped("poor.dcm")
		p.click("save-each")
		p.click("report-has-visit")
		check("a source without UIDs, each level's too")
		p.run(chromedp.EmulateViewport(390, 844))
		p.until(`innerWidth === 390`)
		check("comparison on a phone")
	}
}

// TestScreenshotsOfNewStates writes shares, a turned photograph and a comparison to the folder that
// MRPRISM_SCREENSHOTS names.
func TestScreenshotsOfNewStates(t *testing.T) {
	folder := os.Getenv("MRPRISM_SCREENSHOTS")
	if folder == "" {
		t.Skip("MRPRISM_SCREENSHOTS names no folder")
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, dark := range []bool{false, true} {
		p := open(t, mock(t, nil), 1440, 900, chromedp.Flag("force-dark-mode", dark))
		p.ready()
		shot := func(step string) {
			for _, size := range [][2]int64{{1440, 900}, {1024, 768}, {390, 844}} {
				p.run(chromedp.EmulateViewport(size[0], size[1]))
				p.until(fmt.Sprintf(`innerWidth === %d`, size[0]))
				p.do(`document.getElementById("zoom-fit").click(), new Promise((done) => setTimeout(done, 600))`)
				p.shot(filepath.Join(folder, fmt.Sprintf("new-%s-%d-%v.png", step, size[0], map[bool]string{true: "dark", false: "light"}[dark])))
			}
		}
		p.sample()
		shot("result")
		p.second("second-visit.jpg", readBuilt(t, "sample.jpg"))
		p.until(compareDone)
		p.click("comparison-mirror")
		p.do(`document.getElementById("comparison").scrollIntoView()`)
		shot("comparison")
		p.click("comparison-mirror")
		p.click("comparison-swap")
		shot("second")
		p.click("comparison-end")
		p.dropped("poor.dcm")
		p.click("save-each")
		p.do(`document.getElementById("save").scrollIntoView()`)
		shot("saving")
		p.click("turn")
		p.until(`document.getElementById("file-line").textContent.includes("turned") && ` + sampleDone)
		p.do(`document.getElementById("panel").scrollTop = 0`)
		shot("turned")
		p.choose("raters")
		p.until(`document.querySelectorAll("#rater-list li").length === 7 && ` + sampleDone)
		p.do(`document.querySelectorAll("input[name=rater]").forEach((box) => box.click())`)
		p.slide(firstWeight, 40)
		p.until(`!document.getElementById("progress").hidden`)
		p.until(sampleDone)
		p.do(`document.getElementById("recurrences").open = true, document.getElementById("experts").scrollIntoView()`)
		shot("shares")
	}
}
