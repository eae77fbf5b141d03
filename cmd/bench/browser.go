//go:build !js

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"mrprism/shaders/gpu/chromium"
	"mrprism/shaders/gpu/sharing"
	"mrprism/weights"
)

// browserDevice is the page's device that computes with the browser's WebGPU.
const browserDevice = "browser"

// browse measures in a worker of headless Chromium, on a device of the page.
func browse(ctx context.Context, o options, device string, m *weights.Model, tell func(string)) (*report, error) {
	files, err := pageFiles(ctx, o, m)
	if err != nil {
		return nil, err
	}
	p, err := openPage(ctx, files, "", "worker.js?device="+device)
	if err != nil {
		return nil, err
	}
	defer p.close()
	for {
		message, err := p.nextMessage(ctx)
		if err != nil {
			return nil, err
		}
		if message.kind == "report" {
			r := new(report)
			return r, json.Unmarshal([]byte(message.text), r)
		}
		tell(message.text)
	}
}

// page is a headless Chromium that shows the runner.
type page struct {
	*site
	folder     string // Chromium's profile
	ended      chan struct{}
	complaints strings.Builder
	stop       context.CancelFunc
}

// openPage serves the runner, files and the ONNX Runtime that npm has installed in a folder. It
// opens a page that starts the workers of the addresses.
func openPage(ctx context.Context, files map[string][]byte, modules string, workers ...string) (*page, error) {
	program, err := chromium.Find()
	if err != nil {
		return nil, err
	}
	p := &page{ended: make(chan struct{})}
	if p.folder, err = os.MkdirTemp("", "mrprism-bench"); err != nil {
		return nil, err
	}
	if p.site, err = serve(files, modules); err != nil {
		_ = os.RemoveAll(p.folder) // the first error is more helpful
		return nil, err
	}
	ctx, p.stop = context.WithCancel(ctx)
	browser := chromium.Command(ctx, program, p.folder, p.address+"/?"+url.Values{"worker": workers}.Encode())
	browser.Stderr = &p.complaints
	if err := browser.Start(); err != nil {
		close(p.ended)
		p.close()
		return nil, err
	}
	go func() { _ = browser.Wait(); close(p.ended) }()
	return p, nil
}

func (p *page) close() {
	p.stop()
	<-p.ended
	p.site.close()
	_ = os.RemoveAll(p.folder) // temporary
}

// nextMessage waits for the next message of a worker, and returns an error message as an error.
func (p *page) nextMessage(ctx context.Context) (workerMessage, error) {
	select {
	case message := <-p.messages:
		if message.kind == "error" {
			return message, errors.New("in Chromium: " + message.text)
		}
		return message, nil
	case <-ctx.Done():
		return workerMessage{}, ctx.Err()
	case <-p.ended:
		return workerMessage{}, fmt.Errorf("Chromium ended early: %s", p.complaints.String())
	}
}

// pageFiles returns the files of the page by path: this program as WebAssembly, its options,
// weights and scripts.
func pageFiles(ctx context.Context, o options, m *weights.Model) (map[string][]byte, error) {
	files := map[string][]byte{"/weights": {}}
	var err error
	if files["/options"], err = json.Marshal(o); err != nil {
		return nil, err
	}
	if m != nil {
		if files["/weights"], err = m.File.Encode(); err != nil {
			return nil, err
		}
	}
	wasm := []string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}
	root, err := sources()
	if err != nil {
		return nil, fmt.Errorf("-browser compiles this program: %w", err)
	}
	goroot, err := goTool(ctx, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "mrprism-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	compiled := filepath.Join(folder, "bench.wasm")
	if _, err := goTool(ctx, wasm, "build", "-tags", "simd128", "-o", compiled, "mrprism/cmd/bench"); err != nil {
		return nil, err
	}
	for address, file := range map[string]string{
		"/bench.wasm": compiled, "/gpu.js": filepath.Join(root, "site", "gpu.js"), "/vectors.js": filepath.Join(root, "site", "vectors.js"),
		"/wasm_exec.js": filepath.Join(goroot, "lib", "wasm", "wasm_exec.js"),
	} {
		if files[address], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	files["/bench.wasm"], err = sharing.Share(files["/bench.wasm"])
	return files, err
}

// sources is the folder of the sources from which this program was built. Sources in the working
// directory may be a stranger's.
func sources() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	if _, err := os.Stat(file); err != nil || !filepath.IsAbs(file) {
		return "", errors.New("this program is not beside the sources it was built from: run `make build` in them, and build/bench")
	}
	return filepath.Join(filepath.Dir(file), "..", ".."), nil
}

// goTool runs the go command in the sources, with additional environment variables, and returns its
// output.
func goTool(ctx context.Context, environment []string, arguments ...string) (string, error) {
	root, err := sources()
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, "go", arguments...)
	c.Dir = root
	c.Env = append(os.Environ(), environment...)
	var complaints strings.Builder
	c.Stderr = &complaints
	output, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(complaints.String()))
	}
	return strings.TrimSpace(string(output)), nil
}
