package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/weights"
	"mrprism/weights/shipped"
)

// TestOfflineAfterARestart visits the site once, ends the browser and the server, and works on with
// the files that the browser kept.
func TestOfflineAfterARestart(t *testing.T) {
	t.Parallel()
	profile := chromedp.UserDataDir(t.TempDir())
	s := serve(t, built(t, nil), shippedFiles(t))
	p := open(t, s, 900, 700, profile)
	p.ready()
	p.do(keptWhole)

	// A model that the browser keeps and that is damaged is fetched, and kept, anew.
	p.do(`import("./versions.js").then(({ keepModels }) => keepModels(["newborn-brain"]))`)
	entry, err := weights.Shipped().Find("newborn-brain")
	require.NoError(t, err)
	p.do(fmt.Sprintf(`(async () => {
		globalThis.address = new URL("weights/%s", location.href).href;
		globalThis.keeping = await caches.open((await caches.keys())[0]);
		globalThis.size = async () => (await (await keeping.match(address))?.arrayBuffer())?.byteLength ?? 0;
		globalThis.whole = await size();
		await keeping.put(address, new Response(new Uint8Array(1000)));
	})()`, entry.File))
	p.do(`(async () => {
		const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "sample.jpg");
		await mrprism.segment(image, { model: "newborn-brain", recurrences: 0, roi: "900,400,400" });
	})()`)
	p.until(`size().then((n) => { globalThis.now = n; }) && globalThis.now === whole`)
	assert.Equal(t, entry.Bytes, get[int](p, "whole"))
	require.NoError(t, chromedp.Cancel(p.ctx), "the browser ends in good order")
	s.http.Close()

	p = open(t, s, 900, 700, profile)
	p.ready()
	data := base64.StdEncoding.EncodeToString(tinyWeights(t, weights.LabelsRaters, nil))
	message := get[string](p, fmt.Sprintf(`(async () => {
		try {
			const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
			const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "sample.jpg");
			const r = await mrprism.segment(image, { model: new File([bytes(%q)], "w.safetensors"), recurrences: 0, roi: "900,400,400" });
			return (await r.probability(0)).length === 1536 * 1152 ? "" : "wrong size";
		} catch (error) { return String(error); }
	})()`, data))
	assert.Empty(t, message, "segmenting offline")
	p.do(`document.querySelector("[data-action=sample]").click()`)
	p.viewed()
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.Empty(t, p.outside)
}

// shippedFiles are the models that ship and their cards.
func shippedFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, entry := range weights.Shipped().Models {
		for _, name := range []string{entry.File, entry.Card} {
			data, err := shipped.File(name)
			require.NoError(t, err)
			files[name] = data
		}
	}
	return files
}

// TestModelsAreKept visits the site, restarts the browser without a network, and so on. The model
// that was used works, another says what to do; once the user wants all of them kept, all work.
func TestModelsAreKept(t *testing.T) {
	t.Parallel()
	const firstDownload = 11_420_000 // bytes, a little more than in cmd/bundle: requests have a few more
	profile := chromedp.UserDataDir(t.TempDir())
	visit := func(s *server) *page {
		s.wishes = "?device=processor"
		p := open(t, s, 900, 700, profile)
		p.ready()
		p.until(`!document.getElementById("offline").hidden`)
		return p
	}
	leave := func(s *server, p *page) {
		require.NoError(t, chromedp.Cancel(p.ctx), "the browser ends in good order")
		s.http.Close()
	}
	segment := func(p *page, model string) string {
		return get[string](p, fmt.Sprintf(`(async () => {
			const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "sample.jpg");
			try {
				return (await mrprism.segment(image, { model: %q, roi: "900,400,400" })).model;
			} catch ({ message, next }) { return message + " " + next; }
		})()`, model))
	}
	const missing = "The model could not be downloaded: the site does not answer, and this browser has not kept the model. " +
		"Check the network and that the site is served, then choose the model again. Models that About lists as kept work without a network."

	s := serve(t, built(t, nil), shippedFiles(t))
	p := visit(s)
	p.sample()
	p.until(`document.getElementById("kept").innerText.startsWith("Kept: Optic disc and cup in fundus photos. ")`)
	p.do(keptWhole)
	var others float64
	for _, entry := range weights.Shipped().Models {
		if entry.Name != "fundus" {
			others += float64(entry.Bytes)
		}
	}
	assert.Equal(t, fmt.Sprintf("Keep all models for use without a network (%.0f MB more)", others/1e6), p.text("keep-text"))
	s.mu.Lock()
	assert.Less(t, s.sent, firstDownload, "before the first result and the use without a network")
	assert.Greater(t, s.sent, firstDownload/2)
	for _, other := range []string{"cells", "newborn-brain"} {
		assert.NotContains(t, strings.Join(s.requests, " "), other+".safetensors")
	}
	for _, name := range []string{"segmenter.wasm", "viewer.wasm", "weights/fundus.safetensors"} {
		assert.Contains(t, s.requests, "GET "+hashedAddress(t, name))
		assert.NotContains(t, s.requests, "GET /"+name, "its address names its content, for the page and for what is kept")
	}
	s.mu.Unlock()
	leave(s, p)

	p = visit(s)
	assert.Equal(t, "fundus", segment(p, "fundus"))
	assert.Equal(t, missing, segment(p, "cells"))
	p.choose("newborn-brain")
	p.until(`!document.getElementById("banner").hidden`)
	assert.Equal(t, missing, p.text("banner-message")+" "+p.text("banner-next"))
	assert.Contains(t, get[string](p, `fetch("weights/cells.md").then((card) => card.text())`), "# ", "cards are kept")
	require.NoError(t, chromedp.Cancel(p.ctx))

	s = serveAt(t, strings.Trim(strings.TrimPrefix(s.URL, "http://"), "/"), built(t, nil), shippedFiles(t))
	p = visit(s)
	p.click("keep-all")
	p.until(`document.getElementById("keep-text").innerText === "Keep all models for use without a network"`)
	assert.Contains(t, p.text("kept"), "Newborn brain growth in MRI")
	leave(s, p)
	p = visit(s)
	assert.True(t, get[bool](p, `document.getElementById("keep-all").checked`), "remembered")
	for _, entry := range weights.Shipped().Models {
		assert.Equal(t, entry.Name, segment(p, entry.Name))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.Empty(t, p.outside)
}

// A new version has the models that the one before kept: those that did not change are not
// downloaded again, and those that are used while it waits come along.
func TestModelsOfANewVersion(t *testing.T) {
	t.Parallel()
	worker, err := os.ReadFile("testdata/mock_worker.js")
	require.NoError(t, err)
	text, err := os.ReadFile("sw.js")
	require.NoError(t, err)
	files := map[string][]byte{"same.safetensors": []byte("same"), "changed.safetensors": []byte("before"), "late.safetensors": []byte("late"), "never.safetensors": []byte("never")}
	now := atomic.Pointer[http.Handler]{}
	var mu sync.Mutex
	var requests []string
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, path.Base(r.URL.Path))
		mu.Unlock()
		(*now.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(listening.Close)
	serve := func(version string) {
		var list []string
		for name, content := range files {
			list = append(list, fmt.Sprintf(`"weights/%s": "%x"`, name, sha256.Sum256(content)))
		}
		keeper := strings.NewReplacer("/*VERSION*/", version, "/*MODELS*/ {}", "{"+strings.Join(list, ", ")+"}").Replace(string(text))
		handler, err := Handler(built(t, map[string][]byte{"worker.js": worker, "sw.js": []byte(keeper)}), files, Hosts(listening.Listener.Addr()))
		require.NoError(t, err)
		now.Store(&handler)
		mu.Lock()
		requests = nil
		mu.Unlock()
	}
	serve("one")
	p := open(t, &server{URL: listening.URL + "/"}, 900, 700)
	p.ready()
	p.sample() // the page has a photograph: a new version waits
	keep := func(names string) []string {
		return get[[]string](p, `import("./versions.js").then(({ keepModels }) => keepModels(`+names+`)).then(({ kept }) => kept.toSorted())`)
	}
	assert.Equal(t, []string{"changed", "same"}, keep(`["same", "changed", "unknown"]`))
	assert.Equal(t, "same", get[string](p, `fetch("weights/same.safetensors").then((r) => r.text())`))

	files["changed.safetensors"] = []byte("after")
	serve("two")
	p.do(`(async () => { globalThis.registration = await navigator.serviceWorker.getRegistration(); await registration.update(); })()`)
	p.until(`registration.waiting?.state === "installed"`)
	assert.Equal(t, []string{"changed", "late", "same"}, keep(`["late"]`), "the old version goes on")
	assert.Equal(t, "before", get[string](p, `fetch("weights/changed.safetensors").then((r) => r.text())`), "and is not mixed with the new one")
	p.do(`globalThis.before = true, location.reload()`) // the photograph is closed
	p.until(`!globalThis.before && document.readyState === "complete"`)
	p.until(`navigator.serviceWorker.getRegistration().then((is) => { globalThis.registration = is; }) && globalThis.registration?.waiting === null && registration.active.state === "activated"`)
	p.ready()
	assert.Equal(t, []string{"changed", "late", "same"}, keep(`[]`))
	assert.Equal(t, "after", get[string](p, `fetch("weights/changed.safetensors").then((r) => r.text())`))
	mu.Lock()
	defer mu.Unlock()
	assert.NotContains(t, requests, "same.safetensors")
	assert.NotContains(t, requests, "never.safetensors")
}

// TestOfflineWithoutAReload visits the site once and goes on without the server: page and worker
// get the files that the browser kept.
func TestOfflineWithoutAReload(t *testing.T) {
	t.Parallel()
	worker, err := os.ReadFile("testdata/mock_worker.js")
	require.NoError(t, err)
	const told = `postMessage({ type: "crashed", message: "as asked" })`
	require.Contains(t, string(worker), told)
	worker = bytes.Replace(worker, []byte(told), []byte(`postMessage({ type: "crashed", message: "the worker is answered with " + (await fetch("icon.svg")).status })`), 1)
	keeper, err := os.ReadFile("sw.js")
	require.NoError(t, err)
	list := fmt.Sprintf(`{ "icon.svg": "%x", "worker.js": "%x" }`, sha256.Sum256(readBuilt(t, "icon.svg")), sha256.Sum256(worker))
	keeper = []byte(strings.NewReplacer("/*FILES*/ {}", list).Replace(string(keeper)))
	s := serve(t, built(t, map[string][]byte{"worker.js": worker, "sw.js": keeper}), nil)
	p := open(t, s, 900, 700)
	p.ready()
	p.until(`navigator.serviceWorker.controller?.state === "activated"`)
	// Registered, asked to be kept, and looked for anew every day; not where data is to be saved.
	assert.Equal(t, []string{"register", "persist", "update every 86400 s"}, get[[]string](p, `(async () => {
		const { keepOffline } = await import("./versions.js"), plain = setInterval, did = [];
		const registration = { addEventListener() {}, update: async () => did.push("update") };
		navigator.serviceWorker.register = async () => { did.push("register"); return registration; };
		navigator.storage.persist = async () => { did.push("persist"); };
		globalThis.setInterval = (act, ms) => { act(); did.push(did.pop() + " every " + ms / 1000 + " s"); };
		for (const saveData of [true, false]) {
			Object.defineProperty(navigator, "connection", { configurable: true, value: { saveData } });
			await keepOffline(() => true);
		}
		globalThis.setInterval = plain;
		return did;
	})()`))
	s.http.Close()
	assert.Equal(t, 200, get[int](p, `fetch("icon.svg").then(({ status }) => status)`), "the page's request")
	p.drop("crash.jpg", readBuilt(t, "sample.jpg"))
	p.until(`document.getElementById("banner").innerText.includes("started again")`)
	assert.Contains(t, get[string](p, `document.getElementById("banner").innerText`), "the worker is answered with 200")
	p.ready()
}

// A page without an image does not bring a new version to another page that has one open. A page
// that is alone does, also if it is alone only later, and also if it stays open and empty until
// there is a newer version. A page in which a script has worked does not.
func TestNewVersionWaits(t *testing.T) {
	t.Parallel()
	worker, err := os.ReadFile("testdata/mock_worker.js")
	require.NoError(t, err)
	keeper, err := os.ReadFile("sw.js")
	require.NoError(t, err)
	list := fmt.Sprintf(`{ "index.html": "%x" }`, sha256.Sum256(readBuilt(t, "index.html")))
	// It says when it has dealt with a page that asks.
	keeper = []byte(strings.NewReplacer("/*FILES*/ {}", list, "activate: takeOver", `activate: () => takeOver().then(() => new BroadcastChannel("asked").postMessage(""))`).Replace(string(keeper)))
	var now atomic.Pointer[http.Handler]
	listening := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/index.html" {
			// Some hosts redirect. The kept copy opens as a page all the same.
			http.Redirect(w, r, "/", http.StatusPermanentRedirect)
			return
		}
		(*now.Load()).ServeHTTP(w, r)
	}))
	serve := func(version string) {
		content := bytes.ReplaceAll(keeper, []byte("/*VERSION*/"), []byte(version))
		handler, err := Handler(built(t, map[string][]byte{"worker.js": worker, "sw.js": content}), nil, Hosts(listening.Listener.Addr()))
		require.NoError(t, err)
		now.Store(&handler)
	}
	serve("one")
	listening.Start()
	t.Cleanup(listening.Close)
	// The page asks again every five seconds; here soon, but only while later is false.
	p := open(t, &server{URL: listening.URL + "/", before: `{
		const after = setTimeout;
		globalThis.later = false, globalThis.turns = 0;
		globalThis.setTimeout = (act, ms, ...all) => {
			const turn = () => later ? after(turn, 20) : (turns++, act());
			return ms === 5e3 ? after(turn, 100) : after(act, ms, ...all);
		};
	}`}, 900, 700)
	p.ready()
	p.until(`navigator.serviceWorker.controller?.state === "activated"`)
	p.sample()
	serve("two")
	p.do(`(async () => { globalThis.kept = await navigator.serviceWorker.getRegistration(); await kept.update(); })()`)
	p.until(`kept.waiting?.state === "installed"`)
	p.do(`globalThis.refused = 0, globalThis.channel = new BroadcastChannel("asked"), channel.onmessage = () => { refused++; }`)
	p.do(`globalThis.changed = 0, navigator.serviceWorker.addEventListener("controllerchange", () => { changed++; }), globalThis.other = window.open(location.href, "other")`)
	p.until(`other.document.readyState === "complete" && other.document.getElementById("model")?.disabled === false && other.navigator.serviceWorker.controller`)
	p.until(`refused > 0`)
	assert.True(t, get[bool](p, `kept.waiting !== null && changed === 0`))

	waits := `navigator.serviceWorker.getRegistration().then(({ waiting }) => waiting !== null)`
	visit := func() { // beside the other page
		p.run(chromedp.Navigate(listening.URL + "/"))
		p.ready()
		assert.True(t, get[bool](p, waits))
	}
	visit()
	p.until(`turns > 0`)
	p.do(`(async () => { globalThis.later = true; await mrprism.segment(await (await fetch("sample.jpg")).blob()); })()`)
	p.do(`window.open("", "other").close()`)
	p.do(`globalThis.turns = 0, globalThis.later = false`)
	p.until(`turns > 0`)
	assert.True(t, get[bool](p, waits))

	p.do(`globalThis.other = window.open(location.href, "other")`)
	p.until(`other.document.readyState === "complete"`)
	visit()
	anew := func() {
		p.until(`!globalThis.before && document.readyState === "complete"`)
		p.ready()
	}
	p.do(`globalThis.before = true, window.open("", "other").close()`)
	anew()
	assert.False(t, get[bool](p, waits))

	// Caches of other deployments stay; the first versions, whose caches named none, are gone.
	p.do(`Promise.all(["mrprism-0123", "mrprism-/other/-1"].map((name) => caches.open(name)))`)
	serve("three")
	p.do(`(async () => { globalThis.before = true; (await navigator.serviceWorker.getRegistration()).update(); })()`)
	anew()
	p.until(`caches.keys().then((names) => { globalThis.names = names; }) && globalThis.names?.includes("mrprism-0123") === false`)
	assert.ElementsMatch(t, []string{"mrprism-/-two", "mrprism-/-three", "mrprism-/other/-1"}, get[[]string](p, `names`))
	p.sample()
	p.clean()
}

// TestNothingIsSent drops an image, segments it and saves all files that the page offers. The
// server was asked only for files of the site, by GET, and no address has anything of the image.
func TestNothingIsSent(t *testing.T) {
	t.Parallel()
	s := real(t, map[string][]byte{"w.safetensors": tinyWeights(t, weights.LabelsRaters, nil)})
	p := open(t, s, 900, 700)
	p.ready()
	p.saving()
	p.do(`(async () => {
		const files = new DataTransfer(), input = document.getElementById("weights");
		files.items.add(new File([await (await fetch("weights/w.safetensors")).arrayBuffer()], "w.safetensors"));
		input.files = files.files;
		input.dispatchEvent(new Event("change"));
	})()`)
	p.until(`document.getElementById("model").selectedOptions[0].text.includes("Random weights")`)
	p.drop("patient-1234.png", photo(t, 120, 90))
	p.until(computing)
	p.click("region-none")
	p.until(sampleDone)
	p.do(`document.querySelectorAll("#save button").forEach((button) => button.click())`)
	p.until(`Object.keys(saved).length === 6 && saved["patient-1234_disc_mask.png"] && saved["patient-1234.csv"]`)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.requests {
		assert.True(t, strings.HasPrefix(request, "GET /"), request)
		assert.NotContains(t, request, "patient")
		if request != "GET /?mode=all" && !strings.HasSuffix(request, "?again") { // of this test, and of intact.js in index.html
			assert.NotContains(t, request, "?")
		}
	}
	p.clean()
}

// keptWhole waits until the browser has kept the page, all of it, for use without a network.
const keptWhole = `(async () => {
	const files = Object.keys(JSON.parse(/FILES = (\{[^}]*\})/.exec(await (await fetch("sw.js")).text())[1]));
	while (!(await Promise.all(files.map((file) => caches.match(file)))).every(Boolean)) await new Promise((resolve) => setTimeout(resolve, 50));
})()`

// A new version takes over under a page that has an image after all, as between its question and
// its reload. What it starts from then on is not mixed with the page: it is named.
func TestNoMixOfVersions(t *testing.T) {
	t.Parallel()
	worker, err := os.ReadFile("testdata/mock_worker.js")
	require.NoError(t, err)
	keeper, err := os.ReadFile("sw.js")
	require.NoError(t, err)
	var now atomic.Pointer[http.Handler]
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) }))
	t.Cleanup(listening.Close)
	serve := func(version string) {
		worker := append(worker[:len(worker):len(worker)], "// "+version...)
		list := fmt.Sprintf(`{ "worker.js": "%x" }`, sha256.Sum256(worker))
		content := strings.NewReplacer("/*FILES*/ {}", list, "/*VERSION*/", version).Replace(string(keeper))
		handler, err := Handler(built(t, map[string][]byte{"worker.js": worker, "sw.js": []byte(content)}), nil, Hosts(listening.Listener.Addr()))
		require.NoError(t, err)
		now.Store(&handler)
	}
	serve("one")
	p := open(t, &server{URL: listening.URL + "/"}, 900, 700)
	p.ready()
	p.until(`navigator.serviceWorker.controller?.state === "activated"`)
	p.sample()
	serve("two")
	p.do(`(async () => {
		const registration = await navigator.serviceWorker.getRegistration();
		await registration.update();
		const taken = new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve));
		const fresh = registration.installing ?? registration.waiting, ask = () => fresh.state === "installed" && fresh.postMessage("activate");
		fresh.addEventListener("statechange", ask);
		ask();
		await taken;
	})()`)
	p.drop("crash.jpg", readBuilt(t, "sample.jpg"))
	p.until(`document.getElementById("banner").innerText.includes("worker.js did not come as it was published")`)
}
