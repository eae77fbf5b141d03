package site

import (
	"testing"

	devpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answering answers the page's questions, one after the other, and returns what they are.
func (p *page) answering(answers ...bool) (asked <-chan string) {
	p.t.Helper()
	questions := make(chan string, 8)
	require.NoError(p.t, chromedp.Listen(p.ctx, func(event any) {
		if opened, ok := event.(*devpage.EventJavascriptDialogOpening); ok && len(answers) > 0 {
			questions <- opened.Message
			answer := devpage.HandleJavaScriptDialogParams{Accept: answers[0]}
			go chromedp.Do(p.ctx, command(devpage.HandleJavaScriptDialog, answer))
			answers = answers[1:]
		}
	}))
	return questions
}

// The page asks before it loses what a person did and has not saved: by another model, "Close
// list", or as the page is loaded anew or closed.
func TestQuestionsBeforeALoss(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	p.asking()
	p.saving()
	asked := p.answering(false, true, false, false)
	_, paths := folderOf(t, "a.png", "b.png", "c.png")
	p.upload("file", paths...)
	p.allComputed()
	another := func() { // the next model, by the keyboard
		p.do(`document.getElementById("model").focus()`)
		p.press("ArrowDown", false)
	}
	anew := func(model string) {
		p.until(`document.getElementById("model").value === "` + model + `" && asked.filter(({ model }) => model === "` + model + `").length >= 3`)
		p.allComputed()
	}

	another()
	anew("marks")
	assert.Empty(t, asked, "nothing of a person's would be lost")
	p.do(`document.getElementById("stage").focus()`)
	p.press("a", false)
	p.said("a.png", "accepted")
	before := p.lines()

	another()
	assert.Equal(t, "A decision, drawing or mark is not saved and would be lost. Go on?", <-asked)
	p.until(`document.getElementById("model").value === "marks"`)
	assert.Equal(t, before, p.lines(), "as it was")
	assert.Zero(t, get[int](p, `asked.filter(({ model }) => model === "raters").length`))

	another()
	<-asked
	anew("raters")
	for _, line := range p.lines() {
		assert.Contains(t, line, ", done, Brain, area, ", "of the new model, and undecided")
	}
	p.do(`document.getElementById("model").focus()`)
	p.press("x", false) // keys act wherever the focus is
	p.said("a.png", "rejected")
	p.click("work-close")
	assert.NotEmpty(t, <-asked)
	p.do(`setTimeout(() => location.reload())`)
	<-asked
	assert.Contains(t, p.lines()[0], "rejected", "it is still there")
	p.click("work-csv")
	p.until(`Object.keys(saved).length === 1`)
	p.click("work-close")
	p.until(`document.getElementById("welcome")?.checkVisibility()`) // a table has it
	p.clean()
}

// clockOfIdle takes over the timer of idle.js, for an address that asks for an hour.
const clockOfIdle = `(() => {
	const plain = setTimeout;
	globalThis.setTimeout = (act, ms, ...all) => ms === 3600_000 ? (globalThis.idle = act, 0) : plain(act, ms, ...all);
})()`

// A kiosk's page that nobody touches forgets the list: its lines, images and decisions, and also
// the way back to them.
func TestIdlePageForgetsTheList(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	s.wishes, s.before = "?idle=3600", clockOfIdle
	p := open(t, s, 1200, 800)
	p.ready()
	require.True(t, get[bool](p, `globalThis.idle === undefined`), "nobody has touched it")
	_, paths := folderOf(t, "mueller-1971.png", "mueller-1972.png", "mueller-1973.png")
	p.upload("file", paths...)
	p.allComputed()
	p.press("a", false)
	p.said("mueller-1971.png", "accepted")
	pictures := get[[]string](p, `[...document.querySelectorAll("#work-lines img")].map(({ src }) => src)`)
	require.Len(t, pictures, 3)
	p.do(`globalThis.untouched = true, idle()`)
	p.until(`globalThis.untouched === undefined && document.readyState === "complete"`)
	p.ready()
	assert.False(t, p.visible("worklist"))
	assert.Empty(t, p.lines())
	assert.True(t, p.visible("welcome"))
	assert.NotContains(t, get[string](p, `document.documentElement.outerHTML + JSON.stringify({ ...localStorage, ...sessionStorage })`), "mueller")
	for _, address := range pictures {
		assert.Equal(t, "gone", get[string](p, `fetch("`+address+`").then(() => "there", () => "gone")`))
	}
	way, err := chromedp.Run(p.ctx, chromedp.NavigationEntries())
	require.NoError(t, err)
	assert.Len(t, way.Entries, 2, "about:blank and the page: nothing to go back to")
	p.run(chromedp.Reload())
	p.ready()
	assert.Empty(t, p.lines(), "nor is it there after another reload")
}
