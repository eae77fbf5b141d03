//go:build !js

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"mrprism/internal/command"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
)

// pause is a pause in which the threads of one peer stop looking for work.
const pause = 50 * time.Millisecond

// peer computes a part of the network: our program or another runtime, in this process or another.
type peer interface {
	ask(ctx context.Context, j job) answer
}

// match compares our program with another runtime. Both compute the same part of the network on the
// same image, in turn.
type match struct {
	Part       string `json:"part"`
	OursName   string `json:"ours_name"`
	TheirsName string `json:"theirs_name"`
	Ours       spread `json:"ours"`   // ms, from the image to all results in memory
	Theirs     spread `json:"theirs"` // ms
	// ours/theirs of the medians, with the range of neighbouring runs
	Ratio spread `json:"ratio"`
	// the largest difference, relative to values above 1; for a step, of loss and norms
	Difference float64 `json:"difference"`
	Agreement  float64 `json:"agreement"` // limit of Difference
}

// Sums of float32 in another order may differ by agreement. From tooFar on, networks differ.
const agreement, tooFar = 1e-4, 1e-2

// peersReport is the result of -peers.
type peersReport struct {
	Options options `json:"options"`
	Matches []match `json:"matches"`
}

// runtimeOf says how ONNX Runtime computes: with WebGPU, or with a number of CPU threads.
type runtimeOf struct {
	device, provider string
	threads          int
	capture          bool // WebGPU replays a recording
}

// inPage are the matches in Chromium. Our processor has as many threads as ONNX Runtime.
var inPage = []runtimeOf{
	{browserDevice, "webgpu", 1, false}, {browserDevice, "webgpu", 1, true}, {device.Processor, "wasm", 1, false}, {device.Processor, "wasm", 2, false},
}

// natively are the matches of a device: with WebGPU, or on the CPU with one thread and with all.
func natively(d gpu.Device) []runtimeOf {
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

// peers runs the matches beside the runtimes: on a GPU against onnxruntime-node's WebGPU, on the
// processor against its CPU provider, in Chromium against onnxruntime-web's WebGPU and WebAssembly.
// With -train it compares steps with PyTorch's. If a match fails, peers also returns the matches
// before it, because they took minutes.
func (r *request) peers(ctx context.Context, d gpu.Device, m *weights.Model, runtimes []runtimeOf, tell func(string)) (*peersReport, error) {
	found := &peersReport{Options: r.options}
	var err error
	if r.Train {
		found.Matches, err = r.stepMatches(ctx, d, tell)
		return found, err
	}
	files, err := r.exported(ctx, tell)
	if err != nil {
		return nil, err
	}
	if r.browser {
		own, err := r.pageFiles(ctx, m)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, own)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, theirs := range runtimes {
		var done []match
		if r.browser {
			done, err = matchInPage(ctx, r.options, files, r.modules, theirs, tell)
		} else {
			if d.Info().InGo() {
				runtime.GOMAXPROCS(theirs.threads)
			}
			done, err = matchInNode(ctx, d, r.options, m, files, r.modules, theirs, tell)
		}
		found.Matches = append(found.Matches, done...)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// exported writes the network and its encoder as ONNX. It returns them and the picture by their
// paths on the site.
func (r *request) exported(ctx context.Context, tell func(string)) (map[string][]byte, error) {
	tell("exporting the network as ONNX")
	files := map[string][]byte{"/x": gpu.Float32Bytes(channelsFirst(picture(r.Side), 3))}
	for _, part := range []string{encoderAlone, wholeNetwork} {
		var err error
		if files["/model/"+part], err = r.made.file(fmt.Sprintf("%s-%d-%s.onnx", r.Config, r.Side, part), func() ([]byte, error) {
			return r.onnx(ctx, part)
		}); err != nil {
			return nil, fmt.Errorf("-peers: %w", err)
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
	named, exported := "random-"+r.Config, 0
	switch {
	case strings.HasSuffix(r.Weights, ".safetensors"): // a file: export runs in another folder
		if named, err = filepath.Abs(r.Weights); err != nil {
			return nil, err
		}
	case r.Weights != "":
		named = r.Weights
	case r.Raters != 4 || r.Classes != 2:
		return nil, fmt.Errorf("random weights that export writes have 4 raters and 2 classes, not %d and %d: leave out -raters and -classes", r.Raters, r.Classes)
	}
	if part == wholeNetwork {
		exported = passes
	}
	arguments := []string{"run", "mrprism/cmd/export", "-weights", named, "-passes", fmt.Sprint(exported), "-side", fmt.Sprint(r.Side), "-onnx", file}
	if _, err := goTool(ctx, nil, arguments...); err != nil {
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
func matchInNode(ctx context.Context, d gpu.Device, o options, m *weights.Model, files map[string][]byte, modules string, theirs runtimeOf,
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
	if err := os.CopyFS(folder, runner); err != nil {
		return nil, err
	}
	s, err := serve(files, "")
	if err != nil {
		return nil, err
	}
	defer s.close()
	tell("compiling the network")
	u, err := newPeer(ctx, d, o, m)
	if err != nil {
		return nil, err
	}
	defer u.release()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	node := exec.CommandContext(ctx, "node", filepath.Join(folder, "ort.mjs"), s.address, theirs.provider, fmt.Sprint(theirs.threads), modules)
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
	return matches(ctx, o, u, s.peers[onnxRuntime], d.Info().String(), name+", "+theirs.String(), tell)
}

// matchInPage runs our program on a device of the page against a provider of onnxruntime-web, each
// in its own worker.
func matchInPage(ctx context.Context, o options, files map[string][]byte, modules string, theirs runtimeOf, tell func(string)) ([]match, error) {
	name, err := installed(modules, "onnxruntime-web")
	if err != nil {
		return nil, err
	}
	tell("opening a page, " + theirs.String())
	p, err := openPage(ctx, files, modules, fmt.Sprintf("worker.js?peer=%s&device=%s&threads=%d", oursInPage, theirs.device, theirs.threads),
		fmt.Sprintf("ort.mjs?provider=%s&threads=%d&capture=%t", theirs.provider, theirs.threads, theirs.capture))
	if err != nil {
		return nil, err
	}
	defer p.close()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go func() {
		<-p.ended
		fail(errors.New("Chromium ended: " + p.complaints.String()))
	}()
	go watch(ctx, p.site, fail)
	return matches(ctx, o, p.peers[oursInPage], p.peers[onnxRuntime], "Chromium, "+theirs.device, name+", "+theirs.String(), tell)
}

// watch ends the matches when a worker sends an error.
func watch(ctx context.Context, s *site, fail func(error)) {
	for {
		select {
		case message := <-s.messages:
			fail(errors.New(message.text))
		case <-ctx.Done():
			return
		}
	}
}

// matches compares both parts and then times them. With an error it returns the finished parts.
func matches(ctx context.Context, o options, ours, theirs peer, oursName, theirsName string, tell func(string)) (out []match, err error) {
	for _, part := range []string{encoderAlone, wholeNetwork} {
		tell(part + ": comparing with " + theirsName)
		x := match{Part: part, OursName: oursName, TheirsName: theirsName, Agreement: agreement}
		ask := func(p peer, values bool) answer {
			a := p.ask(ctx, job{part, values})
			if a.Error != "" && err == nil {
				err = fmt.Errorf("%s, %s: %s", part, map[bool]string{true: oursName, false: theirsName}[p == ours], a.Error)
			}
			return a
		}
		a, b := ask(ours, true), ask(theirs, true) // this also warms both up
		if err == nil {
			x.Difference, err = furthest(a.Values, b.Values)
		}
		if err != nil {
			return out, err
		}
		run := func(p peer) func() (float64, error) {
			return func() (float64, error) { return ask(p, false).MS, err }
		}
		if err := x.time(o.Repeats, func(i int) { tell(fmt.Sprintf("%s: run %d of %d beside %s", part, i+1, o.Repeats, theirsName)) }, run(ours), run(theirs)); err != nil {
			return out, err
		}
		out = append(out, x)
	}
	return out, nil
}

// time times runs of both peers in turn. Each returns the milliseconds of a run.
func (m *match) time(repeats int, begin func(i int), ours, theirs func() (float64, error)) error {
	var times, theirTimes []float64
	for i := range repeats {
		begin(i)
		for _, peer := range []struct {
			run   func() (float64, error)
			times *[]float64
		}{{ours, &times}, {theirs, &theirTimes}} {
			time.Sleep(pause)
			ms, err := peer.run()
			if err != nil {
				return err
			}
			*peer.times = append(*peer.times, ms)
		}
	}
	m.Ours, m.Theirs, m.Ratio = spreadOf(times), spreadOf(theirTimes), ratiosOf(times, theirTimes)
	m.Ratio.Median = m.Ours.Median / m.Theirs.Median
	return nil
}

// furthest is the largest difference between results of the same names.
func furthest(ours, theirs map[string][]float32) (float64, error) {
	most := 0.0
	for name, values := range ours {
		if len(theirs[name]) != len(values) {
			return 0, fmt.Errorf("output %s has %d values here and %d there", name, len(values), len(theirs[name]))
		}
		scale := 1.0
		for _, v := range values {
			scale = max(scale, math.Abs(float64(v)))
		}
		for i, v := range values {
			d := math.Abs(float64(v)-float64(theirs[name][i])) / scale
			if !(d < tooFar) {
				return 0, fmt.Errorf("output %s, value %d is %v here and %v there: not the same network", name, i, v, theirs[name][i])
			}
			most = max(most, d)
		}
	}
	if len(ours) != len(theirs) {
		return 0, fmt.Errorf("%d outputs here and %d there", len(ours), len(theirs))
	}
	return most, nil
}

// table prints the matches.
func (r *peersReport) table(out io.Writer) error {
	t := command.NewTable(2, 0)
	t.Line("network      %s\nin turn      ours, theirs, ours, theirs ...\n", r.Options.network())
	t.Line("part\tours ms\ttheirs ms\tratio\tfrom\tto\tof\tdiffer by\tours\ttheirs")
	for _, m := range r.Matches {
		remark := ""
		if m.Difference > m.Agreement {
			remark = " (!)"
		}
		t.Line("%s\t%s\t%s\t%s\t%s\t%s\t%d\t%.1g%s\t%s\t%s", m.Part, digits(m.Ours.Median), digits(m.Theirs.Median),
			digits(m.Ratio.Median), digits(m.Ratio.Least), digits(m.Ratio.Most), m.Ratio.N, m.Difference, remark, m.OursName, m.TheirsName)
	}
	return t.Print(out)
}
