//go:build !js

package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

//go:embed runner
var embedded embed.FS

// runner has the scripts of the page and of node.
var runner, _ = fs.Sub(embedded, "runner") // the name is valid

// workerMessage is a message of a worker.
type workerMessage struct{ kind, text string }

// site serves files to Chromium and node on this machine. It passes on messages of workers, and
// jobs and answers of peers.
type site struct {
	address  string
	server   *http.Server
	messages chan workerMessage
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
	s := &site{address: "http://" + listener.Addr().String(), messages: make(chan workerMessage), peers: map[string]*remote{}}
	mux := http.NewServeMux()
	for _, name := range []string{oursInPage, onnxRuntime} {
		p := &remote{jobs: make(chan job), answers: make(chan answer)}
		s.peers[name] = p
		mux.HandleFunc("GET /job/"+name, p.giveJob)
		mux.HandleFunc("POST /answer/"+name, p.takeAnswer)
	}
	for path, content := range files {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, path, time.Time{}, bytes.NewReader(content))
		})
	}
	mux.Handle("GET /", http.FileServerFS(runner))
	mux.HandleFunc("POST /tell/{kind}", s.tell)
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

func (s *site) tell(_ http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	message := workerMessage{r.PathValue("kind"), string(text)}
	if err != nil {
		message = workerMessage{"error", err.Error()}
	}
	select {
	case s.messages <- message:
	case <-r.Context().Done():
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
