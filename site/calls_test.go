package site

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCalls keeps what the page computes and saves of its sample, in the folder MRPRISM_CALLS, for
// .ci/calls to sum up.
func TestCalls(t *testing.T) {
	folder := os.Getenv("MRPRISM_CALLS")
	if folder == "" {
		t.Skip("MRPRISM_CALLS names no folder")
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	keep := func(name string, data []byte) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), data, 0o644))
	}
	_, files := shippedModel(t, "fundus")
	p := open(t, real(t, files), 900, 700, withoutWebGPU...)
	p.ready()
	p.saving()
	p.sample()
	keep("maps.json", []byte(get[string](p, `(async () => {
		const r = await mrprism.segment(new File([await (await fetch("sample.jpg")).arrayBuffer()], "sample.jpg"), { model: "fundus" });
		const sum = async (map) => Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", map)));
		const maps = await Promise.all(r.classes.flatMap((name, c) => [r.probability(c), r.disagreement(c), r.rater(0, c)]));
		return JSON.stringify([r.measurements, r.doubts, await Promise.all(maps.map(sum))]);
	})()`)))
	const buttons = `[...document.querySelectorAll("[aria-label*=' of ']")].filter(({ ariaLabel, offsetParent }) => offsetParent && /^(Mask|Probability|Outlines|Overlay) /.test(ariaLabel))`
	for _, format := range []string{"png", "tiff", "nifti", "svg", "geojson", "overlay"} {
		p.format(format)
		p.do(`globalThis.before = Object.keys(saved).length, globalThis.pressed = ` + buttons + `, pressed.forEach((one) => one.click())`)
		p.until(`pressed.length > 0 && Object.keys(saved).length === before + pressed.length`)
	}
	for _, name := range get[[]string](p, `Object.keys(saved)`) {
		keep(name, p.savedAs(name))
	}
}
