package site

import (
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Before the page is ready it asks for what it starts with, and for nothing that a photograph or the
// use without a network needs.
func TestStartAsksForLittle(t *testing.T) {
	t.Parallel()
	const most, mostBytes = 65, 3_165_000 // requests; bytes after gzip
	s := serve(t, built(t, nil), shippedFiles(t))
	s.wishes = "?device=processor"
	segmenter := hashedAddress(t, "segmenter.wasm")
	asked, come := s.holding(segmenter)
	p := open(t, s, 900, 700)
	p.until(`navigator.serviceWorker.controller`)
	require.Eventually(t, asked, deadline, 10*time.Millisecond)
	p.still() // what else the page wants comes before
	come()
	p.ready()
	all := s.upTo(segmenter)
	sent := 0
	for _, name := range all {
		sent += sizeOf(t, name)
	}
	t.Logf("%d requests and %d bytes before the page is ready", len(all), sent)
	assert.LessOrEqual(t, len(all), most)
	assert.LessOrEqual(t, sent, mostBytes)
	for _, later := range []string{hashedAddress(t, "viewer.wasm"), "/viewer.wasm", "/sample.jpg"} {
		assert.NotContains(t, all, later)
	}
	named := get[[]string](p, `[...document.querySelectorAll("link[rel=modulepreload]")].map(({ href }) => "/" + href.split("/").pop())`)
	scripts := slices.DeleteFunc(all, func(name string) bool { return path.Ext(name) != ".js" })
	assert.ElementsMatch(t, append(named, "/intact.js", "/worker.js", "/decoding.js", "/vectors.js", "/gpu.js", "/sw.js"), scripts, "each once, but intact.js, which has two addresses; index.html names all modules that the page starts with")
	p.clean()
}

// viewer.wasm keeps the page's thread busy while it starts: it comes with the first photograph, which
// the page has painted by then.
func TestViewerComesWithAPhotograph(t *testing.T) {
	t.Parallel()
	s := drawn(t)
	asked, come := s.holding(hashedAddress(t, "viewer.wasm"))
	p := open(t, s, 900, 700)
	p.ready()
	p.still()
	assert.False(t, asked())
	p.sample()
	p.until(colours + ` > 1000`)
	require.Eventually(t, asked, deadline, 10*time.Millisecond)
	come()
	p.viewed()
	p.clean()
}

// holding has an address answered only once come was called. asked says whether anybody waits for it.
func (s *server) holding(path string) (asked func() bool, come func()) {
	var was atomic.Bool
	held, handler := make(chan struct{}), s.http.Handler
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			was.Store(true)
			<-held
		}
		handler.ServeHTTP(w, r)
	})
	return was.Load, func() { close(held) }
}

// upTo are the addresses that were asked for, from the first to that one.
func (s *server) upTo(last string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var asked []string
	for _, request := range s.requests {
		address, _, _ := strings.Cut(strings.TrimPrefix(request, "GET "), "?")
		asked = append(asked, address)
	}
	return asked[:slices.Index(asked, last)+1]
}

// sizeOf is what a browser downloads for an address.
func sizeOf(t *testing.T, address string) int {
	t.Helper()
	name := path.Base(address)
	switch name {
	case "/":
		name = "index.html"
	case weights.Served:
		return len(`{"models":[]}`) // the handler's own
	}
	info, err := fs.Stat(built(t, nil), name+".gz")
	if err != nil {
		return len(readBuilt(t, name))
	}
	return int(info.Size())
}
