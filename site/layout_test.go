package site

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/stretchr/testify/assert"
)

// beyond lists texts that reach beyond the part of the page that they stand in, and are cut there.
const beyond = `[...document.querySelectorAll("#panel *, #worklist *, #bars *, #top *")].filter((e) => {
	if (!e.checkVisibility() || e.closest("svg, .hidden-text, select") || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || getComputedStyle(e).overflowX !== "visible") return false;
	const range = document.createRange(), around = e.closest("#panel, #worklist, #stage-area").getBoundingClientRect();
	range.selectNodeContents(e);
	const text = range.getBoundingClientRect();
	return text.right > around.right + 1 || text.left < around.left - 1 || (e.localName === "span" && e.parentElement.matches(".field") && e.scrollWidth > e.clientWidth + 1);
}).map((e) => e.id + " " + e.textContent.trim().slice(0, 60))`

// On a phone, a kiosk and a laptop, also at 200 %, the photograph has room, and no label is cut. The
// words of German are longer.
func TestRoomForPhotographAndLabels(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	s.wishes = "?lang=de"
	p := open(t, s, 1440, 900)
	p.ready()
	// seen looks at the page as it is. Two photographs share the room.
	seen := func(state string, least int) {
		for _, size := range [][3]int64{{1366, 768, 1}, {683, 384, 2}, {720, 450, 2}, {840, 525, 2}, {960, 540, 2}, {390, 844, 3}, {360, 560, 3}, {1080, 1920, 1}, {540, 960, 2}} {
			p.run(command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: size[0], Height: size[1], DeviceScaleFactor: float64(size[2])}))
			height := get[int](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(Math.round(document.getElementById("stage").getBoundingClientRect().height)))))`)
			about := fmt.Sprintf("%s, %d × %d", state, size[0], size[1])
			assert.GreaterOrEqual(t, height, least, about)
			assert.Empty(t, get[[]string](p, beyond), about)
		}
	}
	p.sample()
	p.do(`document.querySelectorAll("details").forEach((one) => { one.open = true; })`)
	seen("a result", 200)
	p.click("measure")
	seen("measuring", 200)
	p.click("measure")
	p.second("spaced-OS-high.jpg", readBuilt(t, "sample.jpg"))
	p.until(compareDone)
	seen("comparing", 120)
	p.click("comparison-end")
	_, paths := folderOf(t, "odd-2026-11-24-with-a-long-name-0003.png", "volume.png", "notes.txt")
	p.upload("file", paths...)
	p.allComputed()
	seen("a folded list", 200) // as the page is narrow
	p.click("work-open")
	seen("a list", 140)
	p.clean()
}
