package site

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The overlay is as large as the photograph. It has its pixels where nothing lies over them, the
// lines that the stage shows, and the map if it is shown; the legend covers no line.
func TestSavedOverlay(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.saving()
	p.sample()
	p.format("overlay")
	overlay := func(of string) *image.NRGBA {
		t.Helper()
		read, err := png.Decode(bytes.NewReader(p.save("Overlay PNG of "+of, "sample_overlay.png")))
		require.NoError(t, err)
		require.Equal(t, image.Pt(1536, 1152), read.Bounds().Size())
		out := image.NewNRGBA(read.Bounds())
		for i := range 1536 * 1152 {
			out.Set(i%1536, i/1536, read.At(i%1536, i/1536))
		}
		return out
	}
	photograph := get[[]int](p, `(async () => { const bitmap = await createImageBitmap(await (await fetch("sample.jpg")).blob()), canvas = new OffscreenCanvas(1536, 1152), c = canvas.getContext("2d");
		c.drawImage(bitmap, 0, 0); return Array.from(c.getImageData(700, 100, 3, 1).data); })()`)
	at := func(m *image.NRGBA, x, y int) []int {
		c := m.NRGBAAt(x, y)
		return []int{int(c.R), int(c.G), int(c.B), int(c.A)}
	}
	heat := overlay("all structures")
	for i := range 3 {
		assert.Equal(t, photograph[4*i:][:4], at(heat, 700+i, 100))
	}
	lines := func(m *image.NRGBA, colour color.NRGBA) (n int) {
		for y := 380; y < 780; y++ {
			for x := 840; x < 1250; x++ {
				if m.NRGBAAt(x, y) == colour {
					n++
				}
			}
		}
		return n
	}
	disc, cup := color.NRGBA{63, 208, 255, 255}, color.NRGBA{190, 245, 92, 255}
	assert.Greater(t, lines(heat, disc), 300)
	assert.Greater(t, lines(heat, cup), 150)
	p.do(`document.querySelector("input[value=none]").click()`)
	plain := overlay("all structures")
	assert.NotEqual(t, at(heat, 1044, 576), at(plain, 1044, 576), "the map is gone")
	glass := color.NRGBA{}
	for y := range 40 {
		if c := plain.NRGBAAt(60, y); y > 0 && c.R < 60 && c.G < 60 {
			glass = c
		}
	}
	assert.NotZero(t, glass, "the legend is in the corner")
	p.click("contour")
	bare := overlay("all structures")
	assert.Zero(t, lines(bare, disc))
	p.click("contour")

	// Raters have their colours. The name tells the pass.
	p.choose("raters")
	p.until(`document.querySelectorAll("#rater-list li").length === 7 && ` + sampleDone)
	p.do(`document.querySelectorAll("input[name=rater]")[1].click()`)
	assert.Greater(t, lines(overlay("brain"), color.NRGBA{89, 139, 168, 255}), 300)
	p.slide("#recurrence", 1)
	p.save("Overlay PNG of brain", "sample_overlay_rec1.png")
	p.clean()
}

// TestScreenshotsOfSaving writes the Save section and overlays for eyes to the folder that
// MRPRISM_SCREENSHOTS names.
func TestScreenshotsOfSaving(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("MRPRISM_SCREENSHOTS")
	if folder == "" {
		t.Skip("MRPRISM_SCREENSHOTS names no folder")
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, size := range [][2]int{{1440, 900}, {1024, 768}, {390, 844}} {
		p := open(t, mock(t, nil), size[0], size[1])
		p.ready()
		for _, language := range []string{"en", "de"} {
			p.dropped("patient.dcm")
			for _, format := range []string{"png", "dicom-seg", "overlay"} {
				p.format(format)
				for _, theme := range []string{"light", "dark"} {
					p.do(fmt.Sprintf(`document.documentElement.dataset.theme = %q, document.getElementById("save").scrollIntoView()`, theme))
					p.still()
					p.shot(filepath.Join(folder, fmt.Sprintf("save-%d-%s-%s-%s.png", size[0], language, format, theme)))
				}
			}
			p.click("language")
		}
	}
}

// TestOverlayOfAPhotograph saves the overlay of the photograph that MRPRISM_PHOTOGRAPH names, for
// eyes.
func TestOverlayOfAPhotograph(t *testing.T) {
	t.Parallel()
	folder, file := os.Getenv("MRPRISM_SCREENSHOTS"), os.Getenv("MRPRISM_PHOTOGRAPH")
	if folder == "" || file == "" {
		t.Skip("MRPRISM_SCREENSHOTS names no folder, or MRPRISM_PHOTOGRAPH no file")
	}
	photograph, err := os.ReadFile(file)
	require.NoError(t, err)
	_, files := shippedModel(t, "fundus")
	p := open(t, real(t, files), 1440, 900)
	p.ready()
	p.saving()
	p.drop(filepath.Base(file), photograph)
	p.until(sampleDone)
	p.format("overlay")
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	for _, step := range []string{"heat", "levels"} {
		if step == "levels" {
			p.do(`document.querySelector("input[value=none]").click(), document.getElementById("level-all").click()`)
			p.until(`document.getElementById("legend").innerText.includes("pale")`)
		}
		begun := time.Now()
		data := p.save("Overlay PNG of all structures", stem+"_overlay.png")
		t.Logf("%s: %d bytes in %v", step, len(data), time.Since(begun))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "overlay-"+stem+"-"+step+".png"), data, 0o644))
	}
	for format, what := range map[string]string{"png": "Mask PNG of disc", "tiff": "Mask TIFF of disc", "nifti": "Probability NIfTI of disc", "svg": "Outlines SVG of all structures", "geojson": "Outlines JSON of all structures"} {
		p.format(format)
		begun := time.Now()
		p.do(fmt.Sprintf(`globalThis.saved = {}, document.querySelector("[aria-label='%s']").click()`, what))
		p.until(`Object.keys(saved).length === 1`)
		t.Logf("%s: %v", what, time.Since(begun))
	}
	p.clean()
}
