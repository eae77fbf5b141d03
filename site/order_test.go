package site

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A slider that is still moving when the region changes is a step of its own, before that of the
// region: undo takes back the region first.
func TestSliderBeforeARegion(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.choose("marks")
	p.sample()
	region := func() string { return p.text("region-line") }
	found, equal := region(), p.shares()
	type step struct {
		press, region string
		shares        []int
	}
	steps := func(what string, moved []int, more ...step) {
		t.Helper()
		p.until(`document.getElementById("region-line").textContent === "The whole image" && ` + sampleDone)
		assert.Equal(t, moved, p.shares(), what)
		for _, step := range append(more, step{"undo", found, moved}, step{"undo", found, equal}) {
			p.click(step.press)
			p.until(sampleDone)
			assert.Equal(t, step.region, region(), "%s: %s", what, step.press)
			assert.Equal(t, step.shares, p.shares(), "%s: %s", what, step.press)
		}
		assert.Equal(t, "true", get[string](p, `document.getElementById("undo").ariaDisabled`), "%s: two steps and no more", what)
	}

	p.drag(p.atSlider(0, 33), p.atSlider(0, 50), p.atSlider(0, 80))
	p.click("region-none")
	moved := p.shares()
	steps("by the mouse", moved, step{"undo", found, moved}, step{"undo", found, equal}, step{"redo", found, moved}, step{"redo", "The whole image", moved})

	p.do(`(() => { // in one moment: the slider has not come to rest
		const slider = document.querySelector("input[name=weight]");
		slider.value = 60;
		slider.dispatchEvent(new Event("input", { bubbles: true }));
		document.getElementById("region-none").click();
	})()`)
	steps("at once", []int{60, 20, 20})
	p.clean()
}

// The second photograph of a comparison is computed by the first one's model and raters' weights,
// when it is opened and whenever they change.
func TestSecondFollowsTheFirst(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	p.asking()
	p.choose("raters")
	p.sample()
	p.second("later.jpg", readBuilt(t, "sample.jpg"))
	p.until(compareDone)
	last := func() (string, string, []float64) { q := p.lastAsked(); return q.Name, q.Model, q.RaterWeights }
	name, model, weights := last()
	assert.Equal(t, []any{"later.jpg", "raters"}, []any{name, model})
	assert.Nil(t, weights)
	assert.Regexp(t, `^Brain, area`, p.line("Brain, area"))

	p.slide(firstWeight, 20)
	p.until(`asked.length >= 4 && asked.at(-1).name === "later.jpg" && ` + sampleDone + ` && ` + compareDone)
	_, _, weights = last()
	assert.Len(t, weights, 7)
	assert.Equal(t, get[[]float64](p, `asked.at(-2).raterWeights`), weights, "those of the first")
	assert.Equal(t, "sample.jpg", get[string](p, `asked.at(-2).name`), "which comes first")

	p.choose("levels")
	p.until(`asked.at(-1).model === "levels" && asked.at(-1).name === "later.jpg" && ` + sampleDone + ` && ` + compareDone)
	_, _, weights = last()
	assert.Nil(t, weights)
	assert.Regexp(t, `^Disc, area`, p.line("Disc, area"))
	assert.Empty(t, p.line("Brain, area"), "figures of two models tell nothing")
	p.clean()
}
