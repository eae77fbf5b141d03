package site

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/program/programtest"
)

// steps are the losses in a log.jsonl.
func steps(t *testing.T, log []byte) (losses []float64) {
	t.Helper()
	for lines := bufio.NewScanner(bytes.NewReader(log)); lines.Scan(); {
		var line struct {
			Step int     `json:"step"`
			Loss float64 `json:"loss"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		losses = append(losses, line.Loss)
		require.Equal(t, len(losses), line.Step)
	}
	return losses
}

// A run in the page, stopped, and continued after the page was loaded again, is the run of
// cmd/train with the same arguments: same draws, and losses as near as two processors' sums.
// Resumed, the page asks for nothing but the program, and the model that it prepares at its start.
func TestLearnsAsTrainDoes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	pair := synthetic.Scenario{Name: "pair", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}, {Name: "bob", Noise: 0.05, Bias: 0.3}}}
	require.NoError(t, synthetic.WriteDataset(t.Context(), filepath.Join(folder, "pair"), pair, 8, 96, 1))
	args := []string{"-out", "/run", "-config", "tiny", "-side", "64", "-epochs", "7", "-batch", "3", "-rate", "2e-4", "-save", "0", "-device", "processor"}
	native := exec.Command(filepath.Join(programtest.Build(t, ".", "./cmd/train"), "train"), append([]string{"-data", filepath.Join(folder, "pair")}, args...)...)
	native.Args[len(native.Args)-len(args)+1] = filepath.Join(folder, "run")
	out, err := native.CombinedOutput()
	require.NoError(t, err, string(out))
	log, err := os.ReadFile(filepath.Join(folder, "run", "log.jsonl"))
	require.NoError(t, err)
	want := steps(t, log)
	require.GreaterOrEqual(t, len(want), 20)

	text := ordered(t, folder, append([]string{"-data", "/data/pair"}, args...))
	s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper}), nil)
	p := open(t, s, 900, 700)
	p.ready()
	first := get[outcome](p, begin+"("+text+", 7)")
	require.Equal(t, 0, first.Code, first.Notes+first.Error)
	assert.Contains(t, first.Notes, "stopped before the end by the file")
	assert.Less(t, len(steps(t, []byte(first.Log))), len(want))
	p.do(`globalThis.before = true, location.reload()`)
	p.until(`!globalThis.before && document.readyState === "complete"`)
	p.ready()
	s.mu.Lock()
	asked := len(s.requests)
	s.mu.Unlock()
	second := get[outcome](p, begin+`({ args: ["-with", "/run", "-resume"] }, 0)`)
	require.Equal(t, 0, second.Code, second.Notes+second.Error)
	got := steps(t, []byte(second.Log))
	require.Len(t, got, len(want))
	most := 0.0
	for i := range want {
		most = max(most, math.Abs(got[i]-want[i]))
		assert.InDelta(t, want[i], got[i], 1e-3*max(1, want[i]), "step %d", i+1) // roundings grow: 5e-4 in the worst step
	}
	t.Logf("losses differ by %.2g at most over %d steps", most, len(want))
	assert.Positive(t, second.Model)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.requests[asked:] {
		assert.Regexp(t, `^GET /[\w./-]*(\?again)?$`, request, "the page's own files, and nothing is sent")
	}
	p.clean()
}

// ordered is what begin takes: the program's arguments, and the folder's files in /data.
func ordered(t *testing.T, folder string, args []string) string {
	t.Helper()
	type file struct{ Path, Base64 string }
	var files []file
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path, filepath.Join(folder, "run")) {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		files = append(files, file{"/data/" + filepath.ToSlash(name), base64.StdEncoding.EncodeToString(data)})
		return err
	}))
	text, err := json.Marshal(map[string]any{"files": files, "args": args, "anew": true})
	require.NoError(t, err)
	return string(text)
}

// begin trains in the page, and pauses after a step (until) if that is not 0. It resolves to an
// outcome.
const begin = `(async (order, until) => {
	const { Learner, kept } = await import("./learn.js"), learner = new Learner(), notes = [];
	for (const file of order.files ?? []) file.path = file.Path, file.blob = new Blob([Uint8Array.from(atob(file.Base64), (c) => c.charCodeAt(0))]);
	learner.addEventListener("note", ({ detail }) => notes.push(detail.text));
	learner.addEventListener("step", ({ detail }) => { if (detail.step === until) learner.pause(); });
	const ended = new Promise((resolve) => learner.addEventListener("ended", ({ detail }) => resolve(detail)));
	await learner.begin(order);
	const { code, error } = await ended, log = await (await kept("/run/log.jsonl"))?.text();
	return { code, error, log, notes: notes.join(""), model: (await kept("/run/model.safetensors"))?.size ?? 0 };
})`

type outcome struct {
	Code              int
	Error, Log, Notes string
	Model             int
}

// MRPRISM_RUNS is how many runs one tab makes, one after the other, to measure what they leave in
// memory: within 1 % of what the page had after the first.
func TestMemoryAfterLearning(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("MRPRISM_RUNS"))
	if err != nil {
		t.Skip("MRPRISM_RUNS is not set")
	}
	folder := t.TempDir()
	pair := synthetic.Scenario{Name: "pair", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}, {Name: "bob", Noise: 0.05, Bias: 0.3}}}
	require.NoError(t, synthetic.WriteDataset(t.Context(), filepath.Join(folder, "pair"), pair, 8, 96, 1))
	text := ordered(t, folder, []string{"-data", "/data/pair", "-out", "/run", "-config", "tiny", "-side", "64", "-epochs", "2", "-batch", "3", "-device", "processor"})
	p := open(t, withoutThreads(t), 900, 700, eagerly)
	p.ready()
	var used []float64
	for i := range n {
		run := get[outcome](p, begin+"("+text+", 0)")
		require.Equal(t, 0, run.Code, run.Notes+run.Error)
		used = append(used, get[float64](p, `performance.measureUserAgentSpecificMemory().then(({ bytes }) => bytes)`))
		t.Logf("after %d runs: %.2f MB in the page and its workers", i+1, used[i]/1e6)
	}
	assert.InEpsilon(t, used[0], used[n-1], 0.01)
	p.clean()
}

func TestLearningHasItsGerman(t *testing.T) {
	script, err := os.ReadFile("learn/learn.js")
	require.NoError(t, err)
	german := readTexts(t, "de.json")
	texts := regexp.MustCompile(`\bt\(\s*"([^"]+)"`).FindAllSubmatch(script, -1)
	require.Greater(t, len(texts), 20)
	for _, text := range texts {
		assert.Contains(t, german, string(text[1]))
	}
}

// A folder of several people's marks teaches a model: learn, pause, go on after a reload, use it.
// Of so few images each is judged, by the run of a fold. The images are of 6 patients, too few for
// doubt; with MRPRISM_LARGE they are of 12, and it learns doubt too, for minutes.
func TestLearnsFromAFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "pair")
	pair := synthetic.Scenario{Name: "pair", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}, {Name: "bob", Noise: 0.05, Bias: 0.3}}}
	require.NoError(t, synthetic.WriteDataset(t.Context(), folder, pair, 12, 96, 1))
	patients, knows := "name,group\n", `It has no doubt and no intervals: these take images of 8 patients, and there are 6\.`
	for i := range 12 {
		patients += fmt.Sprintf("case%04d,%d\n", i, i/2)
	}
	long := os.Getenv("MRPRISM_LARGE") != ""
	if long {
		knows = `It says when to doubt a result\. It has 90 % intervals: [^]*area of disc`
	} else {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "groups.csv"), []byte(patients), 0o644))
	}
	about, err := os.ReadFile(filepath.Join(folder, "dataset.json"))
	require.NoError(t, err)
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes(about) // as editors save it
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "dataset.json"), wide, 0o644))
	_, files := shippedModel(t, "fundus")
	s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper}), files)
	s.wishes, s.patience = "?device=processor&steps=4", 6*deadline
	p := open(t, s, 1200, 900)
	p.ready()
	press := func(name string) {
		p.do(`[...document.querySelectorAll("#learning button")].find(({ textContent, hidden, disabled }) => textContent === "` + name + `" && !hidden && !disabled).click()`)
	}
	says := func(text string) { p.until(`/` + text + `/.test(document.getElementById("learning")?.innerText)`) }
	p.upload("folder", folder)
	says(`Images: 12. People: ann, bob. Structures: disc, cup.`)
	press("Bring together…")
	p.until(`/Ready\.[^]*Agreement in 12 images/.test(document.getElementById("together")?.innerText)`)
	p.do(`document.getElementById("together").close()`)
	press("Learn")
	says(`Run 1 of 6: Step 1 of \d+, about \d+ min left`)
	sees := func(text string) {
		p.until(`/` + text + `/.test(document.querySelector("#learning figcaption").textContent) && document.querySelector("#learning img").naturalWidth === 96`)
	}
	assert.Regexp(t, `Loss \d\.\d+ at step \d of \d+`, get[string](p, `document.querySelector("#learning svg[role=img]").ariaLabel`))
	sees(`An image that it learns from, after step \d`)
	press("Pause")
	says(`Paused`)
	// The tab is killed while it writes a checkpoint.
	p.do(`(async () => {
		const run = await (await (await navigator.storage.getDirectory()).getDirectoryHandle("learning")).getDirectoryHandle("run");
		await (await run.getFileHandle("checkpoint.safetensors")).move("checkpoint.previous.safetensors");
		await run.getFileHandle(".checkpoint.safetensors.123.tmp", { create: true });
	})()`)
	p.run(chromedp.Reload())
	p.ready()
	says(`Paused`)
	press("Go on")
	for run := 2; run < 7; run++ { // one wait has ten minutes
		says(fmt.Sprintf(`Run [%d-6] of 6: Step`, run))
	}
	sees(`An image that it does not learn from, after step \d`)
	says(`Soft Dice 0\.\d+ before and 0\.\d+ after, on 12 images, each by a run that had not seen it\. Dice of each person.s own outline: [+−-]0\.\d+\. The new model is[^]*` + knows)
	if shots := os.Getenv("MRPRISM_SCREENSHOTS"); shots != "" {
		p.shot(filepath.Join(shots, "learn.png"))
	}
	press("Use this model")
	p.until(`document.getElementById("model").selectedOptions[0]?.text.startsWith("synthetic-pair-model (")`)
	if long {
		p.upload("file", filepath.Join(folder, "images", "case0003.png"))
		p.until(`document.getElementById("measurements").innerText.includes("90 % interval")`)
		assert.NotContains(t, p.text("trust"), "cannot tell", "the learned model knows when to doubt")
	}
	// A tab that was killed before it had saved anything leaves a copy of the images.
	p.do(`(async () => {
		const run = await (await (await navigator.storage.getDirectory()).getDirectoryHandle("learning")).getDirectoryHandle("run");
		for await (const name of run.keys()) await run.removeEntry(name, { recursive: true });
	})()`)
	p.run(chromedp.Reload())
	p.ready()
	says(`It ended before it had saved anything`)
	assert.Empty(t, get[[]string](p, `[...document.querySelectorAll("#learning button")].filter(({ textContent, hidden }) => textContent === "Go on" && !hidden).map(({ textContent }) => textContent)`))
	press("Forget it")
	p.until(`!document.getElementById("learning")`)
	assert.Empty(t, get[[]string](p, `(async () => { const all = []; for await (const name of (await navigator.storage.getDirectory()).keys()) if (name === "learning") all.push(name); return all; })()`))
	p.clean()
}

// Twelve marked eyes certify a camera, in German too; eyes of too few patients say what to do. The
// model with the certificate says it of a photograph.
func TestCertifiesACamera(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "clinic")
	require.NoError(t, synthetic.WriteDataset(t.Context(), folder, synthetic.Scenario{Name: "clinic", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}}}, 12, 160, 1))
	few := filepath.Join(t.TempDir(), "few")
	require.NoError(t, os.CopyFS(few, os.DirFS(folder)))
	require.NoError(t, os.WriteFile(filepath.Join(few, "groups.csv"), []byte("name,group\ncase0000,a\ncase0001,a\ncase0002,a\ncase0003,a\ncase0004,a\n"), 0o644))
	_, files := shippedModel(t, "fundus")
	s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper}), files)
	s.wishes, s.patience = "?device=processor", 3*deadline
	p := open(t, s, 1200, 900)
	p.ready()
	press := func(name string) {
		p.do(`[...document.querySelectorAll("#learning button")].find(({ textContent, hidden, disabled }) => textContent === "` + name + `" && !hidden && !disabled).click()`)
	}
	says := func(text string) { p.until(`/` + text + `/.test(document.getElementById("learning")?.innerText)`) }
	p.upload("folder", few)
	says(`Images: 12`)
	press("Certify this camera")
	says(`It stopped: there are eyes of 8 patients, and a certificate takes 9[^]*mark more patients. eyes`)
	press("Forget it")
	p.until(`!document.getElementById("learning")`)
	p.upload("folder", folder)
	says(`Images: 12`)
	began := time.Now()
	press("Certify this camera")
	says(`Certified on synthetic-clinic, \d{4}-\d\d-\d\d, 12 eyes of 12 patients: the ratio is`)
	t.Logf("twelve eyes are certified after %.0f s", time.Since(began).Seconds())
	shots := os.Getenv("MRPRISM_SCREENSHOTS")
	if shots != "" {
		p.shot(filepath.Join(shots, "certify.png"))
	}
	press("Use this model")
	p.until(`!document.getElementById("model").selectedOptions[0]?.text.startsWith("Optic disc") || document.getElementById("model").selectedOptions[0]?.text.includes("own weights")`)
	p.upload("file", filepath.Join(folder, "images", "case0003.png"))
	p.until(`document.getElementById("measure-note").textContent.includes("The ratio is certified on synthetic-clinic")`)
	if shots != "" {
		p.shot(filepath.Join(shots, "certified.png"))
		p.run(chromedp.EmulateViewport(390, 844))
		p.shot(filepath.Join(shots, "certified-phone.png"))
	}
	p.clean()
}
