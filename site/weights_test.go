package site

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	shareTexts = `[...document.querySelectorAll("#rater-list output")].map(({ textContent }) => Number.parseInt(textContent))`
	// The page computes a while after the last movement: what it asked last must be what it shows.
	sharesDone = `(() => {
		const shown = ` + shareTexts + `, most = Math.max(...shown), last = asked.at(-1).raterWeights ?? shown.map(() => 1);
		return shown.every((share, i) => Math.abs(share / most - last[i]) < 0.04);
	})() && ` + sampleDone
	maskLine = `document.querySelector("#measure-body tr").textContent`
)

// shares are what the page shows of the raters' shares.
func (p *page) shares() []int {
	p.t.Helper()
	return get[[]int](p, shareTexts)
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

// atSlider is the place of a value on the n-th rater's slider.
func (p *page) atSlider(n int, value float64) [2]float64 {
	p.t.Helper()
	at := get[[]float64](p, fmt.Sprintf(`(() => {
		const slider = document.querySelectorAll("input[name=weight]")[%d], thumb = 16;
		slider.scrollIntoView({ block: "center" });
		const box = slider.getBoundingClientRect();
		return [box.x + thumb / 2 + (box.width - thumb) * %v / 100, box.y + box.height / 2];
	})()`, n, value))
	return [2]float64{at[0], at[1]}
}

// A model of panels has their shares, and its agreement levels beside them.
func TestSharesOfPanels(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, func(text string) string {
		return strings.Replace(text, "steered: false", `steered: true, panels: ["drishti", "rimone-r23"]`, 1)
	}), 1200, 800)
	p.ready()
	p.asking()
	p.sample()
	assert.Equal(t, []int{2, 0, 2}, get[[]int](p, `["#rater-list li", "input[name=rater]", "input[name=weight]"].map((s) => document.querySelectorAll(s).length)`))
	assert.Equal(t, "As the experts of: Drishti", get[string](p, `document.getElementById("raters-title").textContent + ": " + document.querySelector("#rater-list span").textContent`))
	assert.False(t, get[bool](p, `document.getElementById("levels").hidden`))
	p.drag(p.atSlider(1, 50), p.atSlider(1, 80), p.atSlider(1, 105))
	p.until(shareTexts + `[1] === 100 && ` + sharesDone)
	assert.Equal(t, []float64{0, 1}, p.lastAsked().RaterWeights)
	p.clean()
}

// Shares add up to 100 % whatever a person does: by pointer, by touch and by keys. All-zero is not
// possible, and "Equal weights" gives the same to all. One movement is one step of the history.
func TestRatersShares(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.asking()
	p.choose("marks")
	p.sample()
	assert.Equal(t, []int{34, 33, 33}, p.shares())
	p.drag(p.atSlider(0, 33), p.atSlider(0, 50), p.atSlider(0, 80))
	p.until(`asked.at(-1).raterWeights && ` + sharesDone)
	dragged := p.shares()
	assert.InDelta(t, 80, dragged[0], 3)
	assert.Equal(t, 100, sum(dragged))
	assert.InDelta(t, 1, p.lastAsked().RaterWeights[0], 1e-6, "the worker's weights are relative to the largest")
	assert.InDelta(t, float64(dragged[1])/float64(dragged[0]), p.lastAsked().RaterWeights[1], 0.02)

	touch := func(kind input.DispatchTouchEventType, points ...[2]float64) {
		list := []*input.TouchPoint{}
		for _, at := range points {
			list = append(list, &input.TouchPoint{X: at[0], Y: at[1]})
		}
		p.run(command(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: list}))
	}
	from, to := p.atSlider(1, float64(dragged[1])), p.atSlider(1, 100)
	touch(input.DispatchTouchEventTypeTouchStart, from)
	touch(input.DispatchTouchEventTypeTouchMove, [2]float64{(from[0] + to[0]) / 2, to[1]})
	touch(input.DispatchTouchEventTypeTouchMove, [2]float64{to[0] + 20, to[1]})
	touch(input.DispatchTouchEventTypeTouchEnd)
	p.until(shareTexts + `[1] === 100`)
	p.until(sharesDone)
	assert.Equal(t, []int{0, 100, 0}, p.shares())
	assert.Equal(t, []float64{0, 1, 0}, p.lastAsked().RaterWeights)

	// Zero for the only one: the others get equal parts.
	p.do(`document.querySelectorAll("input[name=weight]")[1].focus()`)
	p.press("Home", false)
	p.until(shareTexts + `[1] === 0`)
	assert.Equal(t, []int{50, 0, 50}, p.shares())
	p.until(sharesDone)

	// A key that is held is one movement, as long as it lasts.
	key := func(kind input.DispatchKeyEventType) {
		p.run(command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: "ArrowRight", WindowsVirtualKeyCode: 39}))
	}
	for range 3 {
		key(input.DispatchKeyEventTypeKeyDown)
	}
	p.until(shareTexts + `[1] === 3`)
	key(input.DispatchKeyEventTypeKeyUp)
	p.until(sharesDone)

	// Four movements are four steps.
	for _, want := range [][]int{{50, 0, 50}, {0, 100, 0}, dragged, {34, 33, 33}} {
		p.click("undo")
		p.until(sharesDone)
		assert.Equal(t, want, p.shares())
	}
	assert.Equal(t, "true", get[string](p, `document.getElementById("undo").ariaDisabled`))
	p.click("redo")
	p.until(sharesDone)
	p.click("raters-equal")
	p.until(sharesDone)
	assert.Equal(t, []int{34, 33, 33}, p.shares())
	assert.Nil(t, p.lastAsked().RaterWeights)
	p.clean()
}

// The page shows the mask of a slider's place while it is dragged. newborn-brain follows its raters,
// and so does cells. No pass runs: the stage shows no progress. With -v it says how long the GPU takes.
func TestMaskFollowsASlider(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"newborn-brain", "cells"} {
		t.Run(model, func(t *testing.T) {
			_, files := shippedModel(t, model)
			s := emulated(real(t, files))
			if testing.Short() { // the GPU's pipelines take minutes to compile
				s.wishes = "?device=processor"
			}
			photograph := photo(t, 256, 256)
			if file := os.Getenv("MRPRISM_PHOTOGRAPH"); file != "" {
				var err error
				photograph, err = os.ReadFile(file)
				require.NoError(t, err)
			}
			p := open(t, s, 1440, 900)
			p.ready()
			p.choose(model)
			p.drop("photograph.png", photograph)
			p.until(sampleDone)
			p.do(`(() => {
				globalThis.progressed = 0, globalThis.said = document.getElementById("status").textContent;
				new MutationObserver(() => { if (!document.getElementById("progress").hidden) progressed++; }).observe(document.getElementById("progress"), { attributes: true });
				globalThis.times = (async () => {
					const slider = document.querySelector("input[name=weight]"), out = [];
					const change = (act) => new Promise((done) => {
						const begun = performance.now(), look = new MutationObserver(() => { look.disconnect(); done(Math.round(performance.now() - begun)); });
						look.observe(document.getElementById("measure-body"), { childList: true });
						act();
					});
					for (const value of [40, 60, 80, 95]) out.push(await change(() => { slider.value = value; slider.dispatchEvent(new Event("input", { bubbles: true })); }));
					slider.dispatchEvent(new Event("change", { bubbles: true }));
					return out;
				})();
			})()`)
			t.Logf("by %s: from a movement to its mask %v ms", get[string](p, `document.getElementById("computed-by").textContent`), get[[]int](p, `times`))
			assert.Zero(t, get[int](p, `progressed`), "nothing but the consensus is computed")
			p.until(`document.getElementById("status").textContent !== said`)
			p.clean()
		})
	}
}

// Of weights without heads the page shows masks and figures, and says that there are no raters, no
// ranges and no disagreement.
func TestWeightsWithoutHeads(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, func(worker string) string {
		return regexp.MustCompile(`raters: \["ann", "bob", "eve"\],\s*labels: "raters",\s*steered: true,\s*takesMarks: true`).ReplaceAllString(worker, `raters: [], labels: "agreement-levels", steered: false`)
	}), 1200, 800)
	p.ready()
	p.sample()
	p.do(`document.querySelector("input[value=disagreement]").click()`)
	p.choose("marks")
	p.until(`!document.getElementById("raters-none").hidden && ` + sampleDone)
	shown := `["raters", "levels", "marks", "save-readers"].filter((id) => !document.getElementById(id).hidden).join()`
	assert.Empty(t, get[string](p, shown))
	assert.Equal(t, "none,heat", get[string](p, `[...document.querySelectorAll("input[name=map]")].filter((one) => one.checkVisibility() || one.parentElement.checkVisibility()).map(({ value }) => value).join()`))
	assert.True(t, get[bool](p, `document.querySelector("input[value=heat]").checked`))
	assert.NotContains(t, get[string](p, `["headline", "measure-table"].map((id) => document.getElementById(id).textContent).join()`), "–")
	p.choose("levels")
	p.until(`!document.getElementById("levels").hidden && ` + sampleDone)
	p.drop("a\u202egnp.jpg", readBuilt(t, "sample.jpg"))
	p.until(`document.getElementById("file-line").textContent.startsWith("\u2068a\u202egnp.jpg\u2069 · ") && ` + sampleDone)
	p.clean()
}
