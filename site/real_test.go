package site

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// tinyWeights is a weights file of the smallest configuration with random values. It finds nothing
// of meaning, but devices have to compute the same with it.
func tinyWeights(t *testing.T, labels string, change func(*weights.File)) []byte {
	t.Helper()
	classes, raters := []string{"disc", "cup"}, []string{"one", "two", "three", "four"}
	config, err := model.NewConfig("tiny", len(raters), len(classes))
	require.NoError(t, err)
	config.AreaPrior = []float64{0.55, 0.45} // about half of the pixels are marked
	meta := weights.Metadata{
		Name: "test", Title: "Random weights", Configuration: "tiny", Recipe: "default", Task: "test", Classes: classes, Raters: raters, Labels: labels,
		Anchor: "disc", Side: 128, Mean: [3]float32{0.5, 0.5, 0.5}, Deviation: [3]float32{0.25, 0.25, 0.25}, Data: "none", Commit: "none", Layout: weights.LayoutHWIO,
	}
	values, err := meta.Map()
	require.NoError(t, err)
	file := &weights.File{Metadata: values}
	random := rand.New(rand.NewPCG(1, 2))
	set := model.Variables(config)
	segmenttest.Detail(set)
	for _, v := range set.Variables(tensor.Parameter, tensor.Statistic) {
		floats := make([]float32, v.Elements())
		for i := range floats {
			if v.Initial != nil {
				floats[i] = float32(v.Initial(i, random))
			}
		}
		file.Tensors = append(file.Tensors, weights.NewF32(v.Name, v.Shape, floats))
	}
	if change != nil {
		change(file)
	}
	file.Seal()
	data, err := file.Encode()
	require.NoError(t, err)
	return data
}

// photo is a small photograph by the generator, as PNG.
func photo(t *testing.T, width, height int) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, synthetic.Photograph(3, width, height)))
	return out.Bytes()
}

// real is the site with its own worker. Test files ride along under /weights/.
func real(t *testing.T, files map[string][]byte) *server {
	t.Helper()
	return serve(t, built(t, map[string][]byte{"sw.js": noKeeper}), files)
}

// emulated asks a site's page for the browser's GPU, which auto leaves where the processor emulates
// it and computes faster itself.
func emulated(s *server) *server {
	s.wishes = "?device=browser"
	return s
}

// segmentIn runs mrprism.segment on files that are served under /weights/ and keeps the result in
// the page as globalThis.r.
func (p *page) segmentIn(image, model, options string) error {
	p.t.Helper()
	message := get[string](p, fmt.Sprintf(`(async () => {
		const blob = async (name) => new File([await (await fetch("weights/" + name)).arrayBuffer()], name);
		try {
			await mrprism.ready;
			globalThis.r = await mrprism.segment(await blob(%q), { model: await blob(%q), %s });
			return "";
		} catch (error) { return (error.code ?? error.name) + ": " + error.message + " | " + error.next; }
	})()`, image, model, options))
	if message != "" {
		return fmt.Errorf("%s", message)
	}
	return nil
}

// natively computes the result of segmentIn on the reference device.
func natively(t *testing.T, data, image []byte, options segment.Options) *segment.Result {
	t.Helper()
	ctx := context.Background()
	dev, err := device.Open(ctx, "reference", device.Options{})
	require.NoError(t, err)
	defer dev.Close()
	m, err := weights.Shipped().Open("test", data)
	require.NoError(t, err)
	engine, err := segment.New(ctx, dev, m, model.F32)
	require.NoError(t, err)
	defer engine.Close()
	decoded, err := imageio.Decode("photo.png", image)
	require.NoError(t, err)
	r, err := engine.Segment(ctx, decoded, options)
	require.NoError(t, err)
	return r
}

// compare asserts that a map of the page equals the native one.
func (p *page) compare(expression string, want []float32) {
	p.t.Helper()
	got := get[[]float64](p, `(async () => Array.from(await `+expression+`))()`)
	require.Len(p.t, got, len(want), expression)
	worst := 0.0
	for i, v := range want {
		worst = max(worst, math.Abs(float64(v)-got[i]))
	}
	// f32 on the GPU against float64: the bound between devices.
	assert.LessOrEqual(p.t, worst, 2e-3, expression)
}

// On the browser's GPU the page computes what programs compute. One page has it all: the GPU's
// pipelines are compiled once.
func TestPageComputesWhatProgramsCompute(t *testing.T) {
	t.Parallel()
	files := kinds(t, 120, 90)
	files["photo.png"], files["small.png"] = photo(t, 240, 180), photo(t, 120, 90)
	files["levels.safetensors"], files["raters.safetensors"] = tinyWeights(t, weights.LabelsAgreementLevels, nil), tinyWeights(t, weights.LabelsRaters, nil)
	files["nothing.safetensors"] = tinyWeights(t, weights.LabelsAgreementLevels, func(f *weights.File) {
		bias := f.Tensor("conp.head.bias")
		*bias = weights.NewF32(bias.Name, bias.Shape, []float32{-30, -30})
	})
	files["marked.safetensors"] = markedWeights(t)
	p := open(t, emulated(real(t, files)), 900, 700)
	p.ready()
	require.Contains(t, get[string](p, `(async () => (await mrprism.ready).adapter)()`), "browser", "WebGPU computes")
	for name, check := range map[string]func(*page, map[string][]byte){
		"maps": mapsOfThePage, "nothing found": nothingFound, "kinds of images": kindsOfImages, "turned": turnedByAScript, "evidence": evidenceOfScripts,
	} {
		t.Run(name, func(t *testing.T) {
			p.t = t
			check(p, files)
			p.clean()
		})
	}
}

func mapsOfThePage(p *page, files map[string][]byte) {
	t, picture := p.t, files["photo.png"]
	require.NoError(t, p.segmentIn("photo.png", "levels.safetensors", `recurrences: 2, roi: "60,20,130"`))
	assert.Equal(t, "[true,[],null]", get[string](p, "JSON.stringify([r.found, r.doubts, r.doubt])"), "these weights cannot tell what is odd")
	want := natively(t, files["levels.safetensors"], picture, segment.Options{Recurrences: 2, ROI: "60,20,130"})
	assert.Equal(t, []int{240, 180}, get[[]int](p, "[r.width, r.height]"))
	assert.Equal(t, "agreement-levels", get[string](p, "r.labels"))
	assert.Contains(t, get[string](p, "r.adapter"), "browser")
	for c := range want.Classes {
		p.compare(fmt.Sprintf("r.probability(%d)", c), want.Probability(c))
		p.compare(fmt.Sprintf("r.recurrence(0, %d)", c), want.Recurrence(0, c))
		p.compare(fmt.Sprintf("r.rater(2, %q)", want.Classes[c]), want.Rater(2, c))
		p.compare(fmt.Sprintf("r.disagreement(%d)", c), want.Disagreement(c))
		// Areas may differ by the pixels within 2e-3 of one half; nothing else may.
		near := 0
		for _, v := range want.Probability(c) {
			if math.Abs(float64(v)-0.5) <= 2e-3 {
				near++
			}
		}
		assert.InDelta(t, want.Measurements.Structures[c].Area, get[int](p, fmt.Sprintf("r.measurements.structures[%d].area", c)), float64(near))
	}

	require.NoError(t, p.segmentIn("photo.png", "raters.safetensors", `recurrences: 1, roi: "none", raterWeights: [1, 0.2, 0, 0.7]`))
	want = natively(t, files["raters.safetensors"], picture, segment.Options{Recurrences: 1, ROI: "none", RaterWeights: []float32{1, 0.2, 0, 0.7}})
	p.compare("r.probability(0)", want.Probability(0))
	p.compare(`r.rater("three", 1)`, want.Rater(2, 1))
}

// Where nothing is found the page has a result all the same, which says so, and whose maps are 0.
func nothingFound(p *page, _ map[string][]byte) {
	t := p.t
	require.NoError(t, p.segmentIn("photo.png", "nothing.safetensors", `recurrences: 1, roi: "auto"`))
	assert.False(t, get[bool](p, "r.found"))
	assert.Equal(t, `[{"code":"not-found","text":"No disc was found in this picture."}]`, get[string](p, "JSON.stringify(r.doubts)"))
	for _, maps := range []string{"r.probability(1)", "r.rater(3, 0)", "r.recurrence(0, 0)", "r.disagreement(0)"} {
		assert.Equal(t, []int{240 * 180, 0}, get[[]int](p, maps+`.then((map) => [map.length, map.filter((v) => v !== 0).length])`), maps)
	}
}

func TestBadFilesInThePage(t *testing.T) {
	t.Parallel()
	good := tinyWeights(t, weights.LabelsRaters, nil)
	flipped := bytes.Clone(good)
	flipped[len(flipped)-1000] ^= 4
	jpeg := readBuilt(t, "sample.jpg")
	header := photo(t, 20, 20)
	huge := bytes.Clone(header)
	copy(huge[16:], []byte{0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30}) // 30,000 × 30,000
	s := real(t, map[string][]byte{
		"good.safetensors": good, "flipped.safetensors": flipped, "photo.png": photo(t, 120, 90), "one.png": photo(t, 1, 1), "text.png": []byte("hello, this is text\n"),
		"cut.jpg": jpeg[:len(jpeg)/2], "huge.png": huge,
		"missing.safetensors":  tinyWeights(t, weights.LabelsRaters, func(f *weights.File) { f.Tensors = f.Tensors[1:] }),
		"headless.safetensors": tinyWeights(t, weights.LabelsRaters, func(f *weights.File) { f.Metadata["recipe"] = "baseline" }),
		"shape.safetensors":    tinyWeights(t, weights.LabelsRaters, func(f *weights.File) { slices.Reverse(f.Tensors[0].Shape) }),
		"nan.safetensors": tinyWeights(t, weights.LabelsRaters, func(f *weights.File) {
			copy(f.Tensors[3].Data, []byte{0, 0, 0xc0, 0x7f})
		}),
	})
	p := open(t, s, 900, 700)
	p.ready()
	options := `recurrences: 0, roi: "none"`
	for _, c := range []struct{ image, model, want string }{
		{"text.png", "good", "image: text.png: this is a text file"},
		{"cut.jpg", "good", "image: cut.jpg: "},
		{"huge.png", "good", "30000×30000"},
		{"photo.png", "flipped", "weights: "},
		{"photo.png", "missing", "conv1"},
		{"photo.png", "shape", "shape"},
		{"photo.png", "nan", "weights: "},
	} {
		err := p.segmentIn(c.image, c.model+".safetensors", options)
		if assert.Error(t, err, c.image+" "+c.model) {
			assert.Contains(t, err.Error(), c.want)
			assert.NotContains(t, err.Error(), "undefined")
			assert.Greater(t, len(strings.TrimSpace(err.Error()[strings.LastIndex(err.Error(), "|")+1:])), 10, "a next step: %v", err)
		}
	}
	for _, wrong := range []string{`recurrences: 33, roi: "none"`, `roi: "here"`, `roi: "0,0,0"`, `raterWeights: [1, 2, 1, 1]`} {
		require.ErrorContains(t, p.segmentIn("photo.png", "good.safetensors", wrong), "TypeError: ", wrong)
	}
	require.NoError(t, p.segmentIn("one.png", "good.safetensors", options), "one pixel is an image")
	require.NoError(t, p.segmentIn("photo.png", "headless.safetensors", options))
	require.Equal(t, "no raters", get[string](p, `r.disagreement(0).then(() => "zeros", (e) => r.raters.length ? "raters" : "no raters")`))
	require.NoError(t, p.segmentIn("photo.png", "good.safetensors", options), "the page works on")
	p.clean()
}

// kinds are files that hold the photograph in grey, half transparent, and turned by EXIF.
func kinds(t *testing.T, width, height int) map[string][]byte {
	t.Helper()
	picture := synthetic.Photograph(3, width, height)
	grey, alpha := image.NewGray(picture.Bounds()), image.NewNRGBA(picture.Bounds())
	draw.Draw(grey, grey.Bounds(), picture, image.Point{}, draw.Src)
	draw.Draw(alpha, alpha.Bounds(), picture, image.Point{}, draw.Src)
	for i := 3; i < len(alpha.Pix); i += 4 {
		alpha.Pix[i] = uint8(i / 4 % width * 255 / width)
	}
	var g, a, j bytes.Buffer
	require.NoError(t, png.Encode(&g, grey))
	require.NoError(t, png.Encode(&a, alpha))
	require.NoError(t, jpeg.Encode(&j, picture, nil))
	// APP1: a TIFF directory of one entry, orientation (0x0112, one short) 6
	exif := []byte("\xff\xe1\x00\x22Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00")
	turned := slices.Concat(j.Bytes()[:2], exif, j.Bytes()[2:])
	return map[string][]byte{"grey.png": g.Bytes(), "alpha.png": a.Bytes(), "turned.jpg": turned}
}

func kindsOfImages(p *page, files map[string][]byte) {
	t := p.t
	for name := range kinds(t, 120, 90) {
		require.NoError(t, p.segmentIn(name, "raters.safetensors", `recurrences: 0, roi: "none"`), name)
		want := natively(t, files["raters.safetensors"], files[name], segment.Options{ROI: "none"})
		assert.Equal(t, []int{want.Width, want.Height}, get[[]int](p, "[r.width, r.height]"), name)
		assert.Equal(t, name == "turned.jpg", want.Width < want.Height, name)
		p.compare("r.probability(1)", want.Probability(1))
	}
}

// A GPU that is lost while it computes, and twice more before it computes, costs time alone.
func TestGPULossIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	picture, data := photo(t, 240, 180), tinyWeights(t, weights.LabelsRaters, nil)
	s := emulated(real(t, map[string][]byte{"w.safetensors": data, "photo.png": picture}))
	p := open(t, s, 900, 700, alone)
	p.ready()
	p.do(`(async () => {
		const blob = async (name) => new File([await (await fetch("weights/" + name)).arrayBuffer()], name);
		globalThis.begun = 0;
		globalThis.finished = mrprism.segment(await blob("photo.png"), { model: await blob("w.safetensors"), recurrences: 32, roi: "60,20,130",
			progress: ({ stage, done }) => { if (stage === "segment") begun = done; } });
	})()`)
	p.until("begun >= 2")
	p.crashGPU()
	message := get[string](p, `finished.then((r) => { globalThis.r = r; return ""; }, (error) => error.message)`)
	require.Empty(t, message)
	want := natively(t, data, picture, segment.Options{Recurrences: 32, ROI: "60,20,130"})
	p.compare("r.probability(0)", want.Probability(0))
	p.compare("r.recurrence(5, 1)", want.Recurrence(5, 1))
	want = natively(t, data, picture, segment.Options{Recurrences: 1, ROI: "60,20,130"})
	for _, time := range []string{"again", "a third time"} {
		p.crashGPU()
		require.NoError(t, p.segmentIn("photo.png", "w.safetensors", `recurrences: 1, roi: "60,20,130"`), "after the GPU process died "+time)
		p.compare("r.probability(0)", want.Probability(0))
		t.Logf("the GPU process died %s: computed by %s", time, get[string](p, "r.adapter"))
	}
}

// withoutWebGPU are the flags of a browser that offers no adapter, as most without a GPU.
var withoutWebGPU = []chromedp.ExecAllocatorOption{
	chromedp.Flag("enable-unsafe-webgpu", false), chromedp.Flag("use-webgpu-adapter", false), chromedp.Flag("enable-features", false),
}

// crashGPU ends the browser's GPU process.
func (p *page) crashGPU() {
	p.t.Helper()
	p.run(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := cdp.Call(ctx, chromedp.FromContext(p.ctx).Browser, browser.CrashGPUProcess, cdp.Empty{})
		return err
	}))
}
