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
	"text/tabwriter"
	"time"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/device"
	"mrprism/weights"
)

// rest is long enough for the threads of one peer to stop looking for work before the other begins.
const rest = 50 * time.Millisecond

// peer is who computes a part of the network when asked: ours, or another runtime, here or elsewhere.
type peer interface {
	ask(ctx context.Context, j job) answer
}

// match is ours beside another runtime: the same part of the same network on the same image, one after the other, again and again.
type match struct {
	Part       string  `json:"part"`
	OursName   string  `json:"ours_name"`
	TheirsName string  `json:"theirs_name"`
	Ours       spread  `json:"ours"`       // ms, from the image to all results in memory
	Theirs     spread  `json:"theirs"`     // ms
	Ratio      spread  `json:"ratio"`      // ours/theirs: of the medians, and the least and the most of neighbouring runs
	Difference float64 `json:"difference"` // the largest between results, where these exceed 1 by their largest value; of a step: of loss and norms
	Agreement  float64 `json:"agreement"`  // what it should not exceed
}

// Results may differ by agreement, what float32 sums in another order come to; from tooFar on they are not the same network.
const agreement, tooFar = 1e-4, 1e-2

// peersReport is what -peers found.
type peersReport struct {
	Options options `json:"options"`
	Matches []match `json:"matches"`
}

// runtimeOf is how ONNX Runtime computes in a match: by WebGPU, or on so many threads of the CPU.
type runtimeOf struct {
	device, provider string
	threads          int
}

// inPage are the matches in Chromium. There our processor has as many threads as theirs.
var inPage = []runtimeOf{{browserDevice, "webgpu", 1}, {device.Processor, "wasm", 1}, {device.Processor, "wasm", 2}}

// natively are the matches of a device: by WebGPU, or on the CPU, where ours has as many threads as
// theirs.
func natively(d gpu.Device) []runtimeOf {
	if !d.Info().InGo() {
		return []runtimeOf{{"", "webgpu", 1}}
	}
	all := []runtimeOf{{"", "cpu", 1}}
	if most := runtime.GOMAXPROCS(0); most > 1 {
		all = append(all, runtimeOf{"", "cpu", most})
	}
	return all
}

// String names it for people.
func (r runtimeOf) String() string {
	if r.provider == "webgpu" {
		return r.provider
	}
	return fmt.Sprintf("%s, %d threads", r.provider, r.threads)
}

// peers plays the matches: on a native device against onnxruntime-node's WebGPU, on the processor
// against its CPU provider, in Chromium against onnxruntime-web's WebGPU and WebAssembly. Where one
// fails, those before it are given too: they took minutes.
func (r *request) peers(ctx context.Context, m *weights.Model, tell, note func(string)) (*peersReport, error) {
	o := r.options
	if r.Train {
		d, err := r.wish.Open(ctx, note)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		matches, err := r.stepMatches(ctx, d, tell)
		return &peersReport{Options: o, Matches: matches}, err
	}
	modules, err := filepath.Abs(r.modules)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "mrprism-peers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	tell("exporting the network as ONNX")
	files, err := exported(ctx, folder, o)
	if err != nil {
		return nil, err
	}
	found := &peersReport{Options: o}
	if r.browser {
		own, err := pageFiles(ctx, o, m)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, own)
		for _, theirs := range inPage {
			if r.device != "" && r.device != theirs.device {
				continue
			}
			matches, err := matchInPage(ctx, o, files, modules, theirs, tell)
			found.Matches = append(found.Matches, matches...)
			if err != nil {
				return found, err
			}
		}
		return found, nil
	}
	d, err := r.wish.Open(ctx, note)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, theirs := range natively(d) {
		if d.Info().InGo() {
			runtime.GOMAXPROCS(theirs.threads)
		}
		matches, err := matchInNode(ctx, d, o, m, files, modules, folder, theirs, tell)
		found.Matches = append(found.Matches, matches...)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// exported writes the network and its encoder as ONNX and gives them, and the picture, by their paths on the site.
func exported(ctx context.Context, folder string, o options) (map[string][]byte, error) {
	files := map[string][]byte{"/x": gpu.Float32Bytes(channelsFirst(picture(o.Side), 3))}
	for _, part := range []string{encoderAlone, wholeNetwork} {
		file := filepath.Join(folder, part+".onnx")
		arguments := []string{"run", "mrprism/cmd/export", "-part", part, "-side", fmt.Sprint(o.Side), "-onnx", file}
		if o.Weights != "" {
			arguments = append(arguments, "-weights", o.Weights)
		} else {
			arguments = append(arguments, "-config", o.Config, "-raters", fmt.Sprint(o.Raters), "-classes", fmt.Sprint(o.Classes))
		}
		if part == wholeNetwork {
			arguments = append(arguments, "-passes", fmt.Sprint(passes))
		}
		if _, err := goTool(ctx, nil, arguments...); err != nil {
			return nil, fmt.Errorf("-peers writes the network by cmd/export, in a folder of MrPrism's sources: %w", err)
		}
		var err error
		if files["/model/"+part], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// version is that of an installed npm package, after its name.
func version(modules, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(modules, "node_modules", name, "package.json"))
	if err != nil {
		return "", fmt.Errorf("%s is not installed (make peers does it): %w", name, err)
	}
	var about struct{ Version string }
	err = json.Unmarshal(text, &about)
	return name + " " + about.Version, err
}

// matchInNode plays ours on a device against onnxruntime-node, whose WebGPU finds its adapter as
// Dawn here does.
func matchInNode(ctx context.Context, d gpu.Device, o options, m *weights.Model, files map[string][]byte, modules, folder string, theirs runtimeOf,
	tell func(string)) ([]match, error) {
	name, err := version(modules, "onnxruntime-node")
	if err != nil {
		return nil, err
	}
	s, err := serve(files, "")
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, script := range []string{"ort.mjs", "jobs.mjs"} {
		content, err := runner.ReadFile("runner/" + script)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, script), content, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	tell("compiling the network")
	u, err := newOurs(ctx, d, o, m)
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

// matchInPage plays ours on a device of the page against one provider of onnxruntime-web, each in its own worker.
func matchInPage(ctx context.Context, o options, files map[string][]byte, modules string, theirs runtimeOf, tell func(string)) ([]match, error) {
	name, err := version(modules, "onnxruntime-web")
	if err != nil {
		return nil, err
	}
	tell("opening a page, " + theirs.String())
	p, err := openPage(ctx, files, modules, fmt.Sprintf("worker.js?peer=%s&device=%s&threads=%d", oursInPage, theirs.device, theirs.threads),
		fmt.Sprintf("ort.mjs?provider=%s&threads=%d", theirs.provider, theirs.threads))
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

// watch ends the matches when a worker tells of an error.
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

// matches compares and then times both parts. With an error it gives what was finished.
func matches(ctx context.Context, o options, ours, theirs peer, oursName, theirsName string, tell func(string)) (out []match, err error) {
	for _, part := range []string{encoderAlone, wholeNetwork} {
		tell(part + ": comparing with " + theirsName)
		x := match{Part: part, OursName: oursName, TheirsName: theirsName, Agreement: agreement}
		ask := func(p peer, values bool) answer {
			time.Sleep(rest)
			a := p.ask(ctx, job{part, values})
			if a.Error != "" && err == nil {
				err = fmt.Errorf("%s, %s: %s", part, map[bool]string{true: oursName, false: theirsName}[p == ours], a.Error)
			}
			return a
		}
		a, b := ask(ours, true), ask(theirs, true) // which also warms both up
		if err == nil {
			x.Difference, err = furthest(a.Values, b.Values)
		}
		if err != nil {
			return out, err
		}
		var times, theirTimes, ratios []float64
		for i := range o.Repeats {
			tell(fmt.Sprintf("%s: run %d of %d beside %s", part, i+1, o.Repeats, theirsName))
			a, b := ask(ours, false), ask(theirs, false)
			if err != nil {
				return out, err
			}
			times, theirTimes, ratios = append(times, a.MS), append(theirTimes, b.MS), append(ratios, a.MS/b.MS)
		}
		x.Ours, x.Theirs, x.Ratio = spreadOf(times), spreadOf(theirTimes), spreadOf(ratios)
		x.Ratio.Median = x.Ours.Median / x.Theirs.Median
		out = append(out, x)
	}
	return out, nil
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

// table writes the matches for people.
func (r *peersReport) table(out io.Writer) error {
	fmt.Fprintf(out, "network      %s\nin turn      ours, theirs, ours, theirs ...\n\n", r.Options.network())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "part\tours ms\ttheirs ms\tratio\tfrom\tto\tof\tdiffer by\tours\ttheirs")
	for _, m := range r.Matches {
		remark := ""
		if m.Difference > m.Agreement {
			remark = " (!)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%.1g%s\t%s\t%s\n", m.Part, digits(m.Ours.Median), digits(m.Theirs.Median),
			digits(m.Ratio.Median), digits(m.Ratio.Least), digits(m.Ratio.Most), m.Ratio.N, m.Difference, remark, m.OursName, m.TheirsName)
	}
	return w.Flush()
}
