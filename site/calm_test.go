package site

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
)

// sections are the visible ones of the panel, by ID or label.
const sections = `[...document.querySelectorAll("#panel section")].filter((section) => section.checkVisibility()).map(({ id, className, ariaLabel, firstElementChild }) => id || className || ariaLabel || firstElementChild.id)`

// typed are the sizes and weights of text that are none of the five and the two. Drawings have
// their own.
const typed = `(() => {
	const sizes = new Set(), weights = new Set();
	for (const element of document.querySelectorAll("body *:not(svg *, option, script, noscript)")) {
		if (!element.checkVisibility({ checkVisibilityCSS: true }) || ![...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim())) continue;
		const { fontSize, fontWeight } = getComputedStyle(element);
		sizes.add(fontSize), weights.add(fontWeight);
	}
	return [[...sizes].filter((size) => !["12.5px", "14px", "16px", "20px", "44px"].includes(size)), [...weights].filter((weight) => weight !== "400" && weight !== "600")].flat();
})()`

// A page of one task has its controls alone, offers each thing once, and has five sizes of text in
// two weights. What takes more than a few words to explain stands behind a term.
func TestCalmPage(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	s.wishes = "?mode=look"
	p := open(t, s, 1440, 900)
	p.ready()
	calm := func(state string, has ...string) {
		p.looked(state)
		assert.Empty(t, get[[]string](p, typed), state)
		if has != nil {
			assert.Equal(t, has, get[[]string](p, sections), state)
		}
	}
	task := func(mode string) {
		p.do(fmt.Sprintf(`document.querySelector("#modes input[value=%s]").click()`, mode))
		p.still()
	}
	visible := func(text string) int {
		return get[int](p, fmt.Sprintf(`[...document.querySelectorAll("button")].filter((button) => button.checkVisibility() && button.textContent.includes(%q)).length`, text))
	}
	calm("empty", "h-image", "about")
	assert.Equal(t, 1, visible("Open image"))
	for mode, has := range map[string][]string{"review": {"session", "about"}, "study": {"session", "about"}, "learn": {"h-image", "teach", "about"}} {
		task(mode)
		calm("empty-"+mode, has...)
	}
	task("look")
	p.sample()
	calm("look")
	assert.Equal(t, 1, visible("Open image"))
	assert.Equal(t, []string{"Cup/disc, vertical", "0.52"}, get[[]string](p, `[...document.querySelectorAll(".headline > *")].map(({ textContent }) => textContent)`))
	assert.Equal(t, "Trusted", get[string](p, `document.querySelector("#trust > .verdict strong").textContent`), "beside the figure")
	assert.False(t, p.visible("measure-table"), "behind More figures")
	p.do(`document.querySelector("#headline .range .term").click()`)
	assert.Contains(t, p.text("meaning"), "Experts' range: from the least to the greatest of the mask and the 4 agreement levels.")
	calm("look-term")
	p.do(`document.getElementById("meaning").hidePopover()`)
	p.do(`document.getElementById("measure-more").open = true`)
	calm("look-more")
	p.do(`document.getElementById("measure-more").open = false`)
	german := func(to string) {
		p.click("language")
		p.until(`document.documentElement.lang === "` + to + `"`)
	}
	german("de")
	calm("look-german")
	german("en")
	p.click("onward")
	calm("review")
	p.do(`document.getElementById("correct-start").click()`)
	calm("review-correct")
	task("look")
	assert.True(t, p.visible("correct-tools"), "what is in use stays")
	p.click("correct-end")
	for _, mode := range []string{"study", "learn"} {
		task(mode)
		calm(mode)
	}
	task("look")
	p.dropped("odd.jpg")
	calm("look-doubted")
	p.drop("nodisc.jpg", readBuilt(t, "sample.jpg"))
	p.until(nothingOf("disc"))
	calm("look-nothing")
	p.drop("notes.png", []byte("this is text"))
	p.until(`!document.getElementById("banner").hidden`)
	calm("error")
	p.click("banner-close")
	p.drop("stepwise.jpg", readBuilt(t, "sample.jpg"))
	p.until(`!document.getElementById("progress").hidden`)
	calm("loading")
	p.clean()
}

// The tour has four steps over the sample. Who ends it is not offered it again.
func TestTour(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	s.wishes = "?mode=look"
	p := open(t, s, 1440, 900)
	p.ready()
	p.click("tour")
	p.until(`document.getElementById("tour-card") && ` + sampleDone)
	p.looked("tour")
	for step := 2; step < 5; step++ {
		p.do(`document.querySelector("#tour-card .primary").click()`)
		assert.Regexp(t, fmt.Sprintf("^%d/4 · ", step), p.text("tour-card"))
	}
	p.looked("tour-end")
	p.do(`document.querySelector("#tour-card .primary").click()`)
	p.until(`!document.getElementById("tour-card")`)
	p.run(chromedp.Reload())
	p.ready()
	assert.True(t, p.visible("welcome"))
	assert.False(t, p.visible("tour"))
	p.clean()
}
