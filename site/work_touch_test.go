package site

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/assert"
)

// fingers touch the page at points, or leave it.
func (p *page) fingers(kind input.DispatchTouchEventType, points ...[2]float64) {
	p.t.Helper()
	list := []*input.TouchPoint{}
	for _, at := range points {
		list = append(list, &input.TouchPoint{X: at[0], Y: at[1]})
	}
	p.run(command(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: list}))
}

// tap touches the middle of what a selector finds, once it is in view.
func (p *page) tap(selector string) {
	p.t.Helper()
	at := get[[]float64](p, fmt.Sprintf(`(() => {
		const element = document.querySelector(%q);
		element.scrollIntoView({ block: "nearest" });
		const { x, y, width, height } = element.getBoundingClientRect();
		return [x + width / 2, y + height / 2];
	})()`, selector))
	p.fingers(input.DispatchTouchEventTypeTouchStart, [2]float64{at[0], at[1]})
	p.fingers(input.DispatchTouchEventTypeTouchEnd)
}

// swipe moves a finger from a point of an element upwards by as many pixels, and waits until the
// element has come to rest.
func (p *page) swipe(id string, x, y, up float64) {
	p.t.Helper()
	p.fingers(input.DispatchTouchEventTypeTouchStart, [2]float64{x, y})
	for i := range 10 {
		p.fingers(input.DispatchTouchEventTypeTouchMove, [2]float64{x, y - up*float64(i+1)/10})
	}
	p.fingers(input.DispatchTouchEventTypeTouchEnd)
	p.do(fmt.Sprintf(`new Promise((done) => {
		let at = -1;
		const look = setInterval(() => {
			const { scrollTop } = document.getElementById(%q);
			if (scrollTop === at) clearInterval(look), done();
			at = scrollTop;
		}, 200);
	})`, id))
}

// On a phone the list stands below the photograph, is scrolled by a finger without a line being
// opened, opens a line by a tap, and everything in it is large enough to be hit.
func TestTouchingTheList(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 390, 844)
	p.phone()
	p.ready()
	names := []string{}
	for i := range 20 {
		names = append(names, fmt.Sprintf("eye%02d.png", i))
	}
	_, paths := folderOf(t, names...)
	p.upload("file", paths...)
	p.allComputed()
	p.onStage("eye00.png")
	const small = `[...document.querySelectorAll("#worklist button, #worklist summary, #worklist .check, #worklist .line, #worklist input[type=text]")].filter((e) => e.checkVisibility()).filter((e) => {
		const { width, height } = e.getBoundingClientRect(); return width < 44 || height < 44; }).map((e) => e.id + e.className + e.textContent)`
	assert.False(t, get[bool](p, `document.getElementById("work-body").checkVisibility()`), "folded: the result comes first")
	assert.Empty(t, get[[]string](p, small))

	p.tap("#work-open")
	p.until(`document.getElementById("work-body").checkVisibility()`)
	p.tap("#work-files summary")
	p.until(`document.getElementById("work-files").open`)
	assert.Empty(t, get[[]string](p, small), "targets below 44 pixels")
	assert.Zero(t, get[int](p, `(() => { const list = document.getElementById("work-lines"); return list.scrollWidth - list.clientWidth; })()`), "nothing to scroll sideways to")
	p.tap("#work-files summary")
	p.until(`!document.getElementById("work-files").open`)

	box := get[[]float64](p, `(({ x, y, width, height }) => [x, y, width, height])(document.getElementById("work-lines").getBoundingClientRect())`)
	p.swipe("work-lines", box[0]+box[2]/2, box[1]+0.8*box[3], 0.7*box[3])
	assert.Greater(t, get[float64](p, `document.getElementById("work-lines").scrollTop`), box[3]/4)
	assert.Equal(t, "eye00.png", p.chosen(), "a swipe opens no line")
	assert.True(t, p.visible("work-body"))

	p.tap("#work-lines .line:nth-child(12)")
	p.onStage("eye11.png")
	assert.Equal(t, "eye11.png", p.chosen())
	assert.False(t, get[bool](p, `document.getElementById("work-body").checkVisibility()`), "a tap shows the image, and folds the list")
	p.tap("#work-accepted")
	p.said("eye11.png", "accepted")
	p.tap("#work-on")
	p.onStage("eye12.png")
	p.tap("#work-rejected")
	p.said("eye12.png", "rejected")
	p.clean()
}
