//go:build !js

package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"mrprism/cmd/bench/measure"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
)

// runtimeOf says how ONNX Runtime computes: with WebGPU, or with a number of CPU threads.
type runtimeOf struct {
	device, provider string
	threads          int
	capture          bool // WebGPU replays a recording
}

// inPage are the matches in Chromium. Our processor has as many threads as ONNX Runtime.
var inPage = []runtimeOf{
	{measure.Browser, "webgpu", 1, false}, {measure.Browser, "webgpu", 1, true}, {device.Processor, "wasm", 1, false}, {device.Processor, "wasm", 2, false},
}

// runtimes are those of the page, or those beside a device: with WebGPU, or on the CPU with one
// thread and with all.
func (r *request) runtimes(d gpu.Device) []runtimeOf {
	if r.browser {
		return slices.DeleteFunc(slices.Clone(inPage), func(theirs runtimeOf) bool { return r.device != "" && r.device != theirs.device })
	}
	if !d.Info().InGo() {
		return []runtimeOf{{provider: "webgpu", threads: 1}}
	}
	all := []runtimeOf{{provider: "cpu", threads: 1}}
	if most := runtime.GOMAXPROCS(0); most > 1 {
		all = append(all, runtimeOf{provider: "cpu", threads: most})
	}
	return all
}

// String names the runtime for people.
func (r runtimeOf) String() string {
	if r.capture {
		return r.provider + ", captured"
	}
	if r.provider == "webgpu" {
		return r.provider
	}
	return fmt.Sprintf("%s, %d threads", r.provider, r.threads)
}

// besideONNX runs the matches beside ONNX Runtime, which npm has installed in a folder: on a GPU
// against its WebGPU in node, on the processor against its CPU provider, in Chromium against its
// WebGPU and WebAssembly. If a match fails, the report has the matches before it, because they took
// minutes.
func (r *request) besideONNX(ctx context.Context, d gpu.Device, m *weights.Model, modules string, tell func(string)) (out []match, err error) {
	files, err := r.exported(ctx, measure.Beside(), tell)
	if err != nil {
		return nil, err
	}
	if r.browser {
		own, err := measure.PageFiles(ctx, r.Options, m, measure.Beside(), "study/peers")
		if err != nil {
			return nil, err
		}
		maps.Copy(files, own)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, theirs := range r.runtimes(d) {
		var done []match
		if r.browser {
			done, err = matchInPage(ctx, r.Options, files, modules, theirs, tell)
		} else {
			if d.Info().InGo() {
				runtime.GOMAXPROCS(theirs.threads)
			}
			done, err = matchInNode(ctx, d, r.Options, m, files, modules, theirs, tell)
		}
		if out = append(out, done...); err != nil {
			return out, err
		}
	}
	return out, nil
}

// pack puts all that a machine without Go needs into a folder: the page's files and the network as
// ONNX, for the network of the flags.
func (r *request) pack(ctx context.Context, folder string, tell func(string)) error {
	packed := measure.Packed{Folder: folder, Write: true}
	_, err := r.exported(ctx, packed, tell)
	if err == nil {
		_, err = measure.PageFiles(ctx, r.Options, nil, packed, "study/peers")
	}
	return err
}

// exported writes the network and its encoder as ONNX. It returns them and the picture by their
// paths on the site.
func (r *request) exported(ctx context.Context, packed measure.Packed, tell func(string)) (map[string][]byte, error) {
	tell("exporting the network as ONNX")
	files := map[string][]byte{"/x": gpu.Float32Bytes(channelsFirst(measure.Picture(r.Side), 3))}
	for _, part := range []string{encoderAlone, wholeNetwork} {
		var err error
		if files["/model/"+part], err = packed.File(fmt.Sprintf("%s-%d-%s.onnx", r.Config, r.Side, part), func() ([]byte, error) {
			return r.onnx(ctx, part)
		}); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// onnx runs cmd/export on a part of the network.
func (r *request) onnx(ctx context.Context, part string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "mrprism-peers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, part+".onnx")
	named, passes := "random-"+r.Config, 0
	switch {
	case strings.HasSuffix(r.Weights, ".safetensors"): // a file: export runs in another folder
		if named, err = filepath.Abs(r.Weights); err != nil {
			return nil, err
		}
	case r.Weights != "":
		named = r.Weights
	}
	if part == wholeNetwork {
		passes = measure.Passes
	}
	arguments := []string{"run", "mrprism/cmd/export", "-weights", named, "-passes", fmt.Sprint(passes), "-side", fmt.Sprint(r.Side), "-onnx", file}
	if _, err := measure.GoTool(ctx, ".", nil, arguments...); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// installed is the name and the version of an installed npm package.
func installed(modules, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(modules, "node_modules", name, "package.json"))
	if err != nil {
		return "", fmt.Errorf("%s is not installed (make peers does it): %w", name, err)
	}
	var about struct{ Version string }
	err = json.Unmarshal(text, &about)
	return name + " " + about.Version, err
}

// matchInNode runs our program on a device against onnxruntime-node. Its WebGPU finds the same
// adapter as our Dawn.
func matchInNode(ctx context.Context, d gpu.Device, o measure.Options, m *weights.Model, files map[string][]byte, modules string, theirs runtimeOf,
	tell func(string)) ([]match, error) {
	name, err := installed(modules, "onnxruntime-node")
	if err != nil {
		return nil, err
	}
	if modules, err = filepath.Abs(modules); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "mrprism-peers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := os.CopyFS(folder, scripts); err != nil {
		return nil, err
	}
	s, peers, err := serve(files, "")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	tell("compiling the network")
	n, err := measure.NewNetwork(ctx, d, o, m)
	if err != nil {
		return nil, err
	}
	defer n.Release()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	node := exec.CommandContext(ctx, "node", filepath.Join(folder, "ort.mjs"), s.Address, theirs.provider, fmt.Sprint(theirs.threads), modules)
	var complaints strings.Builder
	node.Stderr = &complaints
	if err := node.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = node.Wait()
		fail(fmt.Errorf("node ended: %s", strings.TrimSpace(complaints.String())))
		close(ended)
	}()
	defer func() { fail(nil); <-ended }()
	go watch(ctx, s, fail)
	return matches(ctx, o, ours{n}, peers[onnxRuntime], d.Info().String(), name+", "+theirs.String(), tell)
}

// matchInPage runs our program on a device of the page against a provider of onnxruntime-web, each
// in its own worker.
func matchInPage(ctx context.Context, o measure.Options, files map[string][]byte, modules string, theirs runtimeOf, tell func(string)) ([]match, error) {
	name, err := installed(modules, "onnxruntime-web")
	if err != nil {
		return nil, err
	}
	tell("opening a page, " + theirs.String())
	s, peers, err := serve(files, modules)
	if err != nil {
		return nil, err
	}
	p, err := measure.OpenPage(ctx, s, fmt.Sprintf("worker.js?name=%s&device=%s&threads=%d", oursInPage, theirs.device, theirs.threads),
		fmt.Sprintf("ort.mjs?provider=%s&threads=%d&capture=%t", theirs.provider, theirs.threads, theirs.capture))
	if err != nil {
		return nil, err
	}
	defer p.Close()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go func() {
		<-p.Ended
		fail(p.Failure())
	}()
	go watch(ctx, s, fail)
	return matches(ctx, o, peers[oursInPage], peers[onnxRuntime], "Chromium, "+theirs.device, name+", "+theirs.String(), tell)
}

// watch ends the matches when a worker sends an error.
func watch(ctx context.Context, s *measure.Site, fail func(error)) {
	for {
		select {
		case message := <-s.Messages:
			fail(errors.New(message.Text))
		case <-ctx.Done():
			return
		}
	}
}

// remotes are the peers that ask for their jobs over HTTP, with jobs.mjs, by name.
type remotes map[string]*remote

// Names of the remotes.
const oursInPage, onnxRuntime = "ours", "ort"

//go:embed jobs.mjs ort.mjs
var scripts embed.FS

// serve serves files, the scripts of the peers and, as /ort/, the build of ONNX Runtime for pages
// in the node_modules of a folder.
func serve(files map[string][]byte, modules string) (*measure.Site, remotes, error) {
	all := remotes{}
	s, err := measure.Serve(files, func(mux *http.ServeMux) {
		for _, name := range []string{oursInPage, onnxRuntime} {
			p := &remote{jobs: make(chan job), answers: make(chan answer)}
			all[name] = p
			mux.HandleFunc("GET /job/"+name, p.giveJob)
			mux.HandleFunc("POST /answer/"+name, p.takeAnswer)
		}
		mux.Handle("GET /jobs.mjs", http.FileServerFS(scripts))
		mux.Handle("GET /ort.mjs", http.FileServerFS(scripts))
		mux.Handle("GET /ort/", http.StripPrefix("/ort/", http.FileServer(http.Dir(filepath.Join(modules, "node_modules", "onnxruntime-web", "dist")))))
	})
	return s, all, err
}

// remote is a peer that asks for its jobs over HTTP, with jobs.mjs.
type remote struct {
	jobs    chan job
	answers chan answer
}

// patience is the time after which a request without a job is answered with "ask again".
const patience = 30 * time.Second

func (p *remote) giveJob(w http.ResponseWriter, r *http.Request) {
	select {
	case j := <-p.jobs:
		_ = json.NewEncoder(w).Encode(j)
	case <-time.After(patience):
		w.WriteHeader(http.StatusNoContent)
	case <-r.Context().Done():
	}
}

func (p *remote) takeAnswer(_ http.ResponseWriter, r *http.Request) {
	var a answer
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		a = answer{Error: "an answer is no JSON: " + err.Error()}
	}
	select {
	case p.answers <- a:
	case <-r.Context().Done():
	}
}

// ask implements peer.
func (p *remote) ask(ctx context.Context, j job) (a answer) {
	select {
	case p.jobs <- j:
	case <-ctx.Done():
		return answer{Error: context.Cause(ctx).Error()}
	}
	select {
	case a = <-p.answers:
		return a
	case <-ctx.Done():
		return answer{Error: context.Cause(ctx).Error()}
	}
}
