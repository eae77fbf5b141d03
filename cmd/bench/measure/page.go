//go:build !js

package measure

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"mrprism/shaders/gpu/chromium"
	"mrprism/weights"
)

//go:embed runner
var embedded embed.FS

// runner has the page and the worker that runs a program in it.
var runner, _ = fs.Sub(embedded, "runner") // the name is valid

// Message is a message of a worker: a stage, a report, or an error.
type Message struct{ Kind, Text string }

// Site serves files on this machine, and passes on messages of workers.
type Site struct {
	Address  string
	Messages chan Message
	server   *http.Server
}

// Serve serves the runner, files by path, and what more adds; nil: nothing.
func Serve(files map[string][]byte, more func(*http.ServeMux)) (*Site, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Site{Address: "http://" + listener.Addr().String(), Messages: make(chan Message)}
	mux := http.NewServeMux()
	if more != nil {
		more(mux)
	}
	for path, content := range files {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, path, time.Time{}, bytes.NewReader(content))
		})
	}
	mux.Handle("GET /", http.FileServerFS(runner))
	mux.HandleFunc("POST /tell/{kind}", s.tell)
	s.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// threads of WebAssembly need both headers
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		mux.ServeHTTP(w, r)
	})}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// Close ends the site and its waiting requests.
func (s *Site) Close() { _ = s.server.Close() }

func (s *Site) tell(_ http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	message := Message{r.PathValue("kind"), string(text)}
	if err != nil {
		message = Message{"error", err.Error()}
	}
	select {
	case s.Messages <- message:
	case <-r.Context().Done():
	}
}

// Page is a headless Chromium that shows the runner.
type Page struct {
	*Site
	Ended      chan struct{}
	folder     string // Chromium's profile
	complaints strings.Builder
	stop       context.CancelFunc
}

// OpenPage opens a page of a site that starts the workers of the addresses. It closes the site if
// there is an error.
func OpenPage(ctx context.Context, s *Site, workers ...string) (*Page, error) {
	p := &Page{Site: s, Ended: make(chan struct{})}
	program, err := chromium.Find()
	if err == nil {
		p.folder, err = os.MkdirTemp("", "mrprism-bench")
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	ctx, p.stop = context.WithCancel(ctx)
	browser := chromium.Command(ctx, program, p.folder, p.Address+"/?"+url.Values{"worker": workers}.Encode())
	browser.Stderr = &p.complaints
	if err := browser.Start(); err != nil {
		close(p.Ended)
		p.Close()
		return nil, err
	}
	go func() { _ = browser.Wait(); close(p.Ended) }()
	return p, nil
}

// Close ends the browser and the site.
func (p *Page) Close() {
	p.stop()
	<-p.Ended
	p.Site.Close()
	_ = os.RemoveAll(p.folder) // temporary
}

// Failure says what the browser complained of, once it has ended.
func (p *Page) Failure() error { return errors.New("Chromium ended early: " + p.complaints.String()) }

// Browser is the page's device that computes with the browser's WebGPU.
const Browser = "browser"

// Browse measures in a worker of headless Chromium, on a device of the page.
func Browse(ctx context.Context, o Options, device string, m *weights.Model, packed Packed, tell func(string)) (*Report, error) {
	files, err := PageFiles(ctx, o, m, packed, "bench")
	if err != nil {
		return nil, err
	}
	s, err := Serve(files, nil)
	if err != nil {
		return nil, err
	}
	p, err := OpenPage(ctx, s, "worker.js?device="+device)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	for {
		select {
		case message := <-p.Messages:
			switch message.Kind {
			case "error":
				return nil, errors.New("in Chromium: " + message.Text)
			case "report":
				found := new(Report)
				return found, json.Unmarshal([]byte(message.Text), found)
			}
			tell(message.Text)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.Ended:
			return nil, p.Failure()
		}
	}
}

// PageFiles are the files of the page by path: a program of cmd as WebAssembly, its options,
// weights and scripts.
func PageFiles(ctx context.Context, o Options, m *weights.Model, packed Packed, program string) (map[string][]byte, error) {
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
	for path, build := range map[string]func() ([]byte, error){
		"/program.wasm": func() ([]byte, error) { return compiled(ctx, program) },
		"/gpu.js":       func() ([]byte, error) { return source("site", "worker", "gpu.js") },
		"/vectors.js":   func() ([]byte, error) { return source("site", "worker", "vectors.js") },
		"/wasm_exec.js": func() ([]byte, error) { return goScript(ctx) },
	} {
		name := strings.Replace(path[1:], "program", strings.ReplaceAll(program, "/", "-"), 1)
		if files[path], err = packed.File(name, build); err != nil {
			return nil, fmt.Errorf("the page's files: %w", err)
		}
	}
	return files, nil
}
