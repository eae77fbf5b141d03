package site

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/weights"
)

// withMemory is a function's value, which may use what the browser remembers for the site.
const withMemory = `(async () => {
	const settled = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
	const database = await settled(indexedDB.open("mrprism", 1));
	const memory = (mode) => database.transaction("memory", mode).objectStore("memory");
	try { return await (%s)(); } finally { database.close(); }
})()`

// Where the browser's only adapter is emulated, the page computes with what a measurement shows to
// be the faster, says so at its chip, and remembers it; ?device= is asked first.
func TestThePageTakesTheFaster(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("worker/gpu.js")
	require.NoError(t, err)
	const compiling = "const pipeline = await this.device.createComputePipelineAsync("
	require.Contains(t, string(script), compiling)
	failing := strings.ReplaceAll(string(script), compiling, `if (globalThis.name.includes("fail")) throw new Error("injected");`+"\n"+compiling)
	s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper, "gpu.js": []byte(failing)}),
		map[string][]byte{"w.safetensors": tinyWeights(t, weights.LabelsRaters, nil), "photo.png": photo(t, 96, 80)})
	p := open(t, s, 900, 700)
	visit := func(query string) (title string) {
		p.run(chromedp.Navigate(s.URL + query))
		p.ready()
		return get[string](p, `document.getElementById("adapter").title`)
	}
	keys := func() []string {
		return get[[]string](p, fmt.Sprintf(withMemory, `() => settled(memory("readonly").getAllKeys())`))
	}
	remember := func(text string) {
		p.do(fmt.Sprintf(withMemory, fmt.Sprintf(`async () => {
			const [key] = await settled(memory("readonly").getAllKeys()), text = await settled(memory("readonly").get(key));
			await settled(memory("readwrite").put(%s, key));
		}`, text)))
	}
	times := func(adapter int) string {
		return fmt.Sprintf(`JSON.stringify({ ...JSON.parse(text), adapter_ms: %d, processor_ms: 1000, failures: 0 })`, adapter)
	}

	// A machine that is busy may be too slow to compare.
	const measured, slow = ` as fast as .+ here$`, `not compared: it took longer than 1s$`
	first := visit("")
	t.Log(first)
	require.Regexp(t, "^Computed by .*("+measured+"|"+slow+")", first)
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`), "nothing is wrong")
	require.Len(t, keys(), 1)
	assert.Regexp(t, "^faster-", keys()[0])
	if !strings.HasSuffix(first, "1s") {
		assert.Equal(t, first, visit(""), "remembered to the digit")
	}

	remember(times(99000))
	assert.Regexp(t, `^Computed by Go float32 in SIMD128( relaxed)?: 99\.0 times as fast as .*wift.* here$`, visit(""))
	assert.Equal(t, "Processor (faster here)", get[string](p, `document.getElementById("adapter-name").textContent`))
	require.NoError(t, p.segmentIn("photo.png", "w.safetensors", `recurrences: 0, roi: "none"`))
	assert.Contains(t, get[string](p, "r.adapter"), "[processor")
	assert.Regexp(t, `^99\.0 times as fast as `, get[string](p, "r.why"))

	remember(times(1))
	assert.Regexp(t, `wift.*: 1000\.0 times as fast as Go float32 in SIMD128( relaxed)? here$`, visit(""))
	require.NoError(t, p.segmentIn("photo.png", "w.safetensors", `recurrences: 0, roi: "none"`))
	assert.Contains(t, get[string](p, "r.adapter"), "[browser")
	assert.Regexp(t, `^1000\.0 times as fast as `, get[string](p, "r.why"))
	assert.Regexp(t, `^Computed by Go float32 in SIMD128( relaxed)?$`, visit("?device=processor"))
	remember(times(99000))
	assert.Regexp(t, `^Computed by [^:]*wift[^:]*$`, visit("?device=browser"))

	remember(`"{"`)
	assert.Regexp(t, measured+"|"+slow, visit(""), "what is damaged is measured again")
	require.Len(t, keys(), 1)

	// An adapter that fails is left, also where the memory knows of the failures.
	remember(`"{"`)
	for range 3 {
		assert.Regexp(t, `^Computed by Go float32 in SIMD128( relaxed)?: .*wift.* emulates a GPU on this processor, and was not compared: `, visit("?fail"))
	}
	p.clean()
}
