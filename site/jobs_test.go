package site

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asking notes what the page asks the worker to segment, for lastAsked.
func (p *page) asking() {
	p.t.Helper()
	p.do(`globalThis.asked = [], globalThis.posted = Worker.prototype.postMessage, Worker.prototype.postMessage = function (message, transfer) {
		if (message.type === "segment") asked.push({ ...message, raterWeights: message.raterWeights && Array.from(message.raterWeights) });
		posted.call(this, message, transfer);
	}`)
}

type question struct {
	Name, Model, ROI string
	RaterWeights     []float64
}

// lastAsked is the last question for a segmentation.
func (p *page) lastAsked() question {
	p.t.Helper()
	var q question
	require.NoError(p.t, json.Unmarshal([]byte(get[string](p, `JSON.stringify({ ...asked.at(-1), blob: null })`)), &q))
	return q
}

// slide moves a slider, which rests where it is.
func (p *page) slide(selector string, value int) {
	p.t.Helper()
	p.do(fmt.Sprintf(`(() => { const slider = document.querySelector(%q); slider.value = %d; slider.dispatchEvent(new Event("input"));
		if (slider.type === "range") slider.dispatchEvent(new Event("change", { bubbles: true })); })()`, selector, value))
}

func (p *page) click(id string) {
	p.t.Helper()
	p.do(fmt.Sprintf(`document.getElementById(%q).click()`, id))
}

const (
	computing   = `!document.getElementById("progress").hidden`
	segmenting  = computing + ` && document.getElementById("progress-text").textContent.startsWith("Segmenting")`
	firstWeight = "input[name=weight]"
)

// raters opens a photograph with the model of named raters.
func (p *page) raters(photograph string) {
	p.t.Helper()
	p.ready()
	p.asking()
	p.choose("raters")
	p.drop(photograph, readBuilt(p.t, "sample.jpg"))
	p.until(sampleDone + ` && document.querySelectorAll("#rater-list li").length === 7`)
}

// The page's Cancel ends the page's job and never a script's, whether it runs or waits. A script
// ends its own.
func TestCancelEndsOnlyThePagesJob(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.asking()
	photograph := readBuilt(t, "sample.jpg")
	p.do(`(async () => {
		globalThis.slow = new File([await (await fetch("sample.jpg")).arrayBuffer()], "slow.jpg");
		globalThis.script = (options) => mrprism.segment(slow, options).then(() => "a mask", (error) => error.name);
	})()`)
	p.do(`void (globalThis.outcome = script())`) // it computes, and the page's job waits
	p.drop("photo.jpg", photograph)
	p.until(`asked.length === 2 && ` + computing)
	p.click("cancel")
	p.until(`document.getElementById("progress").hidden`)
	assert.Equal(t, "a mask", get[string](p, "outcome"))

	p.drop("slow.jpg", photograph)
	p.until(segmenting)
	p.do(`void (globalThis.outcome = script())`) // it waits for the page's job
	p.until(`asked.length === 4`)
	p.click("cancel")
	assert.Equal(t, "a mask", get[string](p, "outcome"))
	assert.Equal(t, "AbortError", get[string](p, `(() => { const ending = new AbortController(); setTimeout(() => ending.abort(), 500); return script({ signal: ending.signal }); })()`))
	p.clean()
}

// A job that takes over from another keeps its region, its photograph and its raters' weights.
func TestChangesWhileComputing(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.raters("slow.jpg")

	// A square by hand, then a rater's weight.
	p.click("place")
	p.slide("#region-side", 300)
	p.click("place-apply")
	p.until(computing)
	p.slide(firstWeight, 20)
	p.until(sampleDone)
	assert.Contains(t, get[string](p, `document.getElementById("region-line").textContent`), "300 × 300 px")
	assert.Contains(t, get[string](p, `document.getElementById("region-line").textContent`), "by hand")
	assert.InDelta(t, 2./3, p.lastAsked().RaterWeights[1], 1e-6, "20 % beside six of 13.3 %")

	// Another model, then the whole image.
	p.choose("levels")
	p.until(segmenting)
	p.click("region-none")
	p.until(sampleDone)
	assert.Equal(t, question{"slow.jpg", "levels", "none", nil}, p.lastAsked())
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`))

	// Another photograph, then the region of it.
	p.drop("queued.jpg", readBuilt(t, "sample.jpg"))
	p.until(computing)
	p.click("region-none")
	p.until(sampleDone)
	assert.Contains(t, get[string](p, `document.getElementById("file-line").textContent`), "queued.jpg")
	assert.Equal(t, "The whole image", get[string](p, `document.getElementById("region-line").textContent`))

	// A square of the old one does not go over to the new one.
	p.click("place")
	p.drop("queued.jpg", readBuilt(t, "sample.jpg"))
	p.until(computing)
	assert.True(t, get[bool](p, `document.getElementById("placing").hidden`))
	p.click("place")
	assert.True(t, get[bool](p, `document.getElementById("placing").hidden`))
	p.until(sampleDone)
	p.clean()
}

// Another model takes over neither the region nor the raters' weights of the one before.
func TestModelThatFindsNothing(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.asking()
	p.choose("raters")
	p.drop("nodisc.jpg", readBuilt(t, "sample.jpg"))
	p.until(nothingOf("brain"))
	p.click("doubt-place")
	p.click("place-apply")
	p.until(found)
	p.slide(firstWeight, 20)
	p.until(`asked.at(-1).raterWeights && ` + found)
	p.choose("levels")
	p.until(nothingOf("disc"))
	assert.Equal(t, question{"nodisc.jpg", "levels", "auto", nil}, p.lastAsked())
	p.click("doubt-place")
	p.click("place-apply")
	p.until(found)
	assert.Nil(t, p.lastAsked().RaterWeights)
	assert.Contains(t, get[string](p, `document.getElementById("about-list").innerText`), "Fundus")
	p.clean()
}

// A slider that moves while a result arrives stays where it is, and is obeyed.
func TestSliderMovedWhileAResultArrives(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.raters("slow.jpg")
	p.slide(firstWeight, 50)
	p.until(computing)
	p.do(`(() => { // it goes on to 20, and has not come to rest when the result of 50 is shown
		const slider = document.querySelector("input[name=weight]"), progress = document.getElementById("progress");
		const moving = setInterval(() => { slider.value = 20; slider.dispatchEvent(new Event("input")); }, 20);
		new MutationObserver(() => { if (progress.hidden && !globalThis.shown) {
			clearInterval(moving);
			globalThis.shown = slider.value;
			slider.dispatchEvent(new Event("change", { bubbles: true }));
		} }).observe(progress, { attributes: true });
	})()`)
	p.until(`globalThis.shown`)
	assert.Equal(t, "20", get[string](p, `shown`))
	p.until(`asked.length === 3 && ` + sampleDone)
	assert.InDelta(t, 2./3, p.lastAsked().RaterWeights[1], 1e-6, "20 % beside six of 13.3 %")
	assert.Equal(t, "20", get[string](p, `document.querySelector("input[name=weight]").value`))
	p.clean()
}

// A message and the bar to place the square by hand can both be used by mouse, whatever the screen.
func TestMessageAndPlacingBar(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.sample()
	p.drop("notes.png", []byte("this is text"))
	p.until(`!document.getElementById("banner").hidden && document.getElementById("progress").hidden`)
	p.click("place")
	for _, size := range [][2]int64{{390, 844}, {844, 390}, {1280, 657}, {1280, 720}, {1080, 1920}} {
		p.run(chromedp.EmulateViewport(size[0], size[1]))
		p.until(fmt.Sprintf("innerWidth === %d", size[0]))
		if folder := os.Getenv("MRPRISM_SCREENSHOTS"); folder != "" {
			p.still()
			p.shot(filepath.Join(folder, fmt.Sprintf("message-and-placing-%d.png", size[0])))
		}
		for _, id := range []string{"place-apply", "place-cancel", "banner-close", "banner-message"} {
			assert.True(t, get[bool](p, fmt.Sprintf(`(() => {
				const element = document.getElementById(%q), box = element.getBoundingClientRect();
				return element.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
			})()`, id)), "%s at %v", id, size)
		}
	}
	p.clean()
}

// The worker keeps its last four results. The page segments again as before if it needs an older
// one or if the worker died.
func TestResultThatIsGone(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.raters("photo.jpg")
	p.saving()
	p.slide(firstWeight, 20)
	p.until(`asked.at(-1).raterWeights && ` + sampleDone)
	p.click("region-none")
	p.until(`asked.at(-1).roi === "none" && ` + sampleDone)
	before := p.lastAsked()
	require.NotNil(t, before.RaterWeights)
	script := `(async (name) => { const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], name);
		await Promise.all([1, 2, 3, 4].map(() => mrprism.segment(image, { model: "levels" }).catch(() => {}))); })`
	shown := func(recurrence string) string {
		return `document.getElementById("legend").innerText.includes("(` + recurrence + `)") && document.getElementById("progress").hidden`
	}

	p.do(script + `("script.jpg")`)
	p.slide("#recurrence", 0)
	p.until(shown("Rec0"))
	assert.Equal(t, before, p.lastAsked())

	p.do(script + `("script.jpg")`)
	p.do(`document.querySelector("[aria-label='Mask PNG of brain']").click()`)
	p.until(`saved["photo_brain_mask_rec0.png"]`)
	assert.Equal(t, before, p.lastAsked())

	p.do(script + `("crash.jpg")`)
	p.ready()
	p.slide("#recurrence", 1)
	p.until(shown("Rec1"))
	assert.Equal(t, before, p.lastAsked())
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`))
	p.clean()
}

// The page segments again to save a forgotten mask only while it is about the mask's photograph and
// model: nobody may find another patient's mask under a name. Otherwise it says that the mask was
// not saved, and the message stays.
func TestSaveOfAResultThatIsGone(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.raters("slow-photo.jpg")
	p.saving()
	photograph := readBuilt(t, "sample.jpg")
	const mask = "[aria-label='Mask PNG of brain']"
	forgotten := func() {
		p.do(`(async () => { const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "script.jpg");
			for (let i = 0; i < 4; i++) await mrprism.segment(image, { model: "levels" }); })()`)
	}
	said := func(name string) string {
		return fmt.Sprintf(`!document.getElementById("banner").hidden && document.getElementById("banner").innerText.includes(%q)`, name+" was not saved")
	}
	files := func() []string { return get[[]string](p, `Object.keys(saved)`) }

	// Another photograph is opened while the worker is asked for the mask. Its result leaves the
	// message.
	forgotten()
	p.do(`document.querySelector("` + mask + `").click()`)
	p.drop("slow-other.jpg", photograph)
	p.until(said("slow-photo_brain_mask.png"))
	p.until(`document.getElementById("file-line").textContent.includes("slow-other.jpg") && ` + sampleDone)
	assert.Empty(t, files())
	assert.True(t, get[bool](p, said("slow-photo_brain_mask.png")))

	// Another model is in the list.
	forgotten()
	p.do(`document.querySelector("` + mask + `").click(), (() => { const list = document.getElementById("model"); list.value = "levels"; list.dispatchEvent(new Event("change")); })()`)
	p.until(said("slow-other_brain_mask.png"))
	p.until(sampleDone + ` && !document.getElementById("levels").hidden`)
	assert.Empty(t, files())

	// Another region takes over from the job that segments again.
	p.choose("raters")
	p.until(sampleDone + ` && document.querySelectorAll("#rater-list li").length === 7`)
	forgotten()
	p.click("banner-close")
	p.do(`document.querySelector("` + mask + `").click()`)
	p.until(segmenting)
	p.click("region-none")
	p.until(said("slow-other_brain_mask.png"))
	p.until(sampleDone)
	assert.Empty(t, files())

	// Two files of a forgotten result: the page segments once, saves both and takes the message
	// away.
	asked := get[int](p, `asked.length`)
	forgotten()
	p.do(`document.querySelectorAll("[aria-label$='of brain']").forEach((button) => button.click())`)
	p.until(`saved["slow-other_brain_mask.png"] && saved["slow-other_brain.png"]`)
	assert.Equal(t, asked+4+1, get[int](p, `asked.length`))
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`))
	p.clean()
}

// A job that ends takes away a message about its own picture, and no other.
func TestMessageAboutSomethingElse(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.drop("slow.jpg", readBuilt(t, "sample.jpg"))
	p.until(segmenting)
	p.do(`(() => { // more than any picture has, and none of it is there
		const data = new DataTransfer(), large = new File([], "large.jpg");
		Object.defineProperty(File.prototype, "size", { configurable: true, get: () => 2 ** 30 });
		data.items.add(large);
		document.getElementById("stage").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
		delete File.prototype.size;
	})()`)
	p.until(`document.getElementById("banner").innerText.includes("large.jpg is too large: 1024 MB, of at most 256 MB.")`)
	p.until(sampleDone)
	assert.False(t, get[bool](p, `document.getElementById("banner").hidden`))
	p.clean()
}

// What is chosen to be shown stays with the next photograph, while the model is the same.
func TestChoicesStayWithTheModel(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.asking()
	photograph := readBuilt(t, "sample.jpg")
	p.drop("one.jpg", photograph)
	p.until(sampleDone)
	p.do(`document.querySelectorAll("input[name=structure]")[1].click()`)
	p.slide("#recurrence", 1)
	next := func(name string) {
		p.drop(name, photograph)
		p.until(fmt.Sprintf(`document.getElementById("file-line").textContent.includes(%q) && %s`, name, sampleDone))
	}
	next("two.jpg")
	legend := func() string { return get[string](p, `document.getElementById("legend").innerText`) }
	assert.Contains(t, legend(), "Cup: probability, 0 – 100 % (Rec1)")

	p.choose("raters")
	p.until(sampleDone + ` && document.querySelectorAll("#rater-list li").length === 7`)
	p.do(`document.querySelectorAll("input[name=rater]")[2].click()`)
	p.slide(firstWeight, 20)
	p.until(`document.getElementById("about-list").innerText.includes("Newborn") && asked.at(-1).raterWeights && ` + sampleDone)
	next("three.jpg")
	assert.Contains(t, legend(), "Rater3")
	assert.Equal(t, "15", get[string](p, `document.querySelector("input[name=weight]").value`), "equal shares of seven: weights are the photograph's")
	p.choose("levels")
	p.until(`document.getElementById("legend").innerText.includes("Disc: probability")`)
	p.clean()
}

// keysRest takes over the timer that page.js sets for 300 ms when keys step through the models:
// rest() lets that time pass, and says whether the page waited for it.
const keysRest = `(() => {
	const [after, never] = [setTimeout, clearTimeout];
	let waits = null;
	globalThis.setTimeout = (act, ms, ...of) => ms === 300 ? (waits = () => act(...of)) : after(act, ms, ...of);
	globalThis.clearTimeout = (timer) => { if (timer === waits) waits = null; else never(timer); };
	globalThis.rest = () => { const act = waits; waits = null; act?.(); return act !== null; };
})();`

// Arrow keys step through the models: the one where they rest is used, and no entry opens a dialog.
func TestModelsByArrowKeys(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	s.before = keysRest
	p := open(t, s, 1200, 800)
	p.ready()
	p.sample()
	p.asking()
	p.do(`globalThis.dialogs = 0, document.getElementById("weights").addEventListener("click", (event) => { dialogs++; event.preventDefault(); })`)
	p.do(`(() => { const list = document.getElementById("model"), step = (name) => { list.value = name; list.dispatchEvent(new Event("change")); };
		step("raters"); step("levels"); step("raters"); step("levels"); })()`)
	assert.False(t, get[bool](p, "rest()"), "back where it was")
	p.do(`document.getElementById("model").focus()`)
	for range 3 {
		p.press("ArrowDown", false)
	}
	assert.Zero(t, get[int](p, "asked.length"))
	assert.True(t, get[bool](p, "rest()"))
	p.until(`document.querySelectorAll("#rater-list li").length === 7 && ` + sampleDone)
	assert.Equal(t, 1, get[int](p, "asked.length"))
	assert.Equal(t, "model", get[string](p, `document.activeElement.id`))
	assert.Zero(t, get[int](p, "dialogs"))

	// What is pressed before the keys have rested is done with the model in the list.
	p.do(`(() => { const list = document.getElementById("model"); list.value = "levels"; list.dispatchEvent(new Event("change")); document.getElementById("region-none").click(); })()`)
	p.until(`document.getElementById("region-line").textContent === "The whole image" && ` + sampleDone)
	assert.False(t, get[bool](p, "rest()"))
	assert.Equal(t, 2, get[int](p, "asked.length"))
	assert.Equal(t, question{"sample.jpg", "levels", "none", nil}, p.lastAsked())
	p.click("own")
	assert.Equal(t, 1, get[int](p, "dialogs"))
	p.clean()
}

// The note that the processor computes meanwhile goes when the GPU is back.
func TestGPUThatIsBack(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.drop("gpulost.jpg", readBuilt(t, "sample.jpg"))
	p.until(sampleDone + ` && document.getElementById("banner").innerText.includes("meanwhile")`)
	assert.Equal(t, "Processor (GPU lost)", get[string](p, `document.getElementById("adapter-name").textContent`))
	p.click("region-auto")
	p.until(sampleDone)
	assert.False(t, get[bool](p, `document.getElementById("banner").hidden`), "it stays while the processor computes")
	p.click("region-none")
	p.until(`document.getElementById("region-line").textContent === "The whole image" && ` + sampleDone)
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`))
	p.clean()
}
