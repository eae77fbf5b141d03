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
func (r *request) browse(ctx context.Context, device string, m *weights.Model, tell func(string)) (*report, error) {
	files, err := r.pageFiles(ctx, m)
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
			found := new(report)
			return found, json.Unmarshal([]byte(message.text), found)
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
func (r *request) pageFiles(ctx context.Context, m *weights.Model) (map[string][]byte, error) {
	files := map[string][]byte{"/weights": {}}
	var err error
	if files["/options"], err = json.Marshal(r.options); err != nil {
		return nil, err
	}
	if m != nil {
		if files["/weights"], err = m.File.Encode(); err != nil {
			return nil, err
		}
	}
	for name, build := range map[string]func() ([]byte, error){
		"bench.wasm":   func() ([]byte, error) { return compiled(ctx) },
		"gpu.js":       func() ([]byte, error) { return source("site", "worker", "gpu.js") },
		"vectors.js":   func() ([]byte, error) { return source("site", "worker", "vectors.js") },
		"wasm_exec.js": func() ([]byte, error) { return goScript(ctx) },
	} {
		if files["/"+name], err = r.made.file(name, build); err != nil {
			return nil, fmt.Errorf("-browser: %w", err)
		}
	}
	return files, nil
}

// compiled is this program as WebAssembly.
func compiled(ctx context.Context) ([]byte, error) {
	folder, err := os.MkdirTemp("", "mrprism-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "bench.wasm")
	if _, err := goTool(ctx, []string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}, "build", "-tags", "simd128", "-trimpath", "-o", file, "mrprism/cmd/bench"); err != nil {
		return nil, err
	}
	program, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return sharing.Share(program)
}

// goScript is Go's own script, which starts WebAssembly.
func goScript(ctx context.Context) ([]byte, error) {
	goroot, err := goTool(ctx, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(goroot, "lib", "wasm", "wasm_exec.js"))
}

// source is a file of the sources.
func source(names ...string) ([]byte, error) {
	root, err := sources()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(append([]string{root}, names...)...))
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
