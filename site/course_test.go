package site

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The list draws the course of the ratio over its images, without those that are not to be used.
func TestCourse(t *testing.T) {
	t.Parallel()
	_, paths := folderOf(t, "a_OD.png", "b_OD_high.png", "c_OS.png")
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	p.upload("file", paths[:2]...)
	p.allComputed()
	assert.False(t, p.visible("work-course"), "two make no course")
	_, more := folderOf(t, "odd.png")
	p.upload("file", append(paths[2:], more...)...)
	p.until(`document.getElementById("work-computed").innerText === "4 of 4 computed" && document.getElementById("work-course").checkVisibility()`)
	p.allComputed()
	p.do(`document.getElementById("work-course").open = true`)
	p.until(`document.querySelectorAll("#work-course circle").length === 3`)
	assert.Equal(t, []int{2, 1}, get[[]int](p, `["right", "left"].map((eye) => document.querySelectorAll("#work-course circle." + eye).length)`))
	assert.Equal(t, "a_OD.png: 0.52; b_OD_high.png: 0.75; c_OS.png: 0.52", get[string](p, `document.querySelector("#work-course svg").getAttribute("aria-label")`))
	said := p.text("work-course")
	assert.Contains(t, said, "● right eye; ○ left eye; The band is ±0.14 around the first")
	assert.Contains(t, said, "1 ratio is not to be used, and left out.")
	assert.NotContains(t, said, "differ in size")
	// The filter counts; the image on the stage stays.
	p.do(`(() => { const text = document.getElementById("work-text"); text.value = "b_"; text.dispatchEvent(new Event("input")); })()`)
	p.until(`document.querySelectorAll("#work-course circle").length === 2`)
	p.looked("study-course")
}
