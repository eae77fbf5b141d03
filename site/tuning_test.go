package site

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/segment"
	"mrprism/weights"
)

// The page measures kernels where its address asks for it on an emulated GPU, stops for a question, goes on, and remembers what it found; the
// masks stay the same.
func TestTuningInThePage(t *testing.T) {
	picture, model := photo(t, 96, 80), tinyWeights(t, weights.LabelsRaters, nil)
	s := real(t, map[string][]byte{"raters.safetensors": model, "photo.png": picture})
	want := natively(t, model, picture, segment.Options{Recurrences: 1, ROI: "none"})
	p := open(t, s, 900, 700)
	visit := func(query string) {
		p.run(chromedp.Navigate(s.URL + query))
		p.ready()
		require.NoError(t, p.segmentIn("photo.png", "raters.safetensors", `recurrences: 1, roi: "none"`))
		p.compare("r.probability(0)", want.Probability(0))
	}
	const remembered = `(async () => {
		const settled = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
		const database = await settled(indexedDB.open("mrprism", 1));
		const all = database.objectStoreNames.contains("memory") ? await settled(database.transaction("memory").objectStore("memory").getAll()) : [];
		database.close();
		return all.map((text) => Object.keys(JSON.parse(text)).length);
	})()`
	type outcome struct {
		Done    bool
		Changed int
	}
	tune := func() outcome { return get[outcome](p, "mrprism.tune()") }

	visit("")
	assert.Equal(t, outcome{Done: true}, tune(), "an emulated GPU is not measured unasked")
	assert.Empty(t, get[[]int](p, remembered))

	visit("?tune=on")
	interrupted := get[outcome](p, `(async () => { const tuned = mrprism.tune(); await r.probability(1); return tuned; })()`)
	assert.False(t, interrupted.Done, "a question comes first")
	require.True(t, tune().Done)
	kept := get[[]int](p, remembered)
	require.Len(t, kept, 1, "adapters")
	assert.Greater(t, kept[0], 10, "kernels with parameters")
	require.NoError(t, p.segmentIn("photo.png", "raters.safetensors", `recurrences: 1, roi: "none"`))
	p.compare("r.probability(0)", want.Probability(0))

	visit("?tune=on")
	assert.Equal(t, outcome{Done: true}, tune(), "all that was measured before")
	assert.Equal(t, kept, get[[]int](p, remembered))
	visit("?tune=off")
	assert.Equal(t, outcome{Done: true}, tune())
	p.clean()
}
