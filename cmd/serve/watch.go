package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"mrprism/internal/files/imageio"
)

const (
	watchEvery  = time.Second // between looks; a file that has not changed meanwhile is complete
	mostWatched = 10_000      // offered files; if there are more, the oldest are forgotten
	largestFile = 256 << 20   // bytes; the page takes no larger ones
)

// watched is a folder into which a camera exports. It offers the images that come into it while serve
// runs to the page, as a part of private. Files are found through an os.Root, which no link leaves.
type watched struct {
	root *os.Root
	log  io.Writer

	mu      sync.Mutex
	seen    map[string]stamp // the files at the last look
	known   map[string]stamp // files that are offered, were there at the start, or are no images
	offered []offer
	forgot  int // offers that were forgotten
}

// stamp is a file's size and the time of its last change.
type stamp struct {
	size    int64
	changed time.Time
}

type offer struct {
	name string
	stamp
}

// watch opens a folder. Files that are in it already are not offered.
func watch(folder string, log io.Writer) (*watched, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot watch %q: %w; name a folder that exists with -watch", folder, err)
	}
	w := &watched{root: root, log: log}
	if w.known, err = w.list(); err != nil {
		return nil, fmt.Errorf("cannot read the folder %q: %w", folder, err)
	}
	w.seen = w.known
	return w, nil
}

// list is the regular files of the folder, without hidden ones.
func (w *watched) list() (map[string]stamp, error) {
	folder, err := w.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(-1)
	files := map[string]stamp{}
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if info, err := e.Info(); err == nil {
			files[e.Name()] = stamp{info.Size(), info.ModTime()}
		}
	}
	return files, err
}

// look offers the files that are complete: those that are new, or have changed since they were
// offered, but not since the last look.
func (w *watched) look() error {
	files, err := w.list()
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, is := range files {
		if is.size == 0 || w.seen[name] != is || w.known[name] == is {
			continue
		}
		if ok, err := w.image(name); err != nil {
			continue // for example, another program still holds it
		} else if ok && is.size <= largestFile {
			w.offered = append(w.offered, offer{name, is})
		} else {
			fmt.Fprintf(w.log, "not an image of at most %d MB: %q\n", largestFile>>20, name)
		}
		w.known[name] = is
	}
	for name := range w.known {
		if _, there := files[name]; !there && err == nil {
			delete(w.known, name)
		}
	}
	if more := len(w.offered) - mostWatched; more > 0 {
		w.offered, w.forgot = w.offered[more:], w.forgot+more
	}
	w.seen = files
	return err
}

// image reports whether a file begins like an image.
func (w *watched) image(name string) (bool, error) {
	file, err := w.root.Open(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	head := make([]byte, imageio.HeadSize)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return imageio.Recognised(head[:n]), nil
}

// run looks at the folder until stop is closed.
func (w *watched) run(stop <-chan struct{}) {
	defer w.root.Close()
	failed := false
	for {
		select {
		case <-time.After(watchEvery):
		case <-stop:
			return
		}
		err := w.look()
		if err != nil && !failed {
			fmt.Fprintf(w.log, "the watched folder cannot be read: %v; serve goes on trying\n", err)
		}
		failed = err != nil
	}
}

// ServeHTTP answers requests for /private/: "files?after=N" lists the files after the first N that
// were offered, and their number; without N it lists none. A number alone requests the bytes of
// that file.
func (w *watched) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	switch what := strings.TrimPrefix(r.URL.Path, privately); what {
	case "files":
		w.serveList(out, r.URL.Query().Get("after"))
	default:
		number, err := strconv.Atoi(what)
		if err != nil || !w.serveFile(out, r, number) {
			http.Error(out, "That file is not there any more.", http.StatusNotFound)
		}
	}
}

// count is how many files were offered.
func (w *watched) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.forgot + len(w.offered)
}

func (w *watched) serveList(out http.ResponseWriter, after string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	type file struct {
		Number int    `json:"number"`
		Name   string `json:"name"`
	}
	count, files := w.forgot+len(w.offered), []file{}
	if from, err := strconv.Atoi(after); err == nil {
		for i := max(from, w.forgot); i < count; i++ {
			files = append(files, file{i, w.offered[i-w.forgot].name})
		}
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(map[string]any{"count": count, "files": files})
}

// serveFile sends an offered file, if it has not changed.
func (w *watched) serveFile(out http.ResponseWriter, r *http.Request, number int) bool {
	w.mu.Lock()
	i := number - w.forgot
	if i < 0 || i >= len(w.offered) {
		w.mu.Unlock()
		return false
	}
	o := w.offered[i]
	w.mu.Unlock()
	// The file may have become a link. Only regular files are opened.
	if info, err := w.root.Lstat(o.name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := w.root.Open(o.name)
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Mode().Type() != fs.FileMode(0) || (stamp{info.Size(), info.ModTime()}) != o.stamp {
		return false
	}
	out.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(out, r, "", time.Time{}, file)
	return true
}
