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
	look := func() { t.Helper(); require.NoError(t, w.look()) }

	// A file that grows is not offered until it stays as it is; nor is what is no image, hidden,
	// empty, a folder or a link.
	data := picture(t, 40)
	put("eye.png", data[:30])
	put("notes\nMrPrism is at evil.example", []byte("nothing to see"))
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
	assert.Equal(t, "not an image of at most 256 MB: \"notes\\nMrPrism is at evil.example\"\n", log.String(), "a name writes no line of its own")

	ask := func(path string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
		require.NoError(t, err)
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
		require.NoError(t, json.Unmarshal(read(ask(privately+"files?after="+after)), &l))
		return l
	}
	require.Len(t, listed("").Files, 1, "no page was open when it came")
	require.Len(t, listed("").Files, 1, "a list alone takes nothing")
	r := ask(privately + "0")
	assert.Equal(t, list{Count: 1, Files: []struct {
		Number int
		Name   string
	}{}}, listed(""), "a page that begins does not get what another has taken")
	require.Len(t, listed("0").Files, 1)
	assert.Empty(t, listed("1").Files)
	assert.Equal(t, data, read(r))
	assert.Equal(t, "application/octet-stream", r.Header.Get("Content-Type"))
	for _, path := range []string{"1", "-1", "", "eye.png", "../0", "before.png"} {
		assert.Equal(t, http.StatusNotFound, ask(privately+path).StatusCode, path)
	}

	// A file that changed is another one. A link in its place gives nothing.
	put("eye.png", picture(t, 50))
	look()
	look()
	assert.Equal(t, []string{"eye.png", "eye.png"}, w.names())
	assert.Equal(t, http.StatusNotFound, ask(privately+"0").StatusCode)
	assert.Equal(t, picture(t, 50), read(ask(privately+"1")))
	require.NoError(t, os.Remove(filepath.Join(folder, "eye.png")))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "eye.png")))
	assert.Equal(t, http.StatusNotFound, ask(privately+"1").StatusCode)

	_, err = watch(outside, io.Discard)
	assert.ErrorContains(t, err, "name a folder that can be read with -watch")
}

// A folder may come after serve has started, go and come back. Each of its files is offered once.
func TestWatchedFolderComesAndGoes(t *testing.T) {
	folder, away := filepath.Join(t.TempDir(), "card"), filepath.Join(t.TempDir(), "away")
	var log bytes.Buffer
	w, err := watch(folder, &log)
	require.NoError(t, err)
	says := func(want string) {
		t.Helper()
		w.again()
		w.again()
		if want == "" {
			assert.Empty(t, log.String())
		}
		assert.Contains(t, log.String(), want)
		log.Reset()
	}
	assert.Contains(t, log.String(), "is missing: serve waits for it")
	log.Reset()
	says("")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "eye.png"), picture(t, 9), 0o600))
	says("is there")
	assert.Equal(t, []string{"eye.png"}, w.names())
	require.NoError(t, os.Rename(folder, away))
	says("cannot be read")
	says("")
	out := httptest.NewRecorder()
	w.ServeHTTP(out, httptest.NewRequest(http.MethodGet, privately+"0", nil))
	assert.Equal(t, http.StatusNotFound, out.Code)
	require.NoError(t, os.Mkdir(folder, 0o700)) // where it was mounted
	says("is there")
	require.NoError(t, os.Remove(folder))
	require.NoError(t, os.Rename(away, folder))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "other.png"), picture(t, 8), 0o600))
	says("")
	assert.Equal(t, []string{"eye.png", "other.png"}, w.names())
	out = httptest.NewRecorder()
	w.ServeHTTP(out, httptest.NewRequest(http.MethodGet, privately+"0", nil))
	assert.Equal(t, picture(t, 9), out.Body.Bytes())
}

// What serve prints opens nothing. The file that it names has an address that works once, gives a
// cookie, and is followed by another one.
func TestServeWatches(t *testing.T) {
	needSite(t)
	folder := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ctx, stop := context.WithCancel(context.Background())
	var out, errs output
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"-addr", "127.0.0.1:0", "-watch", folder}, &out, &errs) }()
	t.Cleanup(func() { stop(); <-done })
	var file []string
	require.Eventually(t, func() bool {
		file = regexp.MustCompile(`only you can read: (.*)\n`).FindStringSubmatch(out.String())
		return file != nil
	}, 10*time.Second, 10*time.Millisecond)
	info, err := os.Stat(file[1])
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	address := func() []string {
		text, err := os.ReadFile(file[1])
		require.NoError(t, err)
		found := regexp.MustCompile(`url=((http://127\.0\.0\.1:\d+/)private/open\?(\w{20,}))'`).FindStringSubmatch(string(text))
		require.NotNil(t, found, string(text))
		return found
	}
	first := address()
	get := func(address string, cookies []*http.Cookie, header ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, address, nil)
		require.NoError(t, err)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
			r.Host = r.Header.Get("Host")
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		answer.Body.Close()
		return answer
	}
	opened := get(first[1], nil)
	assert.Equal(t, []any{http.StatusSeeOther, "/?watch", "no-store"}, []any{opened.StatusCode, opened.Header.Get("Location"), opened.Header.Get("Cache-Control")})
	cookies := opened.Cookies()
	require.Len(t, cookies, 1)
	assert.Regexp(t, `^mrprism-\d+=\w{20,}; Path=/private/; HttpOnly; SameSite=Strict$`, cookies[0].String())
	assert.Equal(t, http.StatusForbidden, get(first[1], nil).StatusCode, "it works once")
	assert.NotEqual(t, first[3], address()[3], "for another browser")
	assert.NotContains(t, out.String()+errs.String(), first[3])

	list, image := first[2]+"private/files", first[2]+"private/0"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "eye.png"), picture(t, 20), 0o600))
	require.Eventually(t, func() bool { return get(image, cookies).StatusCode == http.StatusOK }, 20*time.Second, 100*time.Millisecond)
	wrong := []*http.Cookie{{Name: cookies[0].Name, Value: "guess"}}
	for _, address := range []string{list, image, first[2] + "private/", first[2] + "private/open", first[2] + "private/open?"} {
		assert.Equal(t, http.StatusForbidden, get(address, nil).StatusCode, address)
		assert.Equal(t, http.StatusForbidden, get(address, wrong).StatusCode, address)
	}
	assert.Equal(t, http.StatusOK, get(image, cookies, "Sec-Fetch-Site", "same-origin").StatusCode)
	assert.Equal(t, http.StatusForbidden, get(image, cookies, "Sec-Fetch-Site", "same-site").StatusCode, "a page at another port")
	assert.Equal(t, http.StatusMisdirectedRequest, get(image, cookies, "Host", "evil.example").StatusCode, "DNS rebinding")

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
