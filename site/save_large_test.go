package site

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/imageio"
	"mrprism/weights"
)

// The page replaces a worker that says nothing for 4 s. It takes long to measure and to save 12
// megapixels, and says meanwhile that it lives.
func TestSavingLargeImages(t *testing.T) {
	t.Parallel()
	const w, h = 4000, 3000
	photo := imageio.Convert(synthetic.Photograph(3, w/4, h/4))
	pixels := make([]uint8, w*h)
	for i := range pixels {
		pixels[i] = photo.Pix[3*(i/w/4*(w/4)+i%w/4)]
	}
	s := real(t, map[string][]byte{"w.safetensors": tinyWeights(t, weights.LabelsRaters, nil)})
	s.wishes, s.watched = "?device=processor", true
	p := open(t, s, 1000, 800)
	p.ready()
	p.saving()
	p.do(`(() => {
		globalThis.silence = 0, globalThis.heard = performance.now();
		const post = Worker.prototype.postMessage, known = new WeakSet();
		Worker.prototype.postMessage = function (...of) {
			if (!known.has(this)) {
				known.add(this);
				this.addEventListener("message", () => { silence = Math.max(silence, performance.now() - heard); heard = performance.now(); });
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
		p.do(`new Promise((done) => setTimeout(done, 700)), silence = 0, heard = performance.now(), delete saved["` + f.file + `"]`)
		begun := time.Now()
		p.do(fmt.Sprintf(`document.querySelector("[aria-label='%s']").click()`, f.button))
		p.until(fmt.Sprintf(`saved[%q]`, f.file))
		silent, took := get[float64](p, `silence`)/1000, time.Since(begun).Seconds()
		size := get[int](p, fmt.Sprintf(`blobs[saved[%q]].size`, f.file))
		t.Logf("%s: %.1f s, %.1f MB, silent for at most %.2f s", f.file, took, float64(size)/1e6, silent)
		assert.Less(t, silent, max(4, took/2), "%s: the worker is silent for so long", f.file) // a busy machine may take ten times as long
	}
	require.False(t, p.visible("banner"), "no worker was replaced")
	p.clean()
}
