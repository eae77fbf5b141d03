package site

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pressed presses the mouse on a button of the panel, as a person does.
func (p *page) pressed(id string) {
	p.t.Helper()
	p.do(fmt.Sprintf(`document.getElementById(%q).scrollIntoView({ block: "center" })`, id))
	at := get[[2]float64](p, fmt.Sprintf(`(({ x, y, width, height }) => [x + width / 2, y + height / 2])(document.getElementById(%q).getBoundingClientRect())`, id))
	p.drag(at)
}

// outlines is the box around the lines on a stage, CSS pixels from its corner: left, top, right and
// bottom.
func (p *page) outlines(of string) []float64 {
	p.t.Helper()
	return settled[[]float64](p, fmt.Sprintf(`(() => {
		const canvas = document.querySelector("#%s > canvas:last-of-type"), { width: w, height: h } = canvas, k = canvas.clientWidth / w, copy = new OffscreenCanvas(w, h).getContext("2d", { willReadFrequently: true });
		copy.drawImage(canvas, 0, 0);
		const d = copy.getImageData(0, 0, w, h).data;
		let box = [w, h, 0, 0];
		for (let y = 0, i = 3; y < h; y++) for (let x = 0; x < w; x++, i += 4) if (d[i] > 200) box = [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x), Math.max(box[3], y)];
		return box.map((v) => v * k);
	})()`, of))
}

func (p *page) centre(id string) [2]float64 {
	p.t.Helper()
	return get[[2]float64](p, fmt.Sprintf(`(({ x, y, width, height }) => [x + width / 2, y + height / 2])(document.getElementById(%q).getBoundingClientRect())`, id))
}

// Both photographs move and scale together, whichever of them the pointer is on.
func TestComparedPhotographsMoveTogether(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	p.sample()
	p.second("later.jpg", readBuilt(t, "sample.jpg"))
	p.until(compareDone)
	together := func(what string) []float64 {
		t.Helper()
		first, second := p.outlines("stage"), p.outlines("second")
		assert.InDeltaSlice(t, first, second, 3, what)
		return first
	}
	before := together("at first")
	wheel := func(id string, by float64) {
		at := p.centre(id)
		p.run(command(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: at[0], Y: at[1], DeltaX: 1, DeltaY: by}))
	}
	wheel("second", -120)
	wide := together("the wheel over the second")
	assert.Greater(t, wide[2]-wide[0], 1.1*(before[2]-before[0]))
	at := p.centre("second")
	p.drag(at, [2]float64{at[0] - 60, at[1] + 25})
	moved := together("dragged on the second")
	assert.InDeltaSlice(t, []float64{wide[0] - 60, wide[1] + 25}, moved[:2], 3)
	at = p.centre("stage")
	p.drag(at, [2]float64{at[0] + 30, at[1]})
	assert.InDelta(t, moved[0]+30, together("dragged on the first")[0], 3)
	for range 40 {
		wheel("stage", 300) // as small as it can be
	}
	wheel("stage", -400)
	together("back from the limit")
	p.do(`document.getElementById("second").focus()`)
	for _, key := range []string{"0", "+", "ArrowLeft", "-"} {
		p.press(key, false)
		together("key " + key)
	}
	p.click("comparison-end")
	wheel("stage", -120)
	p.clean()
}

// The second photograph is worked on, corrected, saved and reported like the first. Each keeps its
// result and corrections, and the differences are the second less the first whichever that is.
func TestWorkOnTheSecondPhotograph(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	p.saving()
	p.sample()
	p.second("later.jpg", readBuilt(t, "sample.jpg"))
	p.until(compareDone)
	for fit := p.outlines("stage"); math.Abs(fit[0]-p.outlines("second")[0]) > 3; { // until its outlines are there
	}
	p.click("zoom-region")
	seen := p.outlines("stage")
	left := func(id string) float64 {
		return get[float64](p, `document.getElementById("`+id+`").getBoundingClientRect().left`)
	}
	require.Less(t, left("stage"), left("second"))
	p.pressed("comparison-swap")
	p.until(`document.getElementById("file-line").textContent.includes("later.jpg")`)
	assert.Equal(t, []string{"Second: later.jpg · you work on it", "First: sample.jpg", "Work on the first"},
		[]string{p.text("stage-caption"), p.text("second-caption"), p.text("comparison-swap")})
	assert.Greater(t, left("stage"), left("second"), "each photograph stays where it was")
	assert.InDeltaSlice(t, seen, p.outlines("stage"), 3, "and as large")
	assert.InDeltaSlice(t, seen, p.outlines("second"), 3)

	p.pressed("correct-start")
	p.until(`document.activeElement.id === "stage"`)
	at := p.centre("stage")
	p.drag([2]float64{at[0] - 110, at[1] - 130}, [2]float64{at[0] + 110, at[1] - 130})
	p.until(`document.getElementById("correct-line").textContent.includes("disc") && document.getElementById("comparison-note").textContent.includes("The second is corrected by hand.")`)
	const disc = `^Disc, area, px\|26\D735\|(2[789]|3\d)\D\d{3}\|\+\d\D\d{3} \+\d+ %$`
	assert.Regexp(t, disc, p.line("Disc, area"))
	corrected := p.line("Disc, area")
	p.save("Mask PNG of disc", "later_disc_mask_corrected.png")
	p.click("save-json")
	p.until(`saved["later_corrected.json"]`)
	p.click("report-file")
	assert.Contains(t, get[string](p, `(dispatchEvent(new Event("beforeprint")), document.getElementById("report").textContent)`), "later.jpg")

	p.pressed("comparison-swap")
	p.until(`document.getElementById("file-line").textContent.includes("sample.jpg")`)
	assert.Equal(t, "First: sample.jpg · you work on it", p.text("stage-caption"))
	assert.False(t, p.visible("correct-line"), "nothing is drawn on the first")
	assert.Equal(t, corrected, p.line("Disc, area"))
	grown := p.outlines("second")
	assert.Less(t, grown[1], seen[1]-5, "the second is outlined as corrected")
	p.save("Mask PNG of disc", "sample_disc_mask.png")

	p.pressed("comparison-swap")
	p.until(`!document.getElementById("correct-line").hidden`)
	assert.True(t, strings.HasPrefix(p.text("correct-line"), "Corrected by hand: disc"))
	p.click("correct-clear")
	p.until(`document.getElementById("comparison-note").textContent.includes("by hand") === false`)
	assert.Regexp(t, `\|0 0 %$`, p.line("Disc, area"))

	// Another model ends what was drawn, on both.
	p.choose("raters")
	p.until(`document.querySelectorAll("#rater-list li").length === 7 && ` + sampleDone + ` && ` + compareDone)
	assert.Contains(t, p.line("Brain, area"), "|0 0 %")
	p.pressed("comparison-end")
	p.until(`document.getElementById("second-pane").hidden`)
	assert.Contains(t, p.text("file-line"), "later.jpg", "what is worked on stays")
	p.clean()
}
