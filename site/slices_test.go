package site

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A volume opens at its middle slice. The slider opens another one, and what is saved says which.
func TestSlicesOfAVolume(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.asking()
	p.saving()
	p.dropped("volume.nii")
	assert.True(t, p.visible("slices"))
	assert.Equal(t, "6 of 12", p.text("slice-number"))
	p.slide("#slice", 9)
	assert.Equal(t, "9 of 12", p.text("slice-number"), "the number follows the slider")
	p.until(fmt.Sprintf(`asked.length === 2 && %s`, sampleDone))
	assert.Equal(t, []int{0, 9}, get[[]int](p, `asked.map(({ slice }) => slice)`))
	assert.Equal(t, "9", get[string](p, `document.getElementById("slice").value`))
	p.do(`document.getElementById("save-json").click(), document.querySelector("[aria-label='Mask PNG of disc']").click()`)
	p.until(`saved["volume_slice9of12_disc_mask.png"]`)
	record := get[map[string]any](p, `blobs[saved["volume_slice9of12.json"]].text().then(JSON.parse)`)
	assert.Equal(t, []any{9., 12.}, []any{record["slice"], record["slices"]})
	assert.Equal(t, "volume.nii", record["image"])

	// What is drawn on a slice stays with it, in a line of the list.
	plain := get[int](p, area)
	p.click("correct-start")
	p.press(" ", false)
	p.until(area + fmt.Sprintf(" !== %d", plain))
	p.slide("#slice", 3)
	p.until(`document.getElementById("file-line").textContent.includes("Slice 3 of 12") && ` + sampleDone)
	p.allComputed()
	lines := p.lines()
	if assert.Len(t, lines, 2) {
		assert.Contains(t, lines[0], "Slice 9 of 12, corrected")
		assert.Contains(t, lines[1], "Slice 3 of 12")
	}
	p.slide("#slice", 9)
	p.until(`document.getElementById("file-line").textContent.includes("Slice 9 of 12") && ` + area + fmt.Sprintf(" !== %d && ", plain) + sampleDone)
	p.click("work-csv")
	p.until(`Object.keys(saved).some((name) => name.endsWith(".csv"))`)
	var records []struct{ Slice, Slices int }
	require.NoError(t, json.Unmarshal([]byte(get[string](p, `blobs[saved[Object.keys(saved).find((name) => name.endsWith(".csv"))]].text()`)), &records))
	assert.Equal(t, []struct{ Slice, Slices int }{{9, 12}, {3, 12}}, records)

	p.do(`globalThis.before = true, setTimeout(() => import("./unsaved.js").then(({ leave }) => leave()))`)
	p.until(`!globalThis.before && document.readyState === "complete"`)
	p.ready()
	p.saving()
	p.dropped("many.jpg")
	assert.Equal(t, "The model marks one disc, and 3 more seem to be in the picture.", p.text("measure-remark"))
	p.dropped("photograph.jpg")
	assert.False(t, p.visible("measure-remark"))
	assert.False(t, p.visible("slices"))
	p.do(`document.getElementById("save-json").click()`)
	p.until(`saved["photograph.json"]`)
	assert.False(t, get[bool](p, `blobs[saved["photograph.json"]].text().then((text) => text.includes("slice"))`))
	p.clean()
}
