package site

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
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
	p.until(`saved["volume_slice9_disc_mask.png"]`)
	record := get[map[string]any](p, `blobs[saved["volume_slice9.json"]].text().then(JSON.parse)`)
	assert.EqualValues(t, 9, record["slice"])
	assert.Equal(t, "volume.nii", record["image"])

	p.dropped("photograph.jpg")
	assert.False(t, p.visible("slices"))
	p.do(`document.getElementById("save-json").click()`)
	p.until(`saved["photograph.json"]`)
	assert.False(t, get[bool](p, `blobs[saved["photograph.json"]].text().then((text) => "slice" in JSON.parse(text))`))
	p.clean()
}
