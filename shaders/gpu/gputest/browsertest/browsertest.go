//go:build !js

// Package browsertest runs a package's tests in Chromium. It builds the test binary for js/wasm,
// serves it on loopback under the site's content security policy, and starts a headless Chromium. A
// module worker there runs the binary with site/worker/gpu.js, as the worker runs the segmenter.
// The tests may read files of the module and of the folders in Folders.
//
// A package's native tests call it once:
//
//	func TestInBrowser(t *testing.T) { browsertest.Run(t, ".") }
package browsertest

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mrprism/shaders/gpu/chromium"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/sharing"
)

//go:embed runner
var runner embed.FS

// policy is the site's content security policy.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; img-src 'self' blob: data:; style-src 'self'; " +
	"worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types mrprism"

// patience is the time limit of a package's tests in a browser, unless `go test` sets an earlier
// deadline.
const patience = 8 * time.Minute

// Folders are the environment variables with folders outside of the module that tests read.
var Folders = []string{"MRPRISM_VECTORS"}

// Run runs the tests of the package in directory in Chromium, with flags such as
// "-test.run=Attention". It fails if they fail. The browser's WebGPU is required. Without Chromium
// the test is skipped, or fails with CI=true.
func Run(t *testing.T, directory string, flags ...string) {
	t.Helper()
	program := Chromium(t)
	s := newServer(t, directory, flags)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = h.Serve(listener) }()
	defer h.Close()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if deadline, ok := t.Deadline(); ok {
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-10*time.Second))
		defer cancel()
	}
	browser := chromium.Command(ctx, program, t.TempDir(), "http://"+listener.Addr().String()+"/")
	var complaints strings.Builder
	browser.Stderr = &complaints
	if err := browser.Start(); err != nil {
		t.Fatalf("starting %s: %v", program, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- browser.Wait() }()

	select {
	case code := <-s.exit:
		output := s.text()
		t.Logf("in Chromium:\n%s", output)
		if code != 0 || !strings.Contains(output, "--- PASS") {
			t.Errorf("tests failed in Chromium, exit code %d (or none ran)", code)
		}
	case err := <-ended:
		t.Fatalf("Chromium ended early: %v\n%s\n%s", err, complaints.String(), s.text())
	case <-ctx.Done():
		t.Errorf("tests did not finish in Chromium: %v\n%s", ctx.Err(), s.text())
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(5 * time.Second): // some process of the browser still has its output open
	}
}

// Chromium returns the path of the browser. Without one the test is skipped, or fails with CI=true.
func Chromium(t *testing.T) string {
	t.Helper()
	path, err := chromium.Find()
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	return path
}

// server serves one test run and collects its output.
type server struct {
	files  map[string][]byte // by path
	roots  []string          // folders that may be read
	exit   chan int
	mutex  sync.Mutex
	output strings.Builder
}

func newServer(t *testing.T, directory string, flags []string) *server {
	t.Helper()
	absolute, err := filepath.Abs(directory)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{files: map[string][]byte{}, exit: make(chan int, 1)}
	root := goTool(t, absolute, "list", "-m", "-f", "{{.Dir}}")
	s.roots = []string{root}
	env := map[string]string{gputest.RequireVariable: "browser"}
	for _, variable := range Folders {
		if folder := os.Getenv(variable); folder != "" {
			s.roots = append(s.roots, folder)
			env[variable] = folder
		}
	}
	s.add(t, "/wasm_exec.js", filepath.Join(runtime.GOROOT(), "lib", "wasm", "wasm_exec.js"))
	for _, name := range []string{"gpu.js", "vectors.js"} {
		s.add(t, "/"+name, filepath.Join(root, "site", "worker", name))
	}
	binary := filepath.Join(t.TempDir(), "test.wasm")
	goTool(t, absolute, "test", "-tags", "simd128", "-trimpath", "-ldflags=-s -w", "-c", "-o", binary, ".") // as make site compiles
	s.add(t, "/test.wasm", binary)
	shared, err := sharing.Share(s.files["/test.wasm"])
	if err != nil {
		t.Fatal(err)
	}
	s.files["/test.wasm"] = shared
	err = fs.WalkDir(runner, "runner", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		s.files["/"+entry.Name()], err = runner.ReadFile(name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.files["/"] = s.files["/index.html"]
	s.files["/config.json"], err = json.Marshal(map[string]any{
		"arguments": append([]string{"test", "-test.v", "-test.timeout=" + patience.String()}, flags...), "environment": env, "directory": absolute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// goTool runs the go command for js/wasm and returns its output.
func goTool(t *testing.T, directory string, arguments ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(runtime.GOROOT(), "bin", "go"), arguments...)
	c.Dir = directory
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	output, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}

func (s *server) add(t *testing.T, address, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s.files[address] = content
}

func (s *server) text() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.output.String()
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Cross-Origin-Opener-Policy", "same-origin") // shared memory needs both
	w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/output":
		content, _ := io.ReadAll(r.Body)
		s.mutex.Lock()
		s.output.Write(content)
		s.mutex.Unlock()
	case r.Method == http.MethodPost && r.URL.Path == "/exit":
		var code int
		if err := json.NewDecoder(r.Body).Decode(&code); err != nil {
			code = 1
		}
		select {
		case s.exit <- code:
		default:
		}
	case r.URL.Path == "/read":
		s.read(w, r.URL.Query().Get("path"))
	case s.files[r.URL.Path] != nil:
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(s.files[r.URL.Path])) // with the type of its name
	default:
		http.NotFound(w, r)
	}
}

// read answers with a file, or with a folder's names as JSON, if the tests may read it.
func (s *server) read(w http.ResponseWriter, path string) {
	path = filepath.Clean(path)
	allowed := slices.ContainsFunc(s.roots, func(root string) bool {
		within, err := filepath.Rel(root, path)
		return err == nil && filepath.IsLocal(within)
	})
	if !allowed {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	if entries, err := os.ReadDir(path); err == nil {
		names := []string{}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(names)
		return
	}
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "no such file", http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(content)
	}
}
