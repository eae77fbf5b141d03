package site

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/output/masks"
)

// format chooses the form of what is saved.
func (p *page) format(name string) {
	p.t.Helper()
	p.do(fmt.Sprintf(`(() => { const format = document.getElementById("save-format"); format.value = %q; format.dispatchEvent(new Event("change")); })()`, name))
	require.Equal(p.t, name, get[string](p, `document.getElementById("save-format").value`))
}

// save presses the button of a name and returns the file that it saves.
func (p *page) save(button, file string) []byte {
	p.t.Helper()
	p.do(fmt.Sprintf(`delete saved[%q]`, file))
	p.do(fmt.Sprintf(`document.querySelector("[aria-label='%s']").click()`, button))
	p.until(fmt.Sprintf(`saved[%q]`, file))
	address := get[string](p, fmt.Sprintf(`new Promise((resolve) => { const reader = new FileReader(); reader.onload = () => resolve(reader.result); reader.readAsDataURL(blobs[saved[%q]]); })`, file))
	data, err := base64.StdEncoding.DecodeString(address[strings.Index(address, ",")+1:])
	require.NoError(p.t, err)
	return data
}

// The page knows the formats of package export, and names files as it does.
func TestSaveFormatsOfThePage(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 600, 500)
	known := get[map[string]string](p, `import("./exports.js").then(({ FORMATS }) => Object.fromEntries(FORMATS.flatMap(({ files }) => Object.values(files)).map(([made, kind, ending]) => [made, kind + ending])))`)
	assert.Equal(t, "_overlay.png", known[""])
	delete(known, "")
	for _, f := range masks.Formats[:len(masks.Formats)-len(masks.Floats)] {
		assert.Equal(t, f.Ending, known[f.Name], f.Name)
		delete(known, f.Name)
	}
	assert.Empty(t, known)
}

// The choice of a format is made by keys, is remembered, and offers what the photograph allows. Who
// the patient is goes into a file only where the user wants it of this photograph.
func TestSaveChoices(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.saving()
	p.sample()
	offered := func() []string {
		return get[[]string](p, `[...document.getElementById("save-format").options].map(({ value }) => value)`)
	}
	rows := func() []string {
		return get[[]string](p, `[...document.querySelectorAll("#save-masks > *")].map((row) => [...row.children].map(({ textContent }) => textContent).join("|"))`)
	}
	assert.Equal(t, []string{"png", "tiff", "nifti", "svg", "geojson", "overlay"}, offered(), "a JPEG has no DICOM SEG")
	assert.Equal(t, []string{"Disc|Mask|Probability", "Cup|Mask|Probability"}, rows())
	p.do(`document.getElementById("save-format").focus()`)
	p.press("ArrowDown", false)
	assert.Equal(t, "tiff", get[string](p, `document.activeElement.value`))
	p.do(`document.querySelector("[aria-label='Probability TIFF of cup']").focus()`)
	p.press("Enter", false)
	p.until(`saved["sample_cup.tif"]`)
	p.save("Mask TIFF of disc", "sample_disc_mask.tif")
	p.slide("#recurrence", 0)
	p.save("Mask TIFF of disc", "sample_disc_mask_rec0.tif")
	p.format("nifti")
	p.save("Probability NIfTI of disc", "sample_disc_rec0.nii.gz")
	p.slide("#recurrence", 3)
	p.format("svg")
	assert.Equal(t, []string{"All|Outlines"}, rows())
	said := map[string]any{}
	require.NoError(t, json.Unmarshal(p.save("Outlines SVG of all structures", "sample.svg"), &said))
	assert.Equal(t, []any{"svg", []any{0., 1.}, 3.}, []any{said["format"], said["classes"], said["i"]})
	p.format("geojson")
	p.save("Outlines JSON of all structures", "sample.geojson")

	// Of a DICOM file.
	p.dropped("patient.dcm")
	assert.Equal(t, "geojson", get[string](p, `document.getElementById("save-format").value`))
	assert.Subset(t, offered(), []string{"dicom-seg", "dicom-sr", "dicom-sc"})
	assert.False(t, p.visible("save-identity"))
	p.format("dicom-seg")
	assert.Equal(t, []string{"All|Mask|Probability"}, rows())
	asks := func() any {
		t.Helper()
		require.NoError(t, json.Unmarshal(p.save("Probability DICOM SEG of all structures", "patient_seg_fractional.dcm"), &said))
		require.Equal(t, "dicom-seg-fractional", said["format"])
		return said["identity"]
	}
	assert.Equal(t, false, asks())
	p.click("save-identity")
	assert.Equal(t, true, asks())
	p.format("dicom-sr")
	assert.Equal(t, []string{"All|Figures"}, rows())
	assert.False(t, p.visible("save-readers"), "raters have no figures of their own")
	said = map[string]any{}
	require.NoError(t, json.Unmarshal(p.save("Figures DICOM SR of all structures", "patient_sr.dcm"), &said))
	assert.Equal(t, []any{"dicom-sr", true, "", "", 3., nil}, []any{said["format"], said["identity"], said["eye"], said["person"], said["i"], said["shown"]})
	p.format("dicom-sc")
	assert.Equal(t, []string{"All|Overlay"}, rows())
	require.NoError(t, json.Unmarshal(p.save("Overlay DICOM SC of all structures", "patient_sc.dcm"), &said))
	shown := said["shown"].(map[string]any)
	assert.Equal(t, shown["rgba"], 4*shown["width"].(float64)*shown["height"].(float64))
	p.format("dicom-seg")
	p.dropped("poor.dcm")
	assert.NotContains(t, strings.Join(offered(), " "), "dicom-")
	assert.Equal(t, "There is no DICOM SEG: the file has no valid SOP Instance UID (0008,0018), Study Instance UID (0020,000D), "+
		"by which a DICOM SEG refers to it; save the masks as NIfTI or TIFF.", p.text("save-lacks"))
	p.dropped("photograph.jpg")
	assert.False(t, p.visible("save-lacks"), "nobody expects one of a photograph")
	assert.Equal(t, "png", get[string](p, `document.getElementById("save-format").value`), "what it can be saved as")
	assert.False(t, p.visible("save-identity"))
	p.dropped("patient.dcm")
	assert.Equal(t, "dicom-seg", get[string](p, `document.getElementById("save-format").value`), "the choice stays")
	assert.False(t, get[bool](p, `document.getElementById("save-identity").checked`), "the tick was for another photograph")
	assert.Equal(t, false, asks())

	p.run(chromedp.Reload())
	p.ready()
	p.dropped("patient.dcm")
	assert.Equal(t, "dicom-seg", get[string](p, `document.getElementById("save-format").value`), "it is remembered")
	p.choose("raters")
	p.until(`document.querySelectorAll("#rater-list li").length === 7 && ` + sampleDone)
	assert.Equal(t, []string{"Brain|Mask|Probability"}, rows())
	p.dropped("nodisc.jpg")
	assert.False(t, p.visible("save-as"), "nothing to save")
	assert.Empty(t, rows())
	p.clean()
}

// Fingers hit what is in the Save section.
func TestSaveByTouch(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 390, 844)
	p.run(command(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}))
	p.ready()
	for _, language := range []string{"en", "de"} {
		p.dropped("patient.dcm")
		for _, format := range []string{"png", "dicom-seg", "overlay"} {
			p.format(format)
			assert.Empty(t, get[[]string](p, `[...document.querySelectorAll("#save button, #save select, #save .check")].filter((e) => e.checkVisibility() &&
				(e.getBoundingClientRect().height < 44 || e.getBoundingClientRect().width < 44)).map((e) => e.id + e.textContent)`), "targets below 44 pixels")
			assert.Zero(t, get[int](p, `(() => { const panel = document.getElementById("panel"); return panel.scrollWidth - panel.clientWidth; })()`), "%s %s", language, format)
		}
		p.click("language")
	}
	p.clean()
}
