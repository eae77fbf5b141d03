package site

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testHandler(t *testing.T) http.Handler {
	t.Helper()
	var br, gz bytes.Buffer
	b, g := brotli.NewWriter(&br), gzip.NewWriter(&gz)
	for _, w := range []io.WriteCloser{b, g} {
		io.WriteString(w, "program")
		require.NoError(t, w.Close())
	}
	tree := fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html>")}, "a.wasm": {Data: []byte("program")},
		"a.wasm.br": {Data: br.Bytes()}, "a.wasm.gz": {Data: gz.Bytes()}, "b.js": {Data: []byte("1")}, ".keep": {},
	}
	h, err := Handler(tree, map[string][]byte{"m.safetensors": {1, 2, 3}}, []string{"127.0.0.1:8080"})
	require.NoError(t, err)
	return h
}

func ask(h http.Handler, method, path string, header map[string]string) *http.Response {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, nil)
	for key, value := range header {
		if key == "Host" {
			r.Host = value
		}
		r.Header.Set(key, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestFilesAndTypes(t *testing.T) {
	h := testHandler(t)
	for path, mime := range map[string]string{
		"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8", "/a.wasm": "application/wasm",
		"/b.js": "text/javascript; charset=utf-8", "/weights/m.safetensors": "application/octet-stream",
	} {
		r := ask(h, "GET", path, nil)
		assert.Equal(t, 200, r.StatusCode, path)
		assert.Equal(t, mime, r.Header.Get("Content-Type"), path)
	}
	for _, path := range []string{"/nothing", "/weights/", "/weights", "/a.wasm.br", "/.keep", "/../go.mod", "/b.js/", "//b.js"} {
		r := ask(h, "GET", path, nil)
		assert.Equal(t, 404, r.StatusCode, path)
		assert.Equal(t, "no-store", r.Header.Get("Cache-Control"), "a CDN keeps no error")
	}
	assert.Equal(t, 405, ask(h, "POST", "/", nil).StatusCode)
	assert.Zero(t, len(body(t, ask(h, "HEAD", "/b.js", nil))))
}

func body(t *testing.T, r *http.Response) []byte {
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return b
}

func TestEveryAnswerCarriesThePolicy(t *testing.T) {
	h := testHandler(t)
	// The exact policy of the design; anything looser must be a decision, not an accident.
	const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; img-src 'self' blob: data:; style-src 'self'; " +
		"worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types mrprism; webrtc 'block'"
	for _, r := range []*http.Response{
		ask(h, "GET", "/", nil), ask(h, "GET", "/b.js", nil), ask(h, "GET", "/nothing", nil), ask(h, "PUT", "/", nil),
		ask(h, "GET", "/", map[string]string{"Host": "evil.example"}),
	} {
		assert.Equal(t, policy, r.Header.Get("Content-Security-Policy"))
		assert.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
		assert.Equal(t, "no-referrer", r.Header.Get("Referrer-Policy"))
		assert.Equal(t, "same-origin", r.Header.Get("Cross-Origin-Resource-Policy"))
	}
}

func TestOtherHostsAreRefused(t *testing.T) {
	h := testHandler(t)
	for _, host := range []string{"evil.example", "evil.example:8080", "127.0.0.1:8081", "127.0.0.1", "localhost:8080", ""} {
		r := ask(h, "GET", "/", map[string]string{"Host": host})
		assert.Equal(t, http.StatusMisdirectedRequest, r.StatusCode, host)
		assert.NotContains(t, string(body(t, r)), "doctype", host)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	hosts := Hosts(listener.Addr())
	assert.Contains(t, hosts, "127.0.0.1:"+port)
	assert.Contains(t, hosts, "localhost:"+port)
	assert.NotContains(t, hosts, "localhost")

	// Browsers leave out the port that is http's or https' own.
	assert.Subset(t, Hosts(&net.TCPAddr{IP: net.IPv4zero, Port: 443}, "clinic.example"), []string{"clinic.example", "clinic.example:443"})
	assert.NotContains(t, Hosts(&net.TCPAddr{IP: net.IPv4zero, Port: 8443}, "clinic.example"), "clinic.example")
	hosts = Hosts(&net.TCPAddr{IP: net.IPv6unspecified, Port: 80})
	for _, host := range []string{"[::1]", "127.0.0.1", "localhost", "localhost:80", "[::1]:80", "[::]"} {
		assert.Contains(t, hosts, host)
	}
}

func TestCompressionAndCaching(t *testing.T) {
	h := testHandler(t)
	for accept, want := range map[string]string{
		"gzip, deflate, br": "br", "gzip": "gzip", "": "", "br;q=0, gzip;q=0.5": "gzip", "identity": "", "BR": "br", "br;q=junk": "br",
	} {
		r := ask(h, "GET", "/a.wasm", map[string]string{"Accept-Encoding": accept})
		assert.Equal(t, want, r.Header.Get("Content-Encoding"), accept)
		content := body(t, r)
		switch want {
		case "br":
			content, _ = io.ReadAll(brotli.NewReader(bytes.NewReader(content)))
		case "gzip":
			g, err := gzip.NewReader(bytes.NewReader(content))
			require.NoError(t, err)
			content, _ = io.ReadAll(g)
		}
		assert.Equal(t, "program", string(content), accept)
		assert.Equal(t, "Accept-Encoding", r.Header.Get("Vary"))
		again := ask(h, "GET", "/a.wasm", map[string]string{"Accept-Encoding": accept, "If-None-Match": r.Header.Get("ETag")})
		assert.Equal(t, http.StatusNotModified, again.StatusCode, accept)
	}
	plain, brotlied := ask(h, "GET", "/a.wasm", nil), ask(h, "GET", "/a.wasm", map[string]string{"Accept-Encoding": "br"})
	assert.NotEqual(t, plain.Header.Get("ETag"), brotlied.Header.Get("ETag"), "two representations, two tags")
}

// Programs and weights have addresses that name their content, which caches keep. Another version's
// address is not found, and what the page is read from has no such address.
func TestHashedAddresses(t *testing.T) {
	h := testHandler(t)
	of := func(name, content string) string {
		return fmt.Sprintf("/v/%x%s", sha256.Sum256([]byte(content)), name)[:len("/v/")+24] + name
	}
	for name, content := range map[string]string{"/a.wasm": "program", "/weights/m.safetensors": "\x01\x02\x03"} {
		plain, hashed := ask(h, "GET", name, nil), ask(h, "GET", of(name, content), nil)
		assert.Equal(t, "no-cache", plain.Header.Get("Cache-Control"), name)
		assert.Equal(t, "public, max-age=31536000, immutable", hashed.Header.Get("Cache-Control"), name)
		assert.Equal(t, content, string(body(t, hashed)), name)
		assert.Equal(t, plain.Header.Get("ETag"), hashed.Header.Get("ETag"), name)
		assert.Equal(t, plain.Header.Get("Content-Type"), hashed.Header.Get("Content-Type"), name)
	}
	packed := ask(h, "GET", of("/a.wasm", "program"), map[string]string{"Accept-Encoding": "br"})
	assert.Equal(t, "br", packed.Header.Get("Content-Encoding"))
	assert.Equal(t, "Accept-Encoding", packed.Header.Get("Vary"))
	for _, path := range []string{
		of("/a.wasm", "other"), of("/a.wasm", "program") + ".br", of("/b.js", "1"), of("/index.html", "<!doctype html>"), of("/", "<!doctype html>"),
		of("/a.wasm", "program")[:20] + "/a.wasm", "/v/" + of("/a.wasm", "program"),
	} {
		r := ask(h, "GET", path, nil)
		assert.Equal(t, 404, r.StatusCode, path)
		assert.Equal(t, "no-store", r.Header.Get("Cache-Control"), path)
	}
}

// A download goes on where it broke off, of each representation and at each address, through a real
// server, which checks the length.
func TestRanges(t *testing.T) {
	h := testHandler(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "127.0.0.1:8080"
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	get := func(path string, header map[string]string) (*http.Response, []byte) {
		r, err := http.NewRequest("GET", server.URL+path, nil)
		require.NoError(t, err)
		for key, value := range header {
			r.Header.Set(key, value)
		}
		answer, err := server.Client().Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		return answer, body(t, answer)
	}
	hashed := fmt.Sprintf("/v/%.12x/a.wasm", sha256.Sum256([]byte("program")))
	for _, path := range []string{"/a.wasm", hashed} {
		for _, coding := range []string{"identity", "gzip", "br"} {
			whole, content := get(path, map[string]string{"Accept-Encoding": coding})
			assert.Equal(t, "bytes", whole.Header.Get("Accept-Ranges"))
			part, rest := get(path, map[string]string{"Accept-Encoding": coding, "Range": "bytes=2-5", "If-Range": whole.Header.Get("ETag")})
			assert.Equal(t, http.StatusPartialContent, part.StatusCode, path+" "+coding)
			assert.Equal(t, content[2:6], rest, path+" "+coding)
			assert.EqualValues(t, 4, part.ContentLength)
			changed, all := get(path, map[string]string{"Accept-Encoding": coding, "Range": "bytes=2-5", "If-Range": `"other"`})
			assert.Equal(t, 200, changed.StatusCode, "another version: from the start")
			assert.Equal(t, content, all)
			beyond, _ := get(path, map[string]string{"Accept-Encoding": coding, "Range": "bytes=1000-"})
			assert.Equal(t, http.StatusRequestedRangeNotSatisfiable, beyond.StatusCode)
			assert.Equal(t, "no-store", beyond.Header.Get("Cache-Control"), path+" "+coding)
		}
	}
}

func TestUnknownKindsAreRefused(t *testing.T) {
	_, err := Handler(fstest.MapFS{"index.html": {}, "x.exe": {}}, nil, nil)
	assert.ErrorContains(t, err, "x.exe")
	_, err = Handler(fstest.MapFS{}, nil, nil)
	assert.ErrorIs(t, err, ErrNotBuilt)
}
