package site

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// folder stands in for serve -watch: it offers the files that a test adds.
type folder struct {
	mu    sync.Mutex
	names []string
	data  []byte
	asked int // for the list
}

func (f *folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what := strings.TrimPrefix(r.URL.Path, "/watch/token/")
	if what != "files" {
		_, _ = w.Write(f.data)
		return
	}
	f.asked++
	files := []map[string]any{}
	for i, name := range f.names {
		if after := r.URL.Query().Get("after"); after == "0" && i == 0 || after == "1" && i == 1 {
			files = append(files, map[string]any{"number": i, "name": name})
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"count": len(f.names), "files": files})
}

func (f *folder) add(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = append(f.names, name)
}

// What comes into the watched folder is opened.
func TestWatchedFolder(t *testing.T) {
	t.Parallel()
	s, f := mock(t, nil), &folder{data: readBuilt(t, "sample.jpg")}
	Mount(s.inner, "/watch/token/", f)
	s.wishes = "?watch=token"
	p := open(t, s, 1200, 800)
	p.ready()
	require.Eventually(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.asked > 0 }, deadline, 50*time.Millisecond)
	f.add("camera.jpg")
	p.until(`document.getElementById("file-line").textContent.includes("camera.jpg") && ` + sampleDone)
	p.clean()
}
