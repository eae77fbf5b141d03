//go:build !js

package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"mrprism/internal/chromium"
	"mrprism/weights"
)

//go:embed runner
var runner embed.FS

// told is one message of the worker.
type told struct{ kind, text string }

// browse measures in a worker of headless Chromium.
func browse(ctx context.Context, o options, m *weights.Model, tell func(string)) (*report, error) {
	program, err := chromium.Find()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "mrprism-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	files, err := page(ctx, folder, o, m)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	messages := make(chan told)
	server := &http.Server{Handler: handler(ctx, files, messages)}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	ctx, stop := context.WithCancel(ctx)
	browser := chromium.Command(ctx, program, filepath.Join(folder, "profile"), "http://"+listener.Addr().String()+"/")
	var complaints strings.Builder
	browser.Stderr = &complaints
	if err := browser.Start(); err != nil {
		stop()
		return nil, err
	}
	ended := make(chan struct{})
	go func() { _ = browser.Wait(); close(ended) }()
	defer func() { stop(); <-ended }()
	for {
		select {
		case message := <-messages:
			switch message.kind {
			case "stage":
				tell(message.text)
			case "report":
				r := new(report)
				return r, json.Unmarshal([]byte(message.text), r)
			default:
				return nil, errors.New("in Chromium: " + message.text)
			}
		case <-ended:
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s ended early: %s", program, complaints.String())
		}
	}
}

// page gives the files of the page by path: the runner, this program for WebAssembly and what it is to measure.
func page(ctx context.Context, folder string, o options, m *weights.Model) (map[string][]byte, error) {
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
	root, err := goTool(ctx, "list", "-m", "-f", "{{.Dir}}", "mrprism")
	if err != nil {
		return nil, fmt.Errorf("-browser compiles this program for the browser, in a folder of MrPrism's sources: %w", err)
	}
	goroot, err := goTool(ctx, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	compiled := filepath.Join(folder, "bench.wasm")
	if _, err := goTool(ctx, "build", "-o", compiled, "mrprism/cmd/bench"); err != nil {
		return nil, err
	}
	for address, file := range map[string]string{
		"/bench.wasm": compiled, "/gpu.js": filepath.Join(root, "site", "gpu.js"), "/wasm_exec.js": filepath.Join(goroot, "lib", "wasm", "wasm_exec.js"),
	} {
		if files[address], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"index.html", "worker.js"} {
		if files["/"+name], err = runner.ReadFile("runner/" + name); err != nil {
			return nil, err
		}
	}
	files["/"] = files["/index.html"]
	return files, nil
}

// goTool runs the go command for WebAssembly and gives what it printed.
func goTool(ctx context.Context, arguments ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", arguments...)
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	var complaints strings.Builder
	c.Stderr = &complaints
	output, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(complaints.String()))
	}
	return strings.TrimSpace(string(output)), nil
}

// handler serves the files and passes messages on.
func handler(ctx context.Context, files map[string][]byte, messages chan<- told) http.Handler {
	types := map[string]string{"": "application/octet-stream", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".wasm": "application/wasm"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		kind := path.Ext(r.URL.Path)
		if r.URL.Path == "/" {
			kind = ".html"
		}
		w.Header().Set("Content-Type", types[kind])
		_, _ = w.Write(content)
	})
	mux.HandleFunc("POST /tell/{kind}", func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		message := told{r.PathValue("kind"), string(text)}
		if err != nil {
			message = told{"error", err.Error()}
		}
		select {
		case messages <- message:
		case <-r.Context().Done():
		case <-ctx.Done():
		}
	})
	return mux
}
