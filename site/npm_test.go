package site

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism"
	"mrprism/internal/files/imageio"
	"mrprism/site/npm"
)

// npmFiles are the files of the package of npm, by name.
func npmFiles(t *testing.T) map[string][]byte {
	t.Helper()
	weights := map[string][]byte{}
	for name, data := range shippedFiles(t) {
		weights["weights/"+name] = data
	}
	files, err := npm.Files(built(t, nil), weights, "1.2.3")
	require.NoError(t, err)
	return files
}

// written writes files below a folder.
func written(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
}

// told is what a result says: by structure the SHA-256 of its mask and of its PNG, its area and its
// trust; the ratio, and how many doubts there are.
type told struct {
	Masks, PNGs, Trust []string
	Areas              []int
	Ratio              float64
	Doubts             int
}

// tells is told of a result in JavaScript, and checks what Go does not have.
const tells = `(async (r) => {
	const hex = async (bytes) => [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].map((b) => b.toString(16).padStart(2, "0")).join("");
	const rater = await r.rater(0, "disc"), marked = rater.reduce((n, p) => n + (p > 0.5), 0), [disc] = r.structures;
	if (marked < disc.low || marked > disc.high) throw new Error("the first level marks " + marked + " pixels");
	const [[ring]] = disc.outlines, inside = (x, y) => disc.mask[Math.round(y) * r.width + Math.round(x)];
	const middle = [0, 1].map((i) => ring.reduce((sum, point) => sum + point[i], 0) / ring.length);
	if (!inside(...middle)) throw new Error("the outline lies elsewhere than the mask: " + middle);
	return {
		masks: await Promise.all(r.structures.map(({ mask }) => hex(mask))),
		pngs: await Promise.all(r.structures.map(async ({ name }) => hex(await r.file("png-mask", name)))),
		trust: r.structures.map(({ trust }) => trust.word),
		areas: r.structures.map(({ area }) => area),
		ratio: r.ratio.value,
		doubts: r.doubts.length,
	};
})`

// ofSegment is what the Go package says of the sample, on the processor.
var ofSegment = sync.OnceValues(func() (is told, err error) {
	photograph, err := mrprism.ReadImage(filepath.Join("dist", "sample.jpg"))
	if err != nil {
		return is, err
	}
	m, err := mrprism.Open("fundus")
	if err != nil {
		return is, err
	}
	defer m.Close()
	r, err := m.Segment(context.Background(), photograph, mrprism.Device("processor"))
	if err != nil {
		return is, err
	}
	is.Ratio, is.Doubts = r.Ratios[0].Value, len(r.Doubts)
	for _, s := range r.Structures {
		mask := make([]byte, r.Width*r.Height)
		for i, p := range s.Probability() {
			if p > 0.5 {
				mask[i] = 255
			}
		}
		png := imageio.EncodeGrey(r.Width, r.Height, image.Rectangle{}, mask, "") // as segment -format png-mask
		is.Masks, is.PNGs = append(is.Masks, fmt.Sprintf("%x", sha256.Sum256(mask))), append(is.PNGs, fmt.Sprintf("%x", sha256.Sum256(png)))
		is.Areas, is.Trust = append(is.Areas, s.Area), append(is.Trust, s.Trust)
	}
	return is, nil
})

// guest is a page of its own origin under the policy that the package's README lists, with the
// package loaded. It has the sample beside it. workers are the sources of workers, "blob:".
func guest(t *testing.T, packed, workers string) *page {
	t.Helper()
	policy := fmt.Sprintf("default-src 'none'; script-src 'wasm-unsafe-eval' %[1]s; worker-src %[2]s; connect-src 'self' %[1]s; require-trusted-types-for 'script'; trusted-types mrprism", packed, workers)
	sample := readBuilt(t, "sample.jpg")
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><base href="/elsewhere/"><title>guest</title>`)
		case "/sample.jpg":
			w.Write(sample)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(host.Close)
	p := open(t, &server{URL: host.URL + "/"}, 800, 600)
	p.do(fmt.Sprintf(`import("%s/some/index.js").then((all) => Object.assign(globalThis, all))`, packed))
	return p
}

// hosted serves the package below a folder, to pages of every origin. A file of a folder "damaged"
// has a changed bit, and one of "missing" is not there; "silent" never answers.
func hosted(t *testing.T, files map[string][]byte) *httptest.Server {
	t.Helper()
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		folder, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if folder == "silent" {
			<-ended
		}
		data, ok := files[name]
		if damaged, what, _ := strings.Cut(folder, "-"); damaged == "damaged" && strings.HasSuffix(name, what) {
			data = flipped(data)
		} else if folder == "missing" && strings.HasSuffix(name, ".safetensors") {
			ok = false
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", types[path.Ext(name)])
		w.Write(data)
	}))
	t.Cleanup(func() { close(ended); s.Close() })
	return s
}

// A page of another origin opens the package from a folder of it, without a service worker, and has
// the masks of segment to the bit, as its element has. What cannot be loaded ends in a message.
func TestPackageOnAnotherOrigin(t *testing.T) {
	t.Parallel()
	s := hosted(t, npmFiles(t))
	const says = `.then(() => "opened", (error) => error.name + ": " + error.message + " " + (error.next ?? ""))`
	p := guest(t, s.URL, "'none'")
	assert.Contains(t, get[string](p, `open("fundus")`+says), "The program that computes stopped unexpectedly. (worker.js could not be loaded) If it never started: a Content-Security-Policy")
	p = guest(t, s.URL, "blob:")
	const advice = " Does the address answer, also this page's origin (CORS), and are all files of one version?"
	for options, want := range map[string]string{
		`"retina"`:                        "TypeError: there is no model retina; there are fundus, cells, newborn-brain ",
		`"fundus", { model: "cells" }`:    "TypeError: there is no option model ",
		`42`:                              "TypeError: the model is neither a name nor a Blob of weights ",
		`"fundus", { base: "/nowhere/" }`: `/nowhere/worker.txt did not come as it was published, and was not used.` + advice,
		`"fundus", { base: "http://127.0.0.1:1/" }`:                               "Error: http://127.0.0.1:1/worker.txt did not come as it was published, and was not used." + advice,
		`"fundus", { base: HOST + "/damaged-worker.txt/" }`:                       "/damaged-worker.txt/worker.txt did not come as it was published, and was not used." + advice,
		`"fundus", { base: HOST + "/damaged-segmenter.wasm/" }`:                   "/damaged-segmenter.wasm/segmenter.wasm did not come as it was published, and was not used." + advice,
		`"fundus", { base: HOST + "/missing/" }`:                                  "Error: The model could not be downloaded: weights/fundus.safetensors: the server answered 404." + advice,
		`"fundus", { base: HOST + "/silent/", signal: AbortSignal.timeout(200) }`: "TimeoutError: ",
	} {
		options = strings.ReplaceAll(options, "HOST", fmt.Sprintf("%q", s.URL))
		assert.Contains(t, get[string](p, `open(`+options+`)`+says), want, options)
	}
	p.mu.Lock()
	p.problems = nil // of files that did not come
	p.mu.Unlock()

	want, err := ofSegment()
	require.NoError(t, err)
	got := get[told](p, `open("fundus", { device: "processor" }).then(async (model) => {
		globalThis.model = model;
		globalThis.sample = await (await fetch("/sample.jpg")).blob();
		return (`+tells+`)(await model.segment(sample));
	})`)
	assert.Equal(t, want, got)
	assert.Equal(t, "image", get[string](p, `model.segment(new Uint8Array(9)).then(() => "", ({ code }) => code)`))
	assert.Contains(t, get[string](p, `model.segment("sample.jpg").then(() => "", String)`), "TypeError: the image is not a Blob")
	assert.Equal(t, "AbortError", get[string](p, `(() => {
		const ending = new AbortController();
		return model.segment(sample, { signal: ending.signal, progress: () => ending.abort() }).then(() => "", ({ name }) => name);
	})()`))
	p.do(`model.close()`)
	assert.Contains(t, get[string](p, `model.segment(sample).then(() => "", String)`), "the model fundus is closed")

	p.do(fmt.Sprintf(`import("%s/some/element.js")`, s.URL))
	areas := get[[]int](p, `new Promise((resolve, reject) => {
		const element = Object.assign(document.createElement("mr-prism"), { id: "shown" });
		for (const [name, value] of [["src", "/missing.jpg"], ["src", "/sample.jpg"], ["device", "processor"]]) element.setAttribute(name, value);
		element.addEventListener("result", ({ detail }) => resolve(detail.structures.map(({ area }) => area)));
		element.addEventListener("error", ({ detail }) => reject(detail));
		document.body.append(element);
	})`)
	assert.Equal(t, want.Areas, areas)
	assert.Equal(t, []int{2, 1536}, get[[]int](p, `[shown.shadowRoot.querySelectorAll("path").length, shown.shadowRoot.querySelector("canvas").width]`))
	assert.Regexp(t, fmt.Sprintf(`^disc %d pixels\ncup %d pixels\nvertical ratio 0\.69 \(`, want.Areas[0], want.Areas[1]), get[string](p, `shown.shadowRoot.querySelector("p").textContent`))
	p.mu.Lock()
	assert.Empty(t, p.problems)
	p.mu.Unlock()
	p.do(`new Promise((resolve) => { shown.addEventListener("error", resolve); shown.setAttribute("src", "/missing.jpg"); })`)
	assert.Contains(t, get[string](p, `shown.shadowRoot.querySelector("p").textContent`), "/missing.jpg: the server answered 404")
}

// Node has the masks of segment to the bit, and ends without being told. A file with a changed bit
// ends in a message.
func TestPackageInNode(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, err.Error())
	}
	folder, files := t.TempDir(), npmFiles(t)
	packed := filepath.Join(folder, "node_modules", "mrprism")
	written(t, packed, files)
	written(t, folder, map[string][]byte{"sample.jpg": readBuilt(t, "sample.jpg"), "try.mjs": []byte(`
		import { readFile } from "node:fs/promises";
		import { open } from "mrprism";
		const model = await open("fundus");
		console.log(JSON.stringify(await (` + tells + `)(await model.segment(await readFile("sample.jpg")))));`)})
	run := func() (string, error) {
		script := exec.CommandContext(t.Context(), node, "try.mjs")
		script.Dir = folder
		out, err := script.CombinedOutput()
		return string(out), err
	}
	want, err := ofSegment()
	require.NoError(t, err)
	out, err := run()
	require.NoError(t, err, out)
	var got told
	require.NoError(t, json.Unmarshal([]byte(out), &got), out)
	assert.Equal(t, want, got)
	for name, says := range map[string]string{"segmenter.wasm": "did not come as it was published", "weights/fundus.safetensors": "damaged: SHA-256 is"} {
		written(t, packed, map[string][]byte{name: flipped(files[name])})
		out, err = run()
		assert.Error(t, err)
		assert.Regexp(t, "SegmentError: .*"+filepath.Base(name)+".* "+says, out)
		written(t, packed, map[string][]byte{name: files[name]})
	}
}

// Pages that vite, webpack and esbuild build have the masks of segment to the bit, and TypeScript
// finds the types. esbuild copies no files: its page says where they lie.
func TestPackageWithBundlers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("npm installs for a minute")
	}
	folder := t.TempDir()
	packed, err := npm.Pack(npmFiles(t))
	require.NoError(t, err)
	written(t, folder, map[string][]byte{"mrprism-1.2.3.tgz": packed})
	written(t, folder, map[string][]byte{
		"package.json": []byte(`{ "type": "module", "private": true }`),
		"main.js":      []byte(`import { open } from "mrprism"; globalThis.opened = open;`),
		"index.html":   []byte(`<!doctype html><link rel="icon" href="data:,"><script type="module" src="./main.js"></script>`),
		"types.ts": []byte(`import { open, type Result } from "mrprism";
			const model = await open("fundus", { device: "processor" });
			const r: Result = await model.segment(new Uint8Array(3), { roi: "none" });
			const point: [number, number] | undefined = r.structures[0]?.outlines[0]?.[0]?.[0];
			console.log(point, r.ratio?.interval?.low, (await r.file("png", "disc")).length, await r.rater(0, 0));`),
		"webpack.mjs": []byte(`import webpack from "webpack";
			const output = { path: process.cwd() + "/out/webpack", filename: "main.js", module: true };
			webpack({ mode: "production", entry: "./main.js", output, experiments: { outputModule: true } }, (error, stats) => {
				if (error || stats.hasErrors()) throw error ?? new Error(stats.toString());
			});`),
	})
	run := func(name string, given ...string) {
		t.Helper()
		program := exec.CommandContext(t.Context(), name, given...)
		program.Dir = folder
		out, err := program.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		missing(t, err.Error())
	}
	run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "vite@8.4.0", "webpack@5.113.0", "esbuild@0.28.2", "typescript@5.9", "./mrprism-1.2.3.tgz")
	bin := func(name string) string { return filepath.Join(folder, "node_modules", ".bin", name) }
	run(bin("tsc"), "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "types.ts")
	run(bin("vite"), "build", "--base", "./", "--outDir", "out/vite")
	run("node", "webpack.mjs")
	run(bin("esbuild"), "main.js", "--bundle", "--format=esm", "--outfile=out/esbuild/main.js")
	for _, name := range []string{"webpack", "esbuild"} {
		run("cp", "index.html", "out/"+name)
	}
	run("cp", "-r", "node_modules/mrprism", "out/esbuild")
	written(t, filepath.Join(folder, "out"), map[string][]byte{"sample.jpg": readBuilt(t, "sample.jpg")})
	s := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(folder, "out"))))
	t.Cleanup(s.Close)
	want, err := ofSegment()
	require.NoError(t, err)
	for bundler, base := range map[string]string{"vite": "", "webpack": "", "esbuild": "mrprism/"} {
		p := open(t, &server{URL: s.URL + "/" + bundler + "/"}, 800, 600)
		p.until(`globalThis.opened`)
		got := get[told](p, fmt.Sprintf(`opened("fundus", { device: "processor", base: %q }).then(async (model) =>
			(%s)(await model.segment(await (await fetch("../sample.jpg")).blob())))`, base, tells))
		assert.Equal(t, want, got, bundler)
	}
}
