package site

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
	"mrprism/weights/shipped"
)

// shippedModel opens a model that ships, and gives its file for the site to serve.
func shippedModel(t *testing.T, name string) (*weights.Model, map[string][]byte) {
	t.Helper()
	entry, err := weights.Shipped().Find(name)
	if err != nil {
		missing(t, err.Error())
	}
	data, err := shipped.File(entry.File)
	require.NoError(t, err)
	m, err := weights.Load(name)
	require.NoError(t, err)
	return m, map[string][]byte{entry.File: data}
}

// TestSampleWithShippedWeights does what everybody does first: the page finds and segments the
// sample. The mask is that of a native program with the same weights and region. With -short the
// processor computes it, and TestWhileTheGPUCompiles compares that with the GPU.
func TestSampleWithShippedWeights(t *testing.T) {
	t.Parallel()
	m, files := shippedModel(t, "fundus")
	s := emulated(real(t, files))
	if testing.Short() {
		s.wishes = "?device=processor"
	}
	p := open(t, s, 1440, 900)
	p.ready()
	start := time.Now()
	p.sample()
	t.Logf("the sample took %.1f s, model and pipelines included, on %s", time.Since(start).Seconds(), get[string](p, `document.getElementById("adapter-name").textContent`))
	assert.Equal(t, []string{"40", "20", "20", "20"}, get[[]string](p, `[...document.querySelectorAll("input[name=weight]")].map((one) => one.value)`), "panels have sliders, at the model's weights; levels of agreement have none")
	if folder := os.Getenv("MRPRISM_SCREENSHOTS"); folder != "" {
		p.still()
		p.shot(filepath.Join(folder, "shipped-desk.png"))
		p.run(chromedp.EmulateViewport(390, 844))
		p.still()
		p.shot(filepath.Join(folder, "shipped-phone.png"))
	}
	segmented := func(state string, recurrences int) (region []int) {
		timings := get[map[string]float64](p, fmt.Sprintf(`(async () => {
			const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "sample.jpg");
			const began = {};
			globalThis.r = await mrprism.segment(image, { model: "fundus", recurrences: %d, roi: "auto", progress: ({ stage, done }) => { began[stage + done] ??= performance.now(); } });
			return { ...r.timings, ...began, page: performance.now() };
		})()`, recurrences))
		t.Logf("%s, by %s: Rec0 to Rec%d after %.2f s; ms, page: since it began to load: %v", state, get[string](p, "r.adapter"), recurrences, timings["total"]/1000, timings)
		return get[[]int](p, "[r.roi.x, r.roi.y, r.roi.side]")
	}
	if !testing.Short() { // for FIGURES.md
		for range 3 {
			segmented("again", 0)
			segmented("again", 3)
		}
		for _, recurrences := range []int{0, 3} {
			p.run(chromedp.Reload())
			p.ready()
			segmented("in a page just loaded, its files cached", recurrences)
		}
	}
	region := segmented("once more", 3)
	for !testing.Short() && !strings.Contains(get[string](p, "r.adapter"), "[browser") { // until the page's time is over
		region = segmented("once more", 3)
	}

	ctx := context.Background()
	dev, err := device.Open(ctx, device.Auto, device.Options{})
	if err != nil {
		missing(t, "no native GPU to compare with: "+err.Error())
	}
	defer dev.Close()
	engine, err := segment.New(ctx, dev, m, model.F32)
	require.NoError(t, err)
	defer engine.Close()
	image, err := imageio.Decode("sample.jpg", readBuilt(t, "sample.jpg"))
	require.NoError(t, err)
	found, err := engine.Segment(ctx, image, segment.Options{ROI: "auto"})
	require.NoError(t, err)
	assert.Equal(t, []int{found.ROI.X, found.ROI.Y, found.ROI.Side}, region, "page and program find the same square")
	want, err := engine.Segment(ctx, image, segment.Options{Recurrences: 3, ROI: fmt.Sprintf("%d,%d,%d", region[0], region[1], region[2])})
	require.NoError(t, err)
	for c := range want.Classes {
		expected := want.Probability(c)
		got := get[[]float64](p, fmt.Sprintf(`(async () => Array.from(await r.probability(%d), (v) => Math.round(v * 1e5) / 1e5))()`, c))
		require.Len(t, got, len(expected))
		worst, differ := 0.0, 0
		for i, v := range expected {
			worst = max(worst, math.Abs(float64(v)-got[i]))
			if (v > 0.5) != (got[i] > 0.5) {
				differ++
			}
		}
		t.Logf("%s: largest difference %.1e, %d of %d pixels on the other side of one half; native device %s", want.Classes[c], worst, differ, len(got), dev.Info())
		assert.LessOrEqual(t, worst, 2e-3)
		assert.LessOrEqual(t, float64(differ), 0.001*float64(len(got)))
		assert.Positive(t, want.Measurements.Structures[c].Area, "the sample shows a disc and a cup")
	}
	p.clean()
}

// heldPage is a page with shipped models whose GPU compiles nothing before "go" is said.
func heldPage(t *testing.T) *page {
	t.Helper()
	_, files := shippedModel(t, "fundus")
	_, brain := shippedModel(t, "newborn-brain")
	maps.Copy(files, brain)
	files["misfit.safetensors"] = tinyWeights(t, weights.LabelsRaters, func(f *weights.File) { f.Tensors = f.Tensors[1:] })
	data, err := os.ReadFile("worker/gpu.js")
	require.NoError(t, err)
	const pipeline = "const pipeline = await this.device.createComputePipelineAsync("
	require.Contains(t, string(data), pipeline)
	script := strings.ReplaceAll(string(data), pipeline, "await released; "+pipeline)
	script = `const released = new Promise((go) => { new BroadcastChannel("compile").onmessage = go; });` + "\n" + script
	changed := map[string][]byte{"sw.js": noKeeper, "gpu.js": []byte(script)}
	p := open(t, emulated(serve(t, built(t, changed), files)), 900, 700)
	p.ready()
	p.do(`(async () => {
		globalThis.go = () => new BroadcastChannel("compile").postMessage("go");
		globalThis.image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "sample.jpg");
		globalThis.evidence = await (` + wholeMark + `)(image, "brain");
	})()`)
	return p
}

// wholeMark is a script: a mark that says "inside" of all of an image. Models that ship make more than
// one pass around marks alone.
const wholeMark = `(async (image, name) => {
	const { width, height } = await createImageBitmap(image);
	return [{ rater: "you", class: name, mask: new Uint8Array(width * height).fill(255) }];
})`

// While the GPU's pipelines are compiled the processor answers with the same mask, also for another
// model, and a question that is cancelled or wrong ends at once. Then the GPU takes over.
func TestWhileTheGPUCompiles(t *testing.T) {
	p := heldPage(t)
	ask := func(model string) string {
		return get[string](p, fmt.Sprintf(`(async () => {
			globalThis.r = await mrprism.segment(image, { model: %q, recurrences: 1, roi: "0,0,600" });
			return r.adapter;
		})()`, model))
	}
	assert.Contains(t, ask("fundus"), "[processor")
	p.do(`r.probability(0).then((map) => { globalThis.first = map; })`)
	assert.Contains(t, ask("newborn-brain"), "[processor")
	assert.Equal(t, "AbortError", get[string](p, `(() => {
		const ending = new AbortController();
		return mrprism.segment(image, { model: "newborn-brain", recurrences: 32, evidence, roi: "none", signal: ending.signal, progress: ({ stage, done }) => {
			if (stage === "segment" && done >= 1) ending.abort();
		} }).then(() => "all passes", (error) => error.name);
	})()`))
	assert.Equal(t, "weights", get[string](p, `fetch("weights/misfit.safetensors").then((r) => r.blob()).then((model) => mrprism.segment(image, { model }))
		.then(() => "a mask", (error) => error.code)`))
	p.do("go()")
	for adapter := ask("fundus"); !strings.Contains(adapter, "[browser"); adapter = ask("fundus") { // until the page's time is over
		require.Contains(t, adapter, "[processor")
		p.still() // it compiles
	}
	worst := get[float64](p, `r.probability(0).then((map) => map.reduce((worst, v, i) => Math.max(worst, Math.abs(v - first[i])), 0))`)
	assert.Less(t, worst, 2e-3)
	p.clean()
}

// The same where there is no adapter, which the page says, and how long it takes.
func TestSampleOnTheProcessor(t *testing.T) {
	t.Parallel()
	_, files := shippedModel(t, "fundus")
	p := open(t, real(t, files), 900, 700, withoutWebGPU...)
	p.ready()
	p.until(`document.getElementById("banner").innerText.includes("offers no graphics processor, so the processor computes")`)
	assert.Equal(t, "Processor (no GPU)", get[string](p, `document.getElementById("adapter-name").textContent`))
	start := time.Now()
	p.sample()
	t.Logf("the sample took %.1f s, model included", time.Since(start).Seconds())
	timings := get[map[string]float64](p, `(async () => {
		const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "sample.jpg");
		const r = await mrprism.segment(image, { model: "fundus", recurrences: 3, roi: "auto" });
		globalThis.r = r;
		return r.timings;
	})()`)
	t.Logf("again, in ms: %v", timings)
	assert.Contains(t, get[string](p, "r.adapter"), "[processor")

	// The worker hears "cancel" while it computes, long before the last pass. The result before
	// stays, and the worker answers the next question.
	ended := get[[]float64](p, `(async () => {
		const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "sample.jpg");
		const ending = new AbortController(), evidence = await (`+wholeMark+`)(image, "disc");
		let passes = 0, ended = 0;
		const code = await mrprism.segment(image, { model: "fundus", recurrences: 32, evidence, roi: "none", signal: ending.signal, progress: ({ stage, done }) => {
			if (stage !== "segment") return;
			passes = done;
			if (done >= 1 && !ended) { ended = performance.now(); ending.abort(); }
		} }).catch((e) => e.name);
		const waited = performance.now() - ended;
		const kept = await r.probability(0), next = await mrprism.segment(image, { model: "fundus", recurrences: 0, roi: "none" });
		return [code === "AbortError" ? 1 : 0, passes, waited, next.recurrences, kept.length];
	})()`)
	t.Logf("cancelled in pass %g of 33, %.0f ms after it was asked for", ended[1], ended[2])
	assert.EqualValues(t, 1, ended[0], "it was cancelled")
	assert.Less(t, ended[1], 16., "and not only when it had ended")
	assert.EqualValues(t, 0, ended[3], "and goes on")
	assert.Positive(t, ended[4], "with what it had")
}
