package site

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/segment"
	"mrprism/weights"
)

// withMemory is a function's value, which may use what the browser remembers for the site.
const withMemory = `(async () => {
	const settled = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
	const database = await settled(indexedDB.open("mrprism", 1));
	const memory = (mode) => database.transaction("memory", mode).objectStore("memory");
	try { return await (%s)(); } finally { database.close(); }
})()`

// The page measures kernels where its address asks for it on an emulated GPU (here of one name: all take minutes), stops for a question, goes on, and remembers what it found; the
// masks stay the same.
func TestTuningInThePage(t *testing.T) {
	picture, model := photo(t, 96, 80), tinyWeights(t, weights.LabelsRaters, nil)
	script, err := os.ReadFile("gpu.js")
	require.NoError(t, err)
	const compiling = "const pipeline = await this.device.createComputePipelineAsync("
	require.Contains(t, string(script), compiling)
	failing := strings.ReplaceAll(string(script), compiling, // of the first device
		`if (globalThis.name.includes("fail") && (globalThis.first ??= this) === this) throw new Error("injected");`+"\n"+compiling)
	s := emulated(serve(t, built(t, map[string][]byte{"sw.js": []byte("// none in this test"), "gpu.js": []byte(failing)}),
		map[string][]byte{"raters.safetensors": model, "photo.png": picture}))
	want := natively(t, model, picture, segment.Options{Recurrences: 1, ROI: "none"})
	p := open(t, s, 900, 700)
	visit := func(query string) {
		p.run(chromedp.Navigate(s.URL + s.wishes + query))
		p.ready()
		require.NoError(t, p.segmentIn("photo.png", "raters.safetensors", `recurrences: 1, roi: "none"`))
		p.compare("r.probability(0)", want.Probability(0))
	}
	type adapter struct {
		Choices    map[string]string
		Measured   map[string]string
		Unfinished map[string]int
	}
	remembered := func() (all []adapter) {
		texts := get[[]string](p, fmt.Sprintf(withMemory, `() => database.objectStoreNames.contains("memory") ? settled(memory("readonly").getAll()) : []`))
		for _, text := range texts {
			var a adapter
			require.NoError(t, json.Unmarshal([]byte(text), &a))
			all = append(all, a)
		}
		return all
	}
	type outcome struct {
		Done    bool
		Changed int
	}
	tune := func() outcome { return get[outcome](p, "mrprism.tune()") }

	visit("")
	assert.Equal(t, outcome{Done: true}, tune(), "an emulated GPU is not measured unasked")
	assert.Empty(t, remembered())

	visit("&tune=depthwise")
	interrupted := get[outcome](p, `(async () => { const tuned = mrprism.tune(); await r.probability(1); return tuned; })()`)
	assert.False(t, interrupted.Done, "a question comes first")
	require.True(t, tune().Done)
	kept := remembered()
	require.Len(t, kept, 1, "adapters")
	assert.GreaterOrEqual(t, len(kept[0].Choices), 2, "kernels with parameters")
	for kernel := range kept[0].Choices {
		assert.True(t, strings.HasPrefix(kernel, "depthwise"), kernel)
	}
	assert.Empty(t, kept[0].Measured, "what is not judged as a whole")
	assert.Empty(t, kept[0].Unfinished)
	require.NoError(t, p.segmentIn("photo.png", "raters.safetensors", `recurrences: 1, roi: "none"`))
	p.compare("r.probability(0)", want.Probability(0))

	visit("&tune=depthwise")
	assert.Equal(t, outcome{Done: true}, tune(), "all that was measured before")
	assert.Equal(t, kept, remembered())

	// What took the GPU with it twice is not measured again; what did once is.
	keys := slices.Sorted(maps.Keys(kept[0].Choices))
	ended, err := json.Marshal(map[string]int{keys[0]: 2, keys[1]: 1})
	require.NoError(t, err)
	p.do(fmt.Sprintf(withMemory, fmt.Sprintf(`async () => {
		const [key] = await settled(memory("readonly").getAllKeys());
		const known = JSON.parse(await settled(memory("readonly").get(key)));
		known.unfinished = %s;
		for (const kernel in known.unfinished) delete known.choices[kernel];
		await settled(memory("readwrite").put(JSON.stringify(known), key));
	}`, ended)))
	visit("&tune=depthwise")
	require.True(t, tune().Done)
	again := remembered()
	assert.Equal(t, keys, slices.Sorted(maps.Keys(again[0].Choices)))
	assert.Equal(t, map[string]int{keys[0]: 2}, again[0].Unfinished)

	// Where a GPU fails with kernels that were chosen for it, it goes on with those chosen by its kind, and keeps to them.
	visit("&tune=depthwise&fail=once")
	assert.Contains(t, get[string](p, "r.adapter"), "[browser")
	forgotten := remembered()
	assert.Empty(t, forgotten[0].Choices)
	assert.Equal(t, keys, slices.Sorted(maps.Keys(forgotten[0].Unfinished)))
	visit("&tune=depthwise")
	assert.Equal(t, outcome{Done: true}, tune())

	visit("&tune=off")
	assert.Equal(t, outcome{Done: true}, tune())
	p.clean()
}
