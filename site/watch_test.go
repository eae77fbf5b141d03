package site

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// folder stands in for serve -watch: it offers the files that a test adds.
type folder struct {
	mu    sync.Mutex
	names []string
	data  []byte
	taken int  // the files that a page has asked for
	asked int  // for the list
	left  int  // how often the page said that it was idle
	other bool // the browser is not the one that may ask
}

func (f *folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what := strings.TrimPrefix(r.URL.Path, "/private/")
	switch {
	case f.other:
		w.WriteHeader(http.StatusForbidden)
		return
	case what == "idle":
		f.left++
		return
	case what != "files":
		number, _ := strconv.Atoi(what)
		f.taken = max(f.taken, number+1)
		_, _ = w.Write(f.data)
		return
	}
	f.asked++
	files := []map[string]any{}
	from, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil {
		from = f.taken
	}
	for i := from; i < len(f.names); i++ {
		files = append(files, map[string]any{"number": i, "name": f.names[i]})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"count": len(f.names), "files": files})
}

func (f *folder) add(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = append(f.names, name)
}

// What comes into the watched folder is opened. On a kiosk's screen that nobody touches it does not
// stay longer than what a person opened.
func TestWatchedFolder(t *testing.T) {
	t.Parallel()
	s, f := mock(t, nil), &folder{data: readBuilt(t, "sample.jpg")}
	Mount(s.inner, "/private/", f)
	s.wishes, s.before = "?watch&idle=3600&kiosk", clockOfIdle
	f.add("while-no-page-was-open.jpg")
	p := open(t, s, 1200, 800)
	p.until(`document.getElementById("file-line").textContent.includes("while-no-page-was-open.jpg") && ` + sampleDone)
	p.do(`globalThis.untouched = true, void setTimeout(idle)`) // the page goes
	p.until(`globalThis.untouched === undefined && document.readyState === "complete"`)
	p.ready()
	asked := func() (list, left int) { f.mu.Lock(); defer f.mu.Unlock(); return f.asked, f.left }
	before, left := asked()
	assert.Equal(t, 1, left, "serve starts the browser anew")
	require.Eventually(t, func() bool { now, _ := asked(); return now > before+1 }, deadline, 50*time.Millisecond)
	assert.True(t, p.visible("welcome"), "what the last person saw does not come again")
	assert.True(t, get[bool](p, `globalThis.idle === undefined`))
	f.add("camera.jpg")
	p.until(`document.getElementById("file-line").textContent.includes("camera.jpg") && globalThis.idle !== undefined`)
	p.clean()
	f.mu.Lock()
	f.other = true
	f.mu.Unlock()
	p.until(`document.getElementById("banner").textContent.includes("another browser")`)
}
