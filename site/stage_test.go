package site

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStageWithoutWebGL(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	p := open(t, s, 1200, 800, chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-software-rasterizer", true), chromedp.Flag("enable-unsafe-swiftshader", false),
		chromedp.Flag("use-webgpu-adapter", false), chromedp.Flag("enable-unsafe-webgpu", false), chromedp.Flag("disable-3d-apis", true))
	p.until(`!document.getElementById("model").disabled`)
	require.True(t, get[bool](p, `document.createElement("canvas").getContext("webgl2") === null`), "this browser has no WebGL2")
	p.sample()
	p.until(colours + ` > 1000`) // the photograph is drawn by the plain canvas

	// It dashes the two outlines of a doubted result, each with its dark edge.
	p.do(`(() => { const plain = CanvasRenderingContext2D.prototype.stroke; CanvasRenderingContext2D.prototype.stroke = function (path) {
		if (this.getLineDash().length) globalThis.dashed = (globalThis.dashed ?? 0) + 1; plain.call(this, path); }; })()`)
	p.dropped("odd.jpg")
	p.until(`globalThis.dashed >= 4`)
}

// colours counts different colours on the stage's plain canvas.
const colours = `(() => { const c = document.querySelector("#stage > canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, s = new Set();
	for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()`

// The viewer draws no frame while nothing changes. Where WebGL is lost, the plain canvas goes on.
func TestStageSurvivesLosingWebGL(t *testing.T) {
	t.Parallel()
	p := open(t, drawn(t), 1000, 700)
	p.ready()
	p.sample()
	p.viewed()
	before := settled[int](p, "mrprismViewer.frames()")
	p.still()
	assert.Equal(t, before, get[int](p, "mrprismViewer.frames()"), "frames while nothing changes")
	p.do(`document.getElementById("zoom-in").click()`)
	p.until(fmt.Sprintf("mrprismViewer.frames() > %d", before))
	p.do(`globalThis.notReloaded = true, globalThis.context = document.querySelector("#stage > canvas").getContext("webgl2"),
		globalThis.losing = context.getExtension("WEBGL_lose_context"), losing.loseContext()`)
	p.until(`document.querySelector("#stage > canvas").getContext("2d") && ` + colours + ` > 1000`) // the photograph is still there
	assert.True(t, get[bool](p, "globalThis.notReloaded === true"), "the page was not reloaded")
	assert.True(t, get[bool](p, sampleDone))
	p.do(`losing.restoreContext()`)
	p.still()
	assert.True(t, get[bool](p, "context.isContextLost()"), "a context that came back could be lost again")
}

func TestGPUProcessKilled(t *testing.T) {
	t.Parallel()
	p := open(t, drawn(t), 1200, 800, alone)
	p.ready()
	p.sample()
	p.viewed()
	p.do(`globalThis.notReloaded = true`)
	p.crashGPU()
	p.until(`document.querySelector("#stage > canvas").getContext("2d") && ` + colours + ` > 1000`)
	assert.True(t, get[bool](p, `globalThis.notReloaded === true && `+sampleDone), "the page and its result are still there")
	zoom := `document.getElementById("zoom").textContent`
	before := get[string](p, zoom)
	p.click("zoom-region")
	assert.NotEqual(t, before, get[string](p, zoom), "and can be looked at")
}
