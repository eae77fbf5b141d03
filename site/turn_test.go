package site

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
)

// The photograph is turned by a button and by T. Region and weights stay, the figures are of what is
// shown, and saved masks lie as the file does.
func TestTurningThePhotograph(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.asking()
	p.saving()
	p.sample()
	name := func() string { return get[string](p, `document.getElementById("file-line").textContent`) }
	done := func(text string) {
		t.Helper()
		p.until(`document.getElementById("file-line").textContent === "` + text + `" && ` + sampleDone)
	}
	p.click("place")
	for id, value := range map[string]int{"x": 100, "y": 50, "side": 400} {
		p.slide("#region-"+id, value)
	}
	p.click("place-apply")
	p.until(`document.getElementById("region-line").textContent.startsWith("400") && ` + sampleDone)
	p.click("turn")
	done("sample.jpg · 1152 × 1536 · turned by 90°")
	assert.Equal(t, "400 × 400 px at 702, 100, by hand", p.text("region-line"), "1152 - 50 - 400, 100")
	p.do(`document.querySelector("[aria-label='Mask PNG of disc']").click()`)
	p.until(`saved["sample_disc_mask.png"]`)
	size := func(file string) []int {
		return get[[]int](p, `createImageBitmap(blobs[saved["`+file+`"]]).then(({ width, height }) => [width, height])`)
	}
	assert.Equal(t, []int{1536, 1152}, size("sample_disc_mask.png"), "as the file lies")
	p.click("save-json")
	p.until(`saved["sample.json"]`)
	assert.EqualValues(t, 90, get[map[string]any](p, `blobs[saved["sample.json"]].text().then(JSON.parse)`)["turned"])

	// What is drawn lies on this photograph: it is not lost to a turn.
	p.click("correct-start")
	p.do(`document.getElementById("stage").focus()`)
	p.press(" ", false)
	p.until(`!document.getElementById("correct-line").hidden`)
	p.press("t", false)
	p.until(`document.getElementById("banner").innerText.includes("not turned")`)
	p.do(`document.querySelector("[aria-label='Mask PNG of disc']").click()`)
	p.until(`saved["sample_disc_mask_corrected.png"]`)
	assert.Equal(t, []int{1536, 1152}, size("sample_disc_mask_corrected.png"))
	p.click("correct-clear")
	p.click("correct-end")
	p.do(`document.getElementById("stage").focus()`)
	p.press("T", true)
	done("sample.jpg · 1536 × 1152")
	assert.Equal(t, "400 × 400 px at 100, 50, by hand", p.text("region-line"))
	for _, want := range []string{"1152 × 1536 · turned by 90°", "1536 × 1152 · turned by 180°", "1152 × 1536 · turned by 270°", "1536 × 1152"} {
		p.press("t", false)
		done("sample.jpg · " + want)
	}
	assert.Equal(t, "sample.jpg · 1536 × 1152", name())
	p.clean()
}

// A script's picture is turned before the network sees it. A mark in a file lies as the file does.
func turnedByAScript(p *page, files map[string][]byte) {
	t := p.t
	require.NoError(t, p.segmentIn("small.png", "raters.safetensors", `recurrences: 0, roi: "none", turn: 90`))
	upright, err := imageio.Decode("small.png", files["small.png"])
	require.NoError(t, err)
	turned := upright.Turned(1)
	pixels := image.NewRGBA(image.Rect(0, 0, turned.W, turned.H))
	for i := range turned.W * turned.H {
		copy(pixels.Pix[4*i:], append(append([]byte{}, turned.Pix[3*i:3*i+3]...), 255))
	}
	var encoded bytes.Buffer
	require.NoError(t, png.Encode(&encoded, pixels))
	want := natively(t, files["raters.safetensors"], encoded.Bytes(), segment.Options{ROI: "none"})
	assert.Equal(t, []int{90, 120}, get[[]int](p, "[r.width, r.height]"))
	p.compare("r.probability(0)", want.Probability(0))
	assert.Contains(t, get[string](p, `fetch("sample.jpg").then((r) => r.blob()).then((image) => mrprism.segment(image, { turn: 45 })).then(() => "", String)`), "TypeError: turn is not 0, 90, 180 or 270")
}
