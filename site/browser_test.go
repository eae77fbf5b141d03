package site

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	devpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu/chromium"
)

// deadline ends a page test that waits in vain. A busy machine may be twenty times slower than an
// idle one.
const deadline = 20 * time.Minute

// missing skips a test for want of something; with CI=true that is a failure.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// noKeeper replaces sw.js where a test does not need it. The page waits until it answers.
var noKeeper = []byte(`addEventListener("activate", (event) => event.waitUntil(clients.claim()));`)

// tree is files in memory. Hundreds of servers share their bytes: with a copy for each, the tests
// took gigabytes.
type tree struct{ fstest.MapFS }

func (t tree) ReadFile(name string) ([]byte, error) {
	if file := t.MapFS[name]; file != nil {
		return file.Data, nil
	}
	return t.MapFS.ReadFile(name) // the error
}

// builtFiles are the files of Built by name, read once.
var builtFiles = sync.OnceValues(func() (map[string][]byte, error) {
	site, err := Built()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	return files, fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[name], err = fs.ReadFile(site, name)
		}
		return err
	})
})

// built returns the site as `make site` made it, with some files replaced, and their sums with
// them.
func built(t *testing.T, replaced map[string][]byte) fs.FS {
	t.Helper()
	before, err := builtFiles()
	if errors.Is(err, ErrNotBuilt) {
		missing(t, "the site is not built: "+err.Error())
	}
	require.NoError(t, err)
	copied := fstest.MapFS{}
	for name, content := range before {
		copied[name] = &fstest.MapFile{Data: content}
	}
	for name, content := range replaced {
		copied[name] = &fstest.MapFile{Data: content}
	}
	holders := []string{"addresses.js", "build.js", "index.html", "sw.js"} // of sums, each of those before too
	others := slices.DeleteFunc(slices.Collect(maps.Keys(replaced)), func(name string) bool { return slices.Contains(holders, name) })
	for _, name := range append(others, holders...) {
		is := copied[name].Data
		if bytes.Equal(is, before[name]) {
			continue
		}
		delete(copied, name+".br")
		delete(copied, name+".gz")
		old, sum := sha256.Sum256(before[name]), sha256.Sum256(is)
		for _, holder := range holders {
			text := bytes.ReplaceAll(copied[holder].Data, fmt.Appendf(nil, "%x", old), fmt.Appendf(nil, "%x", sum))
			text = bytes.ReplaceAll(text, base64.StdEncoding.AppendEncode(nil, old[:]), base64.StdEncoding.AppendEncode(nil, sum[:]))
			copied[holder] = &fstest.MapFile{Data: text}
		}
	}
	return tree{copied}
}

// server is the site at an address of its own, for one test.
type server struct {
	URL      string
	wishes   string        // that open asks the page for, after URL
	before   string        // a script that open has the page run before its own
	watched  bool          // the page replaces a worker that is silent, as a slow machine's may be
	plain    bool          // viewer.wasm does not start
	patience time.Duration // how long a test may use the page; 0: deadline
	http     *http.Server
	inner    http.Handler // of Handler
	mu       sync.Mutex
	requests []string
	sent     int // bytes of all answers, compressed where they were
}

// counted adds up what a server sends.
type counted struct {
	http.ResponseWriter
	s *server
}

func (c counted) Write(b []byte) (int, error) {
	c.s.mu.Lock()
	c.s.sent += len(b)
	c.s.mu.Unlock()
	return c.ResponseWriter.Write(b)
}

func serve(t *testing.T, tree fs.FS, weights map[string][]byte) *server {
	t.Helper()
	return serveAt(t, "127.0.0.1:0", tree, weights)
}

// serveAt is serve at an address, such as that of a server that was closed.
func serveAt(t *testing.T, address string, tree fs.FS, weights map[string][]byte) *server {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	handler, err := Handler(tree, weights, Hosts(listener.Addr()))
	require.NoError(t, err)
	s := &server{URL: "http://" + listener.Addr().String() + "/", inner: handler}
	s.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.String())
		s.mu.Unlock()
		handler.ServeHTTP(counted{w, s}, r)
	})}
	go s.http.Serve(listener)
	t.Cleanup(func() { s.http.Close() })
	return s
}

// mock is the site with a worker that computes nothing, and without viewer.wasm, which takes longer
// to start than most tests. change edits the worker's text.
func mock(t *testing.T, change func(string) string) *server {
	t.Helper()
	text, err := os.ReadFile("testdata/mock_worker.js")
	require.NoError(t, err)
	if change != nil {
		text = []byte(change(string(text)))
	}
	s := serve(t, built(t, map[string][]byte{"worker.js": text, "sw.js": noKeeper}), nil)
	s.plain = os.Getenv("MRPRISM_SCREENSHOTS") == ""
	return s
}

// drawn is mock with viewer.wasm, for tests of the stage.
func drawn(t *testing.T) *server {
	t.Helper()
	s := mock(t, nil)
	s.plain = false
	return s
}

const (
	// unwatched stops the timer of segmenter.js that looks every 500 ms whether the worker is
	// silent.
	unwatched = `{ const every = setInterval; globalThis.setInterval = (act, ms, ...all) => ms === 500 ? 0 : every(act, ms, ...all); }`
	// noWebGL has the stage draw the photograph on a plain canvas.
	noWebGL = `{ const context = HTMLCanvasElement.prototype.getContext; HTMLCanvasElement.prototype.getContext = function (kind, ...all) { return kind === "webgl2" ? null : context.call(this, kind, ...all); }; }`
)

// script is what open has the page run before its own scripts.
func (s *server) script() string {
	script := s.before
	if !s.watched {
		script = unwatched + script
	}
	if s.plain {
		script = noWebGL + script
	}
	return script
}

// page is one tab with a profile of its own, and everything it complained about or asked for.
type page struct {
	t     *testing.T
	ctx   context.Context
	plain bool // of its server

	mu       sync.Mutex
	problems []string // console errors, exceptions, policy violations
	outside  []string // addresses that are not the site's
}

// flags are what WebGPU in a headless Chromium needs, and silence.
func flags(extra ...chromedp.ExecAllocatorOption) []chromedp.ExecAllocatorOption {
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	for name, value := range chromium.Adapter() {
		options = append(options, chromedp.Flag(name, value))
	}
	options = append(options, chromedp.NoSandbox, chromedp.Flag("disable-quic", true),
		// Each window would load two pages for its address bar.
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup"),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-gpu", false), chromedp.WSURLReadTimeout(time.Minute))
	return append(options, extra...)
}

// shared is the Chromium of all tests that ask for no flags, as the parent of their tabs.
var shared struct {
	sync.Mutex
	ctx  context.Context // nil before the first test
	stop func()
}

// TestMain runs two tests a core, as most of them wait for a page, and ends the shared Chromium
// after the last one.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", strconv.Itoa(2*goruntime.GOMAXPROCS(0)))
	}
	code := m.Run()
	if shared.ctx != nil {
		shared.stop()
	}
	os.Exit(code)
}

// launch starts a Chromium with flags.
func launch(t *testing.T, extra ...chromedp.ExecAllocatorOption) (context.Context, func()) {
	t.Helper()
	program, err := chromium.Find()
	if err != nil {
		missing(t, err.Error())
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(flags(extra...), chromedp.ExecPath(program))...)
	ctx, cancel := chromedp.NewContext(allocator)
	end := func() { cancel(); stop() }
	if err := chromedp.Do(ctx); err != nil {
		end()
		t.Fatal("Chromium does not start: ", err)
	}
	return ctx, end
}

// tab is a tab of the shared Chromium, with a profile of its own.
func tab(t *testing.T) (context.Context, func()) {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.ctx == nil || shared.ctx.Err() != nil {
		shared.ctx, shared.stop = launch(t)
	}
	ctx, cancel := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext())
	require.NoError(t, chromedp.Do(ctx), "a tab opens")
	return ctx, cancel
}

// alone has open start a Chromium of its own, for a test that breaks it.
func alone(*chromedp.ExecAllocator) {}

// address asks for the controls of all tasks, unless the test has a wish.
func (s *server) address() string {
	if strings.Contains(s.wishes, "mode=") {
		return s.URL + s.wishes
	}
	if s.wishes == "" {
		return s.URL + "?mode=all"
	}
	return s.URL + s.wishes + "&mode=all"
}

// open loads the address in a tab of the given size. With extra flags it starts a Chromium.
func open(t *testing.T, s *server, width, height int, extra ...chromedp.ExecAllocatorOption) *page {
	t.Helper()
	start := tab
	if len(extra) > 0 {
		start = func(t *testing.T) (context.Context, func()) {
			return launch(t, append(extra[:len(extra):len(extra)], chromedp.WindowSize(width, height))...)
		}
	}
	ctx, cancel := start(t)
	t.Cleanup(cancel)
	ctx, expire := context.WithTimeout(ctx, cmp.Or(s.patience, deadline))
	t.Cleanup(expire)
	p := &page{t: t, ctx: ctx, plain: s.plain}
	require.NoError(t, chromedp.Listen(ctx, func(event any) { p.heard(s, event) }))
	p.run(chromedp.EmulateViewport(int64(width), int64(height)),
		command(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}), // beside other tabs
		command(devpage.AddScriptToEvaluateOnNewDocument, devpage.AddScriptToEvaluateOnNewDocumentParams{Source: s.script()}),
		chromedp.Navigate(s.address()))
	p.until(`document.readyState === "complete"`)
	return p
}

func (p *page) heard(s *server, event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			text := ""
			for _, a := range e.Args {
				text += fmt.Sprint(" ", string(a.Value), a.Description)
			}
			p.problems = append(p.problems, "console:"+text)
		}
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, "exception: "+e.ExceptionDetails.Text+" "+describe(e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		// Without a GPU, Chromium itself reads every WebGL frame back, and says so. It lacks a
		// directive of Policy. Most tests serve no model: an error in its place has not the model's
		// sum.
		ours := !slices.ContainsFunc([]string{"GPU stall due to ReadPixels", "directive 'webrtc'", "weights/fundus.safetensors"}, func(known string) bool {
			return strings.Contains(e.Entry.Text, known)
		})
		if ours && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
			p.problems = append(p.problems, fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, s.URL) && !strings.HasPrefix(u, "blob:"+s.URL) && !strings.HasPrefix(u, "data:") {
			p.outside = append(p.outside, u)
		}
	}
}

// command is a DevTools command whose answer does not matter.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

func (p *page) run(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
}

// get evaluates an expression, awaiting promises.
func get[T any](p *page, expression string) T {
	p.t.Helper()
	out, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return out
}

// do evaluates an expression for its effect.
func (p *page) do(expression string) {
	p.t.Helper()
	get[bool](p, "(async () => { await ("+expression+"); return true; })()")
}

// until waits for a condition, and says what the page complained of where it does not come. The page
// itself looks every 10 ms: to ask it from here took more of a core than the page. It is asked anew
// every few seconds, as one that is loaded anew may forget the question. Ten minutes are longer than
// the slowest wait beside other work.
func (p *page) until(condition string) {
	p.t.Helper()
	look := "new Promise((resolve, reject) => { let n = 0; const look = () => { try { const is = Boolean(" + condition + "); if (is || n++ > 200) resolve(is); else setTimeout(look, 10); } catch (error) { reject(error); } }; look(); })"
	whole, end := context.WithTimeout(p.ctx, 10*time.Minute)
	defer end()
	for {
		ctx, stop := context.WithTimeout(whole, 10*time.Second)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](look, chromedp.EvalAwaitPromise))
		late := ctx.Err() != nil
		stop()
		if ok && err == nil {
			return
		}
		if whole.Err() != nil || err != nil && !late && !reloaded(err) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Fatalf("waiting for %s: %v; problems: %q", condition, err, p.problems)
		}
	}
}

// reloaded says whether an expression had no answer because the page was loaded anew.
func reloaded(err error) bool {
	return slices.ContainsFunc([]string{"navigated", "context was destroyed", "Promise was collected"}, func(why string) bool { return strings.Contains(err.Error(), why) })
}

// frame waits for the page's next frame.
func (p *page) frame() {
	p.t.Helper()
	p.do(`new Promise(requestAnimationFrame)`)
}

// still waits for sixty frames: for layout and animations to end, or for what must not come.
func (p *page) still() {
	p.t.Helper()
	p.do(`new Promise((resolve) => { let n = 60; const frame = () => n-- ? requestAnimationFrame(frame) : resolve(); frame(); })`)
}

// settled is the value of an expression once it has been the same in 15 frames. On a slow machine
// frames take longer too.
func settled[T any](p *page, expression string) T {
	p.t.Helper()
	return get[T](p, `(async () => {
		for (let last, same = 0; ;) {
			await new Promise(requestAnimationFrame);
			const value = (`+expression+`), now = JSON.stringify(value);
			same = now === last ? same + 1 : 0;
			if (same === 15) return value;
			last = now;
		}
	})()`)
}

// ready waits for the worker.
func (p *page) ready() {
	p.t.Helper()
	p.until(`document.getElementById("model")?.disabled === false`)
}

// viewed waits until viewer.wasm, which starts with the first photograph, draws the stage.
func (p *page) viewed() {
	p.t.Helper()
	require.False(p.t, p.plain, "mock starts no viewer.wasm: take drawn")
	p.until(`globalThis.mrprismViewer`)
}

// drop drops a file on the page.
func (p *page) drop(name string, content []byte) {
	p.t.Helper()
	p.do(fmt.Sprintf(`(() => {
		const data = new DataTransfer();
		data.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], %q));
		document.getElementById("stage").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
	})()`, base64.StdEncoding.EncodeToString(content), name))
}

func (p *page) shot(path string) {
	p.t.Helper()
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(path, png, 0o644))
}

// clean asserts that the page complained of nothing and asked no one but its own server.
func (p *page) clean() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.problems)
	require.Empty(p.t, p.outside, "addresses outside the site")
}

// describe is what the console would print of a value; nil for none.
func describe(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	return fmt.Sprint(o.Description)
}

// readBuilt is one file of the built site.
func readBuilt(t *testing.T, name string) []byte {
	t.Helper()
	content, err := fs.ReadFile(built(t, nil), name)
	require.NoError(t, err)
	return content
}
