package site

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/weights"
)

// decodes has the page open files in one worker, and resolves to what each became: the colours of
// its pixels, or an error.
const decodes = `(async (files, weights) => {
	const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
	const { Segmenter } = await import("./segmenter.js"), segmenter = globalThis.decoder ??= new Segmenter();
	const { name: model } = globalThis.tiny ??= await segmenter.weights(new Blob([bytes(weights)]), "tiny.safetensors"), became = {};
	for (const [name, text] of Object.entries(files)) {
		const image = ({ rgba, width, height }) => { became[name] = width + "×" + height + " " + rgba.join(); };
		await segmenter.segment(segmenter.picture(new Blob([bytes(text)]), name), { model, recurrences: 0, roi: "none" }, { image })
			.catch(({ message, next }) => { became[name] ??= message + " " + next; });
	}
	return became;
})`

// TestDecodersOfThePage opens DICOM files in JPEG 2000, HTJ2K and JPEG-LS under the page's policy.
// The decoders come when they are wanted, and are kept for use without a network.
func TestDecodersOfThePage(t *testing.T) {
	t.Parallel()
	tree := built(t, nil)
	if _, err := tree.Open("openjpeg.wasm"); err != nil {
		missing(t, "the page is built without decoders: "+err.Error())
	}
	s := serve(t, tree, shippedFiles(t)) // the service worker keeps their cards
	p := open(t, s, 900, 700)
	p.ready()
	p.until(`navigator.serviceWorker.controller?.state === "activated"`)
	came := func() (programs []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, request := range s.requests {
			if name := filepath.Base(request); name == "openjpeg.wasm" || name == "openjph.wasm" || name == "charls.wasm" {
				programs = append(programs, name)
			}
		}
		return programs
	}
	assert.Empty(t, came(), "nobody wants a decoder yet")
	files := map[string]string{}
	for _, name := range []string{"grey", "rgb", "greyj2k", "signedj2k", "rgbj2k", "greyht", "rgbht", "greyjls", "rgbjls", "planesjls", "framesj2k"} {
		data, err := os.ReadFile(filepath.Join("..", "internal", "files", "dicom", "testdata", name+".dcm"))
		require.NoError(t, err)
		files[name] = base64.StdEncoding.EncodeToString(data)
		if name == "greyjls" {
			for i := range 16 {
				data[len(data)-30+i] ^= 0x55
			}
			files["damaged "+name] = base64.StdEncoding.EncodeToString(data)
		}
	}
	list, err := json.Marshal(files)
	require.NoError(t, err)
	tiny := base64.StdEncoding.EncodeToString(tinyWeights(t, weights.LabelsRaters, nil))
	for _, network := range []bool{true, false} {
		became := get[map[string]string](p, fmt.Sprintf("%s(%s, %q)", decodes, list, tiny))
		for name, is := range became {
			want := became["grey"]
			if strings.HasPrefix(name, "rgb") || strings.HasPrefix(name, "planes") {
				want = became["rgb"]
			}
			if strings.HasPrefix(name, "damaged") {
				continue
			}
			assert.Equal(t, want, is, "%s, network %v", name, network)
			assert.True(t, strings.HasPrefix(is, "7×5 "), is)
		}
		assert.Len(t, became, len(files))
		assert.Contains(t, became["damaged greyjls"], "this DICOM file is damaged: Invalid JPEG-LS stream")
		if network {
			p.clean()
			assert.Subset(t, came(), []string{"openjpeg.wasm", "openjph.wasm", "charls.wasm"})
			p.until(`caches.keys().then(async (names) => { globalThis.there = (await (await caches.open(names[0])).keys()).filter(({ url }) => /(openjpeg|openjph|charls)\.(js|wasm)$/.test(url)).length; }) && globalThis.there === 6`)
			s.http.Close()
		}
	}
}
