package main

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func picture(t *testing.T, side int) []byte {
	t.Helper()
	var data bytes.Buffer
	require.NoError(t, png.Encode(&data, image.NewGray(image.Rect(0, 0, side, side))))
	return data.Bytes()
}

// names are the files that a watched folder has offered.
func (w *watched) names() (all []string) {
	for _, o := range w.offered {
		all = append(all, o.name)
	}
	return all
}

func TestWatchedFolder(t *testing.T) {
	folder, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.png")
	put := func(name string, data []byte) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), data, 0o600))
	}
	require.NoError(t, os.WriteFile(outside, picture(t, 9), 0o600))
	put("before.png", picture(t, 3))
	var log bytes.Buffer
	w, err := watch(folder, &log)
	require.NoError(t, err)
	defer w.root.Close()
	look := func() { t.Helper(); require.NoError(t, w.look()) }

	// A file that grows is not offered until it stays as it is; nor is what is no image, hidden,
	// empty, a folder or a link.
	data := picture(t, 40)
	put("eye.png", data[:30])
	put("notes.txt", []byte("nothing to see"))
	put(".part.png", data)
	put("empty.png", nil)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "folder.png"), 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "link.png")))
	require.NoError(t, os.Symlink("before.png", filepath.Join(folder, "inside.png")))
	look()
	assert.Empty(t, w.names())
	put("eye.png", data)
	look()
	assert.Empty(t, w.names(), "it has grown")
	look()
	look()
	assert.Equal(t, []string{"eye.png"}, w.names(), "once")
	assert.Contains(t, log.String(), "notes.txt")

	ask := func(path string, header ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		out := httptest.NewRecorder()
		w.ServeHTTP(out, r)
		return out.Result()
	}
	read := func(r *http.Response) []byte {
		t.Helper()
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return b
	}
	type list struct {
		Count int
		Files []struct {
			Number int
			Name   string
		}
	}
	listed := func(after string) (l list) {
		t.Helper()
		require.NoError(t, json.Unmarshal(read(ask(w.prefix()+"files?after="+after)), &l))
		return l
	}
	assert.Equal(t, list{Count: 1, Files: []struct {
		Number int
		Name   string
	}{}}, listed(""), "a page that begins gets no old ones")
	require.Len(t, listed("0").Files, 1)
	assert.Empty(t, listed("1").Files)
	r := ask(w.prefix() + "0")
	assert.Equal(t, data, read(r))
	assert.Equal(t, []string{"application/octet-stream", "no-store"}, []string{r.Header.Get("Content-Type"), r.Header.Get("Cache-Control")})

	// Another site's page gets nothing, and neither does anybody anything else.
	assert.Equal(t, http.StatusForbidden, ask(w.prefix()+"0", "Sec-Fetch-Site", "cross-site").StatusCode)
	assert.Equal(t, http.StatusOK, ask(w.prefix()+"0", "Sec-Fetch-Site", "same-origin").StatusCode)
	for _, path := range []string{"1", "-1", "", "eye.png", "../0", "before.png"} {
		assert.Equal(t, http.StatusNotFound, ask(w.prefix()+path).StatusCode, path)
	}

	// A file that changed is another one. A link in its place gives nothing.
	put("eye.png", picture(t, 50))
	look()
	look()
	assert.Equal(t, []string{"eye.png", "eye.png"}, w.names())
	assert.Equal(t, http.StatusNotFound, ask(w.prefix()+"0").StatusCode)
	assert.Equal(t, picture(t, 50), read(ask(w.prefix()+"1")))
	require.NoError(t, os.Remove(filepath.Join(folder, "eye.png")))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "eye.png")))
	assert.Equal(t, http.StatusNotFound, ask(w.prefix()+"1").StatusCode)

	_, err = watch(filepath.Join(folder, "none"), io.Discard)
	assert.ErrorContains(t, err, "name a folder that exists with -watch")
}

// The address that serve prints has the token, and nobody without it gets anything.
func TestServeWatches(t *testing.T) {
	needSite(t)
	folder := t.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	var out, errs output
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"-addr", "127.0.0.1:0", "-watch", folder}, &out, &errs) }()
	t.Cleanup(func() { stop(); <-done })
	var found []string
	require.Eventually(t, func() bool {
		found = regexp.MustCompile(`(http://127\.0\.0\.1:\d+/)\?watch=(\w{20,})`).FindStringSubmatch(out.String())
		return found != nil
	}, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "eye.png"), picture(t, 20), 0o600))
	status := func(path string) int {
		r, err := http.Get(found[1] + path)
		require.NoError(t, err)
		r.Body.Close()
		return r.StatusCode
	}
	require.Eventually(t, func() bool { return status("watch/"+found[2]+"/0") == http.StatusOK }, 20*time.Second, 100*time.Millisecond)
	assert.Equal(t, http.StatusNotFound, status("watch/guess/0"))
	assert.Equal(t, http.StatusNotFound, status("watch/"))
	r, err := http.NewRequest(http.MethodGet, found[1]+"watch/"+found[2]+"/0", nil)
	require.NoError(t, err)
	r.Host = "evil.example"
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	answer.Body.Close()
	assert.Equal(t, http.StatusMisdirectedRequest, answer.StatusCode, "DNS rebinding")

	var usage output
	assert.Equal(t, 2, run(ctx, []string{"-addr", ":0", "-watch", folder}, &out, &usage))
	assert.Contains(t, usage.String(), "without encryption")
}

// systemd finds nothing wrong with the unit. The program that it starts is not installed here:
// another one stands in its place.
func TestUnit(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is missing")
	}
	unit, err := os.ReadFile("kiosk.service")
	require.NoError(t, err)
	require.Contains(t, string(unit), "ExecStart=%h/mrprism/serve ")
	path := filepath.Join(t.TempDir(), "kiosk.service")
	require.NoError(t, os.WriteFile(path, bytes.Replace(unit, []byte("%h/mrprism/serve"), []byte("/bin/true"), 1), 0o600))
	out, err := exec.Command(program, "verify", "--man=no", path).CombinedOutput()
	assert.NoError(t, err)
	assert.Empty(t, string(out))
}
