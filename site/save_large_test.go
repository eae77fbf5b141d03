package site

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/imageio"
	"mrprism/weights"
)

// The page replaces a worker that says nothing for 4 s. It takes long to measure and to save many
// megapixels, and says meanwhile that it lives: every half a second, of which the test makes 25 ms.
func TestSavingLargeImages(t *testing.T) {
	t.Parallel()
	const w, h = 2000, 1500
	photo := imageio.Convert(synthetic.Photograph(3, w/4, h/4))
	pixels := make([]uint8, w*h)
	for i := range pixels {
		pixels[i] = photo.Pix[3*(i/w/4*(w/4)+i%w/4)]
	}
	// The worker's clock is fast, and counts how long the worker is silent while it computes.
	script := append([]byte(`
		const now = performance.now.bind(performance), post = postMessage.bind(globalThis);
		performance.now = () => 20 * now();
		globalThis.postMessage = (message, ...all) => post({ ...message, at: now() }, ...all);
	`), readBuilt(t, "worker.js")...)
	s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper, "worker.js": script}), map[string][]byte{"w.safetensors": tinyWeights(t, weights.LabelsRaters, nil)})
	s.wishes, s.watched = "?device=processor", true
	p := open(t, s, 1000, 800)
	p.ready()
	p.saving()
	p.do(`(() => {
		globalThis.said = [];
		const post = Worker.prototype.postMessage, known = new WeakSet();
		Worker.prototype.postMessage = function (...of) {
			if (!known.has(this)) {
				known.add(this);
				this.addEventListener("message", ({ data: { at } }) => said.push(at));
			}
			post.apply(this, of);
		};
	})()`)
	p.own("w.safetensors")
	file := filepath.Join(t.TempDir(), "large.dcm")
	require.NoError(t, os.WriteFile(file, dicomtest.Grey(w, h, pixels), 0o644))
	p.upload("file", file)
	p.until(`document.getElementById("file-line").textContent.includes("large.dcm") && ` + sampleDone)
	p.click("region-none")
	p.until(`document.getElementById("region-line").textContent === "The whole image" && ` + sampleDone)
	require.False(t, p.visible("banner"), "no other worker has segmented it")
	for _, f := range []struct{ format, button, file string }{
		{"dicom-seg", "Mask DICOM SEG of all structures", "large_seg.dcm"}, {"dicom-seg", "Probability DICOM SEG of all structures", "large_seg_fractional.dcm"},
		{"svg", "Outlines SVG of all structures", "large.svg"},
	} {
		p.format(f.format)
		p.still()
		p.do(`said = [], delete saved["` + f.file + `"]`)
		p.do(fmt.Sprintf(`document.querySelector("[aria-label='%s']").click()`, f.button))
		p.until(fmt.Sprintf(`saved[%q]`, f.file))
		at := get[[]float64](p, `said`)
		require.Greater(t, len(at), 3, "%s: the worker says that it lives", f.file)
		silent, took := 0., at[len(at)-1]-at[0]
		for i := range at[1:] {
			silent = max(silent, at[i+1]-at[i])
		}
		size := get[int](p, fmt.Sprintf(`blobs[saved[%q]].size`, f.file))
		t.Logf("%s: %.0f ms, %.1f MB, silent for at most %.0f ms", f.file, took, float64(size)/1e6, silent)
		assert.Less(t, silent, took*4/5, "%s: the worker is silent for so long", f.file)
	}
	require.False(t, p.visible("banner"), "no worker was replaced")
	p.clean()
}
