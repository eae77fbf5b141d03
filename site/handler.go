package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// types are the MIME types of everything that the site contains. Handler refuses other files.
var types = map[string]string{
	".html":        "text/html; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".webmanifest": "application/manifest+json",
	".wasm":        "application/wasm",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".jpg":         "image/jpeg",
	".ttf":         "font/ttf",
	".txt":         "text/plain; charset=utf-8",
	".md":          "text/plain; charset=utf-8",
	".safetensors": "application/octet-stream",
}

// file is one address: its bytes as they are and, where they were built, compressed.
type file struct {
	mime      string
	tag       string // of the uncompressed bytes
	encodings map[string][]byte
}

type handler struct {
	files   map[string]*file
	hosts   map[string]bool
	mounted map[string]http.Handler // by the beginning of the path
}

// Handler serves exactly the files of site under / and those of weights, by name, under /weights/,
// to requests whose Host is one of hosts. Files NAME.br and NAME.gz are the compressed forms of
// NAME. Programs and weights also have addresses that name their content, see hashed. It lists
// nothing, and reads nothing from disk later.
func Handler(site fs.FS, weights map[string][]byte, hosts []string) (http.Handler, error) {
	h := &handler{files: map[string]*file{}, hosts: map[string]bool{}, mounted: map[string]http.Handler{}}
	for _, host := range hosts {
		h.hosts[strings.ToLower(host)] = true
	}
	err := fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), ".") {
			return err
		}
		content, err := fs.ReadFile(site, name)
		if err != nil {
			return err
		}
		return h.add("/"+name, content)
	})
	if err != nil {
		return nil, err
	}
	if err := h.add("/weights/served.json", []byte(`{"models":[]}`)); err != nil { // unless weights has it: none but those that ship
		return nil, err
	}
	for name, content := range weights {
		if err := h.add("/weights/"+name, content); err != nil {
			return nil, err
		}
	}
	if h.files["/"] = h.files["/index.html"]; h.files["/"] == nil {
		return nil, ErrNotBuilt
	}
	return h, nil
}

// Mount has inner answer below a path, which ends in "/". h is of Handler, and checks each request
// before inner has it: nothing that may change something comes from pages of other sites.
func Mount(h http.Handler, below string, inner http.Handler) { h.(*handler).mounted[below] = inner }

func (h *handler) add(address string, content []byte) error {
	base, encoding := address, "identity"
	switch path.Ext(address) {
	case ".br":
		base, encoding = strings.TrimSuffix(address, ".br"), "br"
	case ".gz":
		base, encoding = strings.TrimSuffix(address, ".gz"), "gzip"
	}
	mime, ok := types[path.Ext(base)]
	if !ok {
		return fmt.Errorf("site: no MIME type is known for %s", base)
	}
	f := h.files[base]
	if f == nil {
		f = &file{mime: mime, encodings: map[string][]byte{}}
		h.files[base] = f
	}
	f.encodings[encoding] = content
	if encoding == "identity" {
		sum := sha256.Sum256(content)
		f.tag = hex.EncodeToString(sum[:12])
	}
	return nil
}

// ServeHTTP answers GET and HEAD for known addresses only.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", Policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Embedder-Policy", "require-corp")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), usb=(), payment=()")
	// Errors stay in no cache: behind one, the next request may reach a server of another version.
	header.Set("Cache-Control", "no-store")
	if !h.hosts[strings.ToLower(r.Host)] {
		// Another name that resolves here (DNS rebinding) must not reach the site.
		http.Error(w, "This address is not served here.", http.StatusMisdirectedRequest)
		return
	}
	for below, inner := range h.mounted {
		if !strings.HasPrefix(r.URL.Path, below) {
			continue
		}
		if http.NewCrossOriginProtection().Check(r) != nil {
			http.Error(w, "Only a page of this site may send this.", http.StatusForbidden)
		} else {
			inner.ServeHTTP(w, r)
		}
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "Only GET is allowed.", http.StatusMethodNotAllowed)
		return
	}
	f, caching := h.find(r.URL.Path)
	if f == nil || f.encodings["identity"] == nil {
		http.Error(w, "Not found.", http.StatusNotFound)
		return
	}
	encoding := chooseEncoding(r.Header.Get("Accept-Encoding"), f)
	content := f.encodings[encoding]
	tag := `"` + f.tag + "-" + encoding + `"`
	header.Set("Content-Type", f.mime)
	header.Set("Vary", "Accept-Encoding")
	header.Set("ETag", tag)
	header.Set("Cache-Control", caching)
	if encoding != "identity" {
		header.Set("Content-Encoding", encoding)
		header.Set("Content-Length", strconv.Itoa(len(content))) // ServeContent sets that of the others
	}
	http.ServeContent(errorsUnkept{w}, r, "", time.Time{}, bytes.NewReader(content))
}

// errorsUnkept says no-store of errors. ServeContent takes Cache-Control away before it sends one.
type errorsUnkept struct{ http.ResponseWriter }

func (w errorsUnkept) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Browsers and CDNs keep a file and ask about it each time, so that the page is always of one
// version. They keep what is asked for by its content, and do not ask again.
const (
	asking    = "no-cache"
	immutable = "public, max-age=31536000, immutable"
)

// hashed is an address that names its content, of the heavy files alone: the first 24 hexadecimal
// digits of its SHA-256, and the file's name. addresses.js makes such addresses.
var hashed = regexp.MustCompile(`^/v/([0-9a-f]{24})(/.+\.(?:wasm|safetensors))$`)

// find is the file at an address, nil for none, and what caches may do with it.
func (h *handler) find(address string) (f *file, caching string) {
	parts := hashed.FindStringSubmatch(address)
	if parts == nil {
		return h.files[address], asking
	}
	if f = h.files[parts[2]]; f == nil || f.tag != parts[1] {
		return nil, ""
	}
	return f, immutable
}

// chooseEncoding takes brotli before gzip where the client accepts it (no q=0) and it was built.
func chooseEncoding(accept string, f *file) string {
	codings := strings.Split(strings.ToLower(strings.ReplaceAll(accept, " ", "")), ",")
	for _, name := range []string{"br", "gzip"} {
		accepted := slices.ContainsFunc(codings, func(coding string) bool {
			is, quality, _ := strings.Cut(coding, ";q=")
			value, err := strconv.ParseFloat(quality, 64)
			return is == name && (err != nil || value > 0)
		})
		if accepted && f.encodings[name] != nil {
			return name
		}
	}
	return "identity"
}

// Hosts lists the Host headers by which a listener at address may be reached: its own, for a loopback
// address the usual names of this machine, and other names of this machine.
func Hosts(address net.Addr, others ...string) []string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return []string{address.String()}
	}
	names := append([]string{host}, others...)
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		names = append(names, "127.0.0.1", "localhost", "::1")
	}
	var hosts []string
	for _, name := range names {
		hosts = append(hosts, net.JoinHostPort(name, port))
		if port == "80" || port == "443" {
			// JoinHostPort adds the brackets of IPv6.
			hosts = append(hosts, strings.TrimSuffix(net.JoinHostPort(name, ""), ":"))
		}
	}
	return hosts
}
