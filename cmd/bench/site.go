//go:build !js

package main

import (
	"context"
	"embed"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path"
	"path/filepath"
	"time"
)

//go:embed runner
var runner embed.FS

// told is a message of a worker.
type told struct{ kind, text string }

// site serves files to Chromium and node on this machine. It passes on messages of workers, and
// jobs and answers of peers.
type site struct {
	address  string
	server   *http.Server
	files    map[string][]byte
	messages chan told
	peers    map[string]*remote
}

// Names of the peers that ask for jobs.
const oursInPage, onnxRuntime = "ours", "ort"

// serve serves the runner, files by path and, as /ort/, the build of ONNX Runtime for pages in the
// node_modules of a folder.
func serve(files map[string][]byte, modules string) (*site, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &site{address: "http://" + listener.Addr().String(), files: files, messages: make(chan told), peers: map[string]*remote{}}
	for _, name := range []string{oursInPage, onnxRuntime} {
		s.peers[name] = &remote{jobs: make(chan job), answers: make(chan answer)}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", s.file)
	mux.HandleFunc("POST /tell/{kind}", s.tell)
	mux.HandleFunc("GET /job/{peer}", func(w http.ResponseWriter, r *http.Request) { s.peer(w, r, (*remote).giveJob) })
	mux.HandleFunc("POST /answer/{peer}", func(w http.ResponseWriter, r *http.Request) { s.peer(w, r, (*remote).takeAnswer) })
	mux.Handle("GET /ort/", http.StripPrefix("/ort/", http.FileServer(http.Dir(filepath.Join(modules, "node_modules", "onnxruntime-web", "dist")))))
	s.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// threads of WebAssembly need both headers
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		mux.ServeHTTP(w, r)
	})}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

func (s *site) close() { _ = s.server.Close() } // ends waiting requests

func (s *site) file(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	if name == "/" {
		name = "/index.html"
	}
	content, ok := s.files[name]
	if !ok {
		var err error
		if content, err = runner.ReadFile("runner" + name); err != nil {
			http.NotFound(w, r)
			return
		}
	}
	w.Header().Set("Content-Type", map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".wasm": "application/wasm",
		"": "application/octet-stream",
	}[path.Ext(name)])
	_, _ = w.Write(content)
}

func (s *site) tell(_ http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	message := told{r.PathValue("kind"), string(text)}
	if err != nil {
		message = told{"error", err.Error()}
	}
	select {
	case s.messages <- message:
	case <-r.Context().Done():
	}
}

func (s *site) peer(w http.ResponseWriter, r *http.Request, do func(*remote, http.ResponseWriter, *http.Request)) {
	if p := s.peers[r.PathValue("peer")]; p != nil {
		do(p, w, r)
	} else {
		http.NotFound(w, r)
	}
}

// remote is a peer that asks for its jobs over HTTP, with runner/jobs.mjs.
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
