package site

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// banner is what the page's message says; empty if there is none.
const banner = `(document.getElementById("banner").hidden ? "" : document.getElementById("banner").innerText)`

// clockOfWatch takes over the timer of segmenter.js that looks every 500 ms whether the worker is
// silent. clock.pass lets that many looks go by; clock counts workers, what they say, and the
// images that they are asked about.
const clockOfWatch = `(() => {
	const every = setInterval, now = performance.now, clock = globalThis.clock = { looks: [], ms: 0, workers: 0, heard: 0, asked: 0 };
	globalThis.setInterval = (act, ms, ...all) => ms === 500 ? clock.looks.push(act) : every(act, ms, ...all);
	clock.pass = (looks) => {
		performance.now = () => clock.ms;
		for (; looks > 0; looks--) clock.ms += 500, clock.looks.forEach((act) => act());
		performance.now = now;
	};
	globalThis.Worker = class extends Worker {
		postMessage(message, ...all) {
			super.postMessage(message, ...all);
			if (message.type === "segment") clock.asked++;
		}
		constructor(...all) {
			super(...all);
			clock.workers++;
			this.addEventListener("message", ({ data }) => { if (data.type === "alive") clock.heard++; });
		}
	};
})()`

// A worker that falls silent is replaced, and another one tries once more; then what it was asked
// can begin again. A worker that says that it computes is not, and neither is one that is silent
// while the page is hidden, or not for long before its first result: it compiles.
func TestSilentWorker(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	s.before, s.watched = clockOfWatch, true
	p := open(t, s, 1200, 800)
	p.ready()
	photo := readBuilt(t, "sample.jpg")
	require.Equal(t, 1, get[int](p, `clock.looks.length`))
	pass := func(seconds float64) { p.do(fmt.Sprintf(`clock.pass(%v)`, seconds*2)) }

	p.drop("beats.jpg", photo)
	p.until(computing)
	for range 3 {
		p.do(`clock.before = clock.heard, clock.pass(7)`) // 3.5 s; at once, or two of these might pass between two beats
		p.until(`clock.heard > clock.before`)
	}
	p.until(sampleDone)
	assert.Empty(t, get[string](p, banner))

	p.do(`Object.defineProperty(document, "hidden", { configurable: true, get: () => true })`)
	p.drop("hangs.jpg", photo)
	p.until(computing)
	pass(20)
	p.do(`delete document.hidden`)
	pass(7) // twice what it was silent for before it spoke again
	assert.Equal(t, 1, get[int](p, `clock.workers`), "none was replaced")
	assert.Empty(t, get[string](p, banner))
	pass(0.5)
	p.until(`clock.workers === 2 && ` + computing)
	assert.Empty(t, get[string](p, banner), "another worker tries once more")
	p.until(`clock.asked === 3`)
	pass(4 * 4 * 7) // four times as long as the worker before, and four times that before its first result
	assert.Equal(t, 2, get[int](p, `clock.workers`))
	pass(0.5)
	p.until(banner + `.includes("it has been silent for")`)
	assert.Contains(t, get[string](p, banner), "It has been started again")
	assert.Equal(t, 3, get[int](p, `clock.workers`))
	assert.Contains(t, get[string](p, `document.getElementById("left").innerText`), "hangs.jpg is not segmented.")

	p.drop("fine.jpg", photo)
	p.until(`document.getElementById("file-line").textContent.includes("fine.jpg") && ` + sampleDone)
	assert.True(t, get[bool](p, `document.getElementById("left").hidden`))
	assert.Empty(t, get[string](p, banner))
	p.clean()
}

// After Cancel the photograph can be segmented all the same.
func TestSegmentAfterCancel(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 390, 844)
	p.ready()
	p.drop("slow.jpg", readBuilt(t, "sample.jpg"))
	p.until(segmenting)
	p.click("cancel")
	p.until(`document.getElementById("progress").hidden && !document.getElementById("left").hidden`)
	p.until(`document.elementFromPoint(...(({ x, y, width, height }) => [x + width / 2, y + height / 2])(document.getElementById("segment").getBoundingClientRect()))?.id === "segment"`) // once the page lies still
	p.click("segment")
	p.until(computing)
	assert.Equal(t, "cancel", get[string](p, `document.activeElement.id`))
	p.until(sampleDone)
	assert.True(t, get[bool](p, `document.getElementById("left").hidden`))
	assert.Equal(t, "Computed by Test adapter", get[string](p, `document.getElementById("computed").textContent`))
	p.clean()
}

// Wrong arguments of scripts are TypeErrors that name the argument, and a signal's reason is an
// AbortError.
func TestArgumentsOfScripts(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 900, 700)
	p.ready()
	p.do(`(async () => {
		globalThis.image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "image.jpg");
		globalThis.failure = (promise) => promise.then(() => "", (error) => error.name + ": " + error.message);
	})()`)
	for given, want := range map[string]string{
		`"sample.jpg"`:                             "TypeError: the image is not a Blob",
		`image, null`:                              "TypeError: the options are not an object",
		`image, { raterweights: [1] }`:             "TypeError: there is no option raterweights; there are evidence, raterWeights",
		`image, { model: 3 }`:                      "TypeError: model is not the name",
		`image, { model: "retina" }`:               "TypeError: there is no model retina; there are levels, marks, raters",
		`image, { recurrences: "2" }`:              "TypeError: recurrences is not a whole number",
		`image, { slice: -1 }`:                     "TypeError: slice is not a whole number",
		`image, { roi: [1, 2, 3] }`:                "TypeError: roi is not",
		`image, { progress: 1 }`:                   "TypeError: progress is not a function",
		`image, { signal: new AbortController() }`: "TypeError: signal is not an AbortSignal",
		`image, { model: "raters", raterWeights: [0, 0, 0, 0, 0, 0, 0] }`: "TypeError: raterWeights is not",
		`image, { model: "raters", raterWeights: [1, 2] }`:                "TypeError: raterWeights is not",
		`image, { model: "raters", raterWeights: "1" }`:                   "TypeError: raterWeights is not",
		`image, { model: "raters", raterWeights: [1, 1] }`:                "TypeError: 2 weights of raters do not fit",
		`image, { signal: AbortSignal.abort() }`:                          "AbortError: ",
		`image, { signal: AbortSignal.abort(new Error("enough")) }`:       "Error: enough",
		`image, { model: undefined, signal: undefined }`:                  "",
	} {
		assert.Contains(t, get[string](p, `failure(mrprism.segment(`+given+`))`), want, given)
	}
	assert.Equal(t, "AbortError", get[string](p, `(() => { const ending = new AbortController(), running = mrprism.segment(new File([image], "slow.jpg"), { signal: ending.signal });
		setTimeout(() => ending.abort(), 300);
		return running.catch((error) => error instanceof DOMException ? error.name : String(error)); })()`))
	assert.Contains(t, get[string](p, `mrprism.segment(image).then((r) => failure(r.recalibrate({ model: "levels" })))`), "TypeError: there is no option model")
	p.clean()
}
