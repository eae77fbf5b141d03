package site

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/weights"
)

// Where the browser's only adapter is emulated, the page computes with the processor and says so at
// its chip; ?device= is asked first.
func TestThePageTakesTheProcessor(t *testing.T) {
	t.Parallel()
	s := serve(t, built(t, nil), map[string][]byte{"w.safetensors": tinyWeights(t, weights.LabelsRaters, nil), "photo.png": photo(t, 96, 80)})
	p := open(t, s, 900, 700)
	visit := func(query string) (title string) {
		p.run(chromedp.Navigate(s.URL + query))
		p.ready()
		return get[string](p, `document.getElementById("adapter").title`)
	}
	assert.Regexp(t, `^Computed by Go float32 in SIMD128( relaxed)?: .*wift.* emulates a GPU on this processor, which takes longer$`, visit(""))
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`), "nothing is wrong")
	assert.Equal(t, "Processor (faster here)", get[string](p, `document.getElementById("adapter-name").textContent`))
	require.NoError(t, p.segmentIn("photo.png", "w.safetensors", `recurrences: 0, roi: "none"`))
	assert.Contains(t, get[string](p, "r.adapter"), "[processor")
	assert.Contains(t, get[string](p, "r.why"), "emulates a GPU")
	assert.Regexp(t, `^Computed by Go float32 in SIMD128( relaxed)?$`, visit("?device=processor"))
	assert.Regexp(t, `^Computed by [^:]*wift[^:]*$`, visit("?device=browser"))
	p.clean()
}
