package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
// runs to the page, as a part of private. Files are read through an os.Root, which no link leaves.
// It holds nothing open: the folder may go, as a network's does, and come back.
type watched struct {
	folder string
	log    io.Writer
	away   bool // the folder could not be read at the last look

	mu      sync.Mutex
	seen    map[string]stamp // the files at the last look
	known   map[string]stamp // files that were offered, were there at the start, or are no images
	offered []offer
	forgot  int // offers that were forgotten
	taken   int // the first offers, which pages have asked for
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

// watch begins to watch a folder. Files that are in it already are not offered. A folder that is
// missing may come.
func watch(folder string, log io.Writer) (*watched, error) {
	w := &watched{folder: folder, log: log, known: map[string]stamp{}}
	files, err := w.list()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.away = true
		fmt.Fprintf(log, "the watched folder %q is missing: serve waits for it\n", folder)
	case err != nil:
		return nil, fmt.Errorf("cannot watch %q: %w; name a folder that can be read with -watch", folder, err)
	}
	w.seen = files
	maps.Copy(w.known, files)
	return w, nil
}

// list is the regular files of the folder, without hidden ones.
func (w *watched) list() (map[string]stamp, error) {
	entries, err := os.ReadDir(w.folder)
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
	if more := len(w.offered) - mostWatched; more > 0 {
		w.offered, w.forgot = w.offered[more:], w.forgot+more
	}
	w.seen = files
	return err
}

// open opens a regular file of the folder.
func (w *watched) open(name string) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(w.folder)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	// It may have become a link, and a pipe would never open.
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, nil, cmp.Or(err, fs.ErrNotExist)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// image reports whether a file begins like an image.
func (w *watched) image(name string) (bool, error) {
	file, _, err := w.open(name)
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
	for {
		select {
		case <-time.After(watchEvery):
		case <-stop:
			return
		}
		w.again()
	}
}

// again looks once more. It says when the folder goes, and when it comes back.
func (w *watched) again() {
	err := w.look()
	if away := err != nil; away && !w.away {
		fmt.Fprintf(w.log, "the watched folder cannot be read: %v; serve goes on trying\n", err)
	} else if !away && w.away {
		fmt.Fprintf(w.log, "the watched folder %q is there\n", w.folder)
	}
	w.away = err != nil
}

// ServeHTTP answers requests for /private/: "files?after=N" lists the files after the first N that
// were offered, and their number; without N it lists those that no page has asked for. A number
// alone requests the bytes of that file.
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

func (w *watched) serveList(out http.ResponseWriter, after string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	type file struct {
		Number int    `json:"number"`
		Name   string `json:"name"`
	}
	count, files := w.forgot+len(w.offered), []file{}
	from, err := strconv.Atoi(after)
	if err != nil {
		from = w.taken
	}
	for i := max(from, w.forgot); i < count; i++ {
		files = append(files, file{i, w.offered[i-w.forgot].name})
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
	w.taken = max(w.taken, number+1)
	w.mu.Unlock()
	file, info, err := w.open(o.name)
	if err != nil {
		return false
	}
	defer file.Close()
	if (stamp{info.Size(), info.ModTime()}) != o.stamp {
		return false
	}
	out.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(out, r, "", time.Time{}, file)
	return true
}
