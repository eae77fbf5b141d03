package site

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/metric"
	"mrprism/internal/data/roi"
)

// The figures of corrected masks are those that Go computes of the same pixels.
func TestFiguresAreThoseOfGo(t *testing.T) {
	t.Parallel()
	const w, h = 90, 70
	draw := func(inside func(x, y float64) bool) []uint8 {
		mask := make([]uint8, w*h)
		for i := range mask {
			if inside(float64(i%w)+0.5, float64(i/w)+0.5) {
				mask[i] = 1
			}
		}
		return mask
	}
	disc := draw(func(x, y float64) bool { return math.Hypot(x-44, (y-33)*1.3) < 26 || math.Hypot(x-80, y-8) < 4 })
	comb := draw(func(x, y float64) bool { return int(x)%3 == 0 && y > 10 || int(y) == 69 && x < 40 })
	p := open(t, serve(t, built(t, map[string][]byte{"page.js": nil}), nil), 400, 300)
	window := func(mask []uint8) string {
		numbers := make([]int, len(mask))
		for i, v := range mask {
			numbers[i] = int(v)
		}
		text, err := json.Marshal(numbers)
		require.NoError(t, err)
		return fmt.Sprintf(`{ x: 5, y: -3, width: %d, height: %d, mask: Uint8Array.from(%s) }`, w, h, text)
	}
	for name, mask := range map[string][]uint8{"disc": disc, "comb": comb, "nothing": make([]uint8, w*h)} {
		pieces := roi.Connected(len(mask), w, true, func(i int) bool { return mask[i] == 1 })
		assert.Equal(t, map[string]int{
			"area": metric.Area(mask), "height": metric.VerticalDiameter(mask, w, h), "width": metric.ExtentOf(mask, w, h).Width, "pieces": len(pieces),
		}, get[map[string]int](p, `import("./figures.js").then(({ extentOf }) => extentOf(`+window(mask)+`))`), name)
	}
}

// Diameters and the rim unfold below the figures. A known length makes millimetres of pixels, in the
// table and in what is saved, until it is forgotten.
func TestMeasuringWithTheRuler(t *testing.T) {
	t.Parallel()
	p := correcting(t, "levels", 1440, 900)
	p.press("Escape", false)
	p.until(`document.getElementById("correct-tools").hidden`)
	p.do(`document.querySelector("#measure-more summary").click()`)
	more := p.text("measure-more")
	assert.Contains(t, more, "Cup/disc, horizontal")
	assert.Contains(t, more, "Narrowest ray at 8 o'clock, mean there:")
	assert.Regexp(t, `Narrowest rim/disc\s+0.07\s+0.05 – 0.08\s+at 8 o'clock`, more)
	assert.Regexp(t, `ISNT rule\s+which eye\?`, more)
	assert.Regexp(t, `DDLS\s+withheld`, more)
	assert.Contains(t, more, "There is no scale in millimetres.")
	p.do(`(() => { const eye = document.getElementById("eye"); eye.value = "right"; eye.dispatchEvent(new Event("change")); })()`)
	p.until(`document.getElementById("clinical-body").innerText.includes("violated")`)
	assert.Regexp(t, `3 of 4 agree\s+I 0.13 · S 0.11 · N 0.12 · T 0.10 disc diameters`, p.text("clinical-body"))
	assert.Contains(t, p.text("measure-note"), "Right eye, as you say.")
	assert.Contains(t, get[string](p, `document.querySelector(".rim").textContent`), "3 N")
	assert.Contains(t, more, "The file does not say how large a pixel is")
	assert.Contains(t, get[string](p, `document.querySelector(".rim").getAttribute("aria-label")`), "12 o'clock 0.")
	assert.Contains(t, p.text("measure-head"), "Area, px")
	pixels := get[int](p, area)

	x, y, k := p.middle()
	radius := 0.25 * 369 * k
	p.click("measure")
	p.until(`!document.getElementById("ruler").hidden`)
	p.drag([2]float64{x - radius, y}, [2]float64{x, y}, [2]float64{x + radius, y})
	assert.Regexp(t, `^(0.99|1.00|1.01) disc diameters · 18\d px$`, p.text("ruler-length"))
	p.do(`(() => { const field = document.getElementById("ruler-known"); field.value = "1.8"; document.getElementById("ruler-use").click(); })()`)
	assert.Regexp(t, `^1\.8\d* mm · `, p.text("ruler-length"))
	assert.Contains(t, p.text("measure-head"), "Area, mm²")
	assert.Contains(t, p.text("more-head"), "Height, mm")
	p.until(`document.getElementById("clinical-body").innerText.includes("5 of 10")`)
	assert.Contains(t, p.text("rim-note"), "mm.")
	assert.Contains(t, p.text("more-note"), "by the length that you gave")
	p.do(`document.getElementById("save-json").click()`)
	p.until(`saved["sample.json"]`)
	record := get[map[string]any](p, `blobs[saved["sample.json"]].text().then(JSON.parse)`)
	assert.InDelta(t, 1.8/185, record["spacing_by_hand"].([]any)[0], 1e-4)
	measured := record["measurements"].(map[string]any)
	assert.Equal(t, map[string]any{"side": "right", "by": "user"}, measured["eye"])
	assert.Equal(t, 5., measured["ddls"].(map[string]any)["stage"])
	p.do(`document.getElementById("save-csv").click()`)
	result := p.record("sample.csv")["result"].(map[string]any)["measurements"].(map[string]any)
	assert.InDelta(t, 1.8/185, result["spacing"].([]any)[0], 1e-4)
	assert.Equal(t, measured["ddls"], result["ddls"])

	// By keys: arrows move one end, space takes the other, Escape ends.
	before := p.text("ruler-length")
	p.do(`document.getElementById("stage").focus()`)
	p.press("ArrowRight", true)
	assert.NotEqual(t, before, p.text("ruler-length"))
	p.press(" ", false)
	p.press("ArrowRight", true)
	assert.Equal(t, before, p.text("ruler-length"))
	p.click("ruler-forget")
	assert.Equal(t, pixels, get[int](p, area))
	p.press("Escape", false)
	p.until(`document.getElementById("ruler").hidden`)
	p.press("m", false)
	p.until(`!document.getElementById("ruler").hidden`)

	// The worker reads the rim of what was drawn.
	p.press("c", false)
	p.until(`document.activeElement.id === "stage" && !document.getElementById("correct-tools").hidden`)
	p.drag([2]float64{x, y - radius - 20}, [2]float64{x + 30, y - radius - 20})
	p.until(`document.querySelector("#clinical-body td").textContent === "0.10" && !document.querySelector("#measure-more.stale")`)
	p.clean()
}

// A file that says how large its pixels are needs no ruler.
func TestMillimetresOfTheFile(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1024, 768)
	p.ready()
	p.dropped("spaced.dcm")
	p.do(`document.querySelector("#measure-more summary").click()`)
	assert.Contains(t, p.text("measure-head"), "Area, mm²")
	assert.Contains(t, p.text("more-note"), "by the pixel size in the file")
	p.clean()
}

// Brightness, contrast and red-free change the stage alone.
func TestLookOfThePhotograph(t *testing.T) {
	t.Parallel()
	p := correcting(t, "levels", 1440, 900)
	p.press("Escape", false)
	p.do(`import("./canvas2d.js").then(({ Pictures: { prototype } }) => {
		const { image } = prototype;
		prototype.image = function (...of) { globalThis.drawn = of[6]; image.apply(this, of); };
	})`)
	p.do(`document.querySelector("#look summary").click()`)
	segmentations := get[int](p, `document.getElementById("about-list").innerText.length`)
	p.do(`document.getElementById("red-free").click()`)
	p.until(`globalThis.drawn && drawn[0] === drawn[1] && drawn[1] === drawn[2]`)
	green := get[[]int](p, `[...drawn.subarray(0, 400)]`)
	p.do(`document.getElementById("red-free").click()`)
	taken := get[[]int](p, `[...drawn.subarray(0, 400)]`)
	assert.Equal(t, taken[1], green[0])
	p.slide("#contrast", 50)
	assert.Equal(t, "50", p.text("contrast-value"))
	contrast := get[[]int](p, `[...drawn.subarray(0, 400)]`)
	for i, v := range taken {
		if i%4 < 3 {
			require.InDelta(t, min(255, max(0, float64(v)*2-127.5)), contrast[i], 1, "%v becomes %v", taken[:8], contrast[:8])
		}
	}
	p.click("look-reset")
	assert.Equal(t, taken, get[[]int](p, `[...drawn.subarray(0, 400)]`))
	assert.Equal(t, segmentations, get[int](p, `document.getElementById("about-list").innerText.length`))
	assert.Equal(t, "0", p.text("contrast-value"))
	p.clean()
}
