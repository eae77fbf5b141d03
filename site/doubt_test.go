package site

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// found is sampleDone where the model found something.
const found = sampleDone + ` && document.getElementById("headline").checkVisibility()`

// nothingOf is sampleDone where the model found no such structure.
func nothingOf(class string) string {
	return sampleDone + fmt.Sprintf(` && document.getElementById("doubt").innerText.includes("No %s was found in this picture.")`, class)
}

// drawing notes the dashes of the contours on the stage in drawn.
func (p *page) drawing() {
	p.t.Helper()
	p.do(`(async () => {
		const { Lines: { prototype } } = await import("./canvas2d.js"), { contours } = prototype;
		prototype.contours = function (list) { globalThis.drawn = list.map(({ dash }) => dash); contours.call(this, list); };
	})()`)
}

// dropped opens the sample under a name.
func (p *page) dropped(name string) {
	p.t.Helper()
	p.drop(name, readBuilt(p.t, "sample.jpg"))
	p.until(fmt.Sprintf(`document.getElementById("file-line").textContent.includes(%q) && %s`, name, sampleDone))
}

func (p *page) text(id string) string {
	p.t.Helper()
	return get[string](p, fmt.Sprintf(`((element) => element.innerText || element.textContent)(document.getElementById(%q))`, id)) // what is folded has no innerText
}

// offered tells of what opens at a press, too.
func (p *page) offered(id string) bool {
	p.t.Helper()
	return get[bool](p, fmt.Sprintf(`!document.getElementById(%q).hidden`, id))
}

func (p *page) visible(id string) bool {
	p.t.Helper()
	return get[bool](p, fmt.Sprintf(`document.getElementById(%q).checkVisibility()`, id))
}

// Where the model doubts its result, the reasons stand beside small figures, the outlines are
// dashed, a screen reader hears it, and the region can be placed at once. Another model's result
// takes all of that away.
func TestDoubtedResult(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 390, 844)
	p.ready()
	p.drawing()
	p.saving()
	ratio := func() (size float64, muted bool) {
		return get[float64](p, `parseFloat(getComputedStyle(document.querySelector(".headline > :last-child")).fontSize)`),
			get[bool](p, `getComputedStyle(document.querySelector(".headline > :last-child")).color === getComputedStyle(document.getElementById("measure-note")).color`)
	}
	p.sample()
	large, muted := ratio()
	assert.False(t, muted)
	assert.False(t, p.visible("doubt"))
	assert.Equal(t, "Trusted Doubt", strings.Join(strings.Fields(p.text("trust")), " "))
	assert.Equal(t, []float64{.25, 1}, get[[]float64](p, `((bar) => [bar.value, bar.max])(document.querySelector("#trust meter"))`), "the bar ends at the threshold")
	p.click("outlines")
	p.until(`globalThis.drawn?.length === 3`)
	assert.Contains(t, p.text("legend"), "Disc: in 90 of 100 images like those that it was learned from 95 % of a further expert's outline lies in the band")
	assert.False(t, p.visible("outlines-why"))
	p.dropped("camera.jpg")
	p.do(`document.querySelector("input[name=structure][value='1']").click()`)
	p.until(`document.getElementById("outlines-why").innerText === "The cup of this camera was not learned."`)
	p.do(`document.querySelector("input[name=structure][value='0']").click()`)
	p.click("outlines")
	assert.Equal(t, "Check The cup of this camera was not learned. Doubt The photograph is hard to grade. This photograph is not sharp. Disc: trusted", strings.Join(strings.Fields(p.text("trust")), " "))
	assert.Contains(t, p.text("status"), "Check. The cup of this camera was not learned.")
	assert.Equal(t, []int{0, 0}, get[[]int](p, `drawn`))
	assert.NotContains(t, p.text("legend"), "doubts")

	p.dropped("odd.jpg")
	const why = "The model doubts this result. This picture is unlike those that the model has learned from. The border of the disc is not distinct."
	assert.Contains(t, p.text("doubt"), why)
	assert.Contains(t, p.text("status"), "Done in 1.2 seconds. "+why+" Vertical cup to disc ratio 0.52")
	assert.Contains(t, p.text("legend"), "The model doubts this result.")
	assert.Equal(t, "Do not use Doubt", strings.Join(strings.Fields(p.text("trust")), " "), "the reason stands above")
	assert.Contains(t, p.text("measure-note"), "It need not hold where the model doubts its result.")
	assert.Contains(t, p.text("measure-note"), "No interval of cup, the ratio: This picture is unlike those that the model has learned from.")
	small, muted := ratio()
	assert.True(t, muted)
	assert.LessOrEqual(t, small, 0.7*large)
	assert.True(t, get[bool](p, `drawn.length === 2 && drawn.every((dash) => dash > 0)`))
	assert.True(t, get[bool](p, `(() => {
		const button = document.getElementById("doubt-place"), box = button.getBoundingClientRect();
		return document.elementFromPoint(box.x + box.width / 2, box.bottom - 1) === button;
	})()`), "the panel of a phone shows the button")
	p.do(`document.getElementById("save-json").click()`)
	assert.Equal(t, `[true,["unfamiliar","blurred"],1.75]`, get[string](p, `blobs[saved["odd.json"]].text().then(JSON.parse).then((r) => JSON.stringify([r.found, r.doubts.map(({ code }) => code), r.doubt]))`))

	// Nothing makes the page longer than the screen, hidden texts neither.
	p.do(`document.getElementById("measurements").scrollIntoView()`)
	assert.Zero(t, get[int](p, `document.documentElement.scrollTop`))

	// The same picture in another region leaves the panel where it was scrolled to.
	p.do(`document.getElementById("panel").scrollTop = 0`)
	p.click("region-none")
	p.until(`document.getElementById("region-line").textContent === "The whole image" && ` + sampleDone)
	assert.Zero(t, get[int](p, `document.getElementById("panel").scrollTop`))
	assert.True(t, p.visible("doubt"))

	p.do(`document.getElementById("doubt-place").focus()`)
	p.press("Enter", false)
	assert.True(t, p.visible("placing"))
	assert.Equal(t, "stage", get[string](p, `document.activeElement.id`))
	p.press("Enter", false)
	p.until(`document.getElementById("region-line").textContent.endsWith("by hand") && ` + sampleDone)
	assert.True(t, p.visible("doubt"))

	// These weights know of no doubt and no interval.
	p.choose("raters")
	p.until(sampleDone + ` && document.querySelectorAll("#rater-list li").length === 7`)
	assert.False(t, p.visible("doubt"))
	p.click("outlines")
	p.until(`document.getElementById("outlines-why").innerText === "These weights have learned no inner and no outer outline."`)
	assert.Equal(t, "Check These weights cannot tell whether a picture is of their kind.", strings.Join(strings.Fields(p.text("trust")), " "))
	assert.Contains(t, p.text("measure-body"), "experts' range")
	assert.Contains(t, p.text("measure-note"), "No interval of brain: These weights have learned no interval.")
	assert.Equal(t, []int{0}, get[[]int](p, `drawn`))

	assert.Equal(t, `[true,["unfamiliar","blurred"],1.75,0.9,"This picture is unlike those that the model has learned from."]`, get[string](p, `(async () => {
		const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "odd.jpg"), r = await mrprism.segment(image, { model: "levels" });
		return JSON.stringify([r.found, r.doubts.map(({ code }) => code), r.doubt, r.measurements.structures[0].interval.coverage, r.measurements.verticalRatio.withheld]);
	})()`))
	p.clean()
}

// All that is drawn of a doubted result is dashed: the outline, the levels, the raters.
func TestLinesOfADoubtedResult(t *testing.T) {
	t.Parallel()
	doubtsAll := func(text string) string {
		return strings.Replace(text, `odd = data.name.includes("odd") && tells`, `odd = true`, 1)
	}
	p := open(t, mock(t, doubtsAll), 1200, 800)
	p.ready()
	p.drawing()
	p.sample()
	p.click("level-all")
	p.until(`globalThis.drawn?.length === 2 + 2 * 4`)
	assert.True(t, get[bool](p, `drawn.every((dash) => dash > 0)`))
	p.choose("raters")
	p.until(sampleDone + ` && document.querySelectorAll("#rater-list li").length === 7`)
	p.do(`document.querySelectorAll("input[name=rater]").forEach((box) => box.click())`)
	p.until(`drawn.length === 1 + 7`)
	assert.True(t, get[bool](p, `drawn.every((dash) => dash > 0)`))
	assert.True(t, p.visible("doubt") && p.visible("trust"), "it may doubt a result for another reason")
	p.clean()
}

// A picture without the structure has a result without figures or outlines, and without those of
// the result before. The region can be placed.
func TestNothingFound(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.drawing()
	p.saving()
	p.sample()
	p.dropped("nodisc.jpg")
	shown := func(class string) {
		t.Helper()
		assert.Equal(t, "No "+class+" was found in this picture.", p.text("legend"))
		assert.Equal(t, "No "+class+" was found in this picture. If you see one, place the region around it. Or choose another model. Place the region by hand",
			get[string](p, `document.getElementById("doubt").innerText.replace(/\s+/g, " ")`))
		assert.Equal(t, "Done in 1.2 seconds. No "+class+" was found in this picture. Place the region by hand, or choose another model.", p.text("status"))
		for _, id := range []string{"headline", "measure-table", "measure-note", "show", "experts", "advanced", "placing", "banner"} {
			assert.False(t, p.visible(id), id)
		}
		assert.Empty(t, get[[]int](p, `drawn`))
		assert.Zero(t, get[int](p, `document.querySelectorAll("#save-masks button").length`), "there is no mask to save")
	}
	shown("disc")
	p.do(`document.getElementById("save-json").click()`)
	assert.Equal(t, `[false,[{"code":"not-found","text":"No disc was found in this picture."}],0.25]`,
		get[string](p, `blobs[saved["nodisc.json"]].text().then(JSON.parse).then((r) => JSON.stringify([r.found, r.doubts, r.doubt]))`))

	p.click("doubt-place")
	assert.True(t, p.visible("placing"))
	p.click("place-apply")
	p.until(found)
	assert.False(t, p.visible("doubt"))
	assert.True(t, p.visible("show") && p.visible("experts") && p.visible("advanced"))
	assert.Equal(t, []int{0, 0}, get[[]int](p, `drawn`))
	assert.Equal(t, 4, get[int](p, `document.querySelectorAll("#save-masks button").length`))

	// Nor has another model found anything: the first one's mask is not shown under its name.
	p.choose("raters")
	p.until(nothingOf("brain"))
	shown("brain")
	assert.Contains(t, p.text("about-list"), "Newborn brain")
	p.click("doubt-place")
	p.click("place-apply")
	p.until(found)
	assert.Contains(t, p.text("trust"), "These weights cannot tell")
	p.clean()
}
