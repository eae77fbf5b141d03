package site

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every script that a page or a worker may run, and every style and program, has a sum that a
// browser or the page compares before: of index.html, build.js, or addresses.js.
func TestEveryScriptHasASum(t *testing.T) {
	imported := regexp.MustCompile(`\bimport\b[^"';]*["']\./([^"']+)["']`)
	var reach func(known []string, name string) []string
	reach = func(known []string, name string) []string {
		if slices.Contains(known, name) {
			return known
		}
		known = append(known, name)
		for _, found := range imported.FindAllSubmatch(readBuilt(t, name), -1) {
			known = reach(known, string(found[1]))
		}
		return known
	}
	page := string(readBuilt(t, "index.html"))
	assert.Len(t, regexp.MustCompile(`<script|<style`).FindAllString(page, -1), 4, "every script is one that has a source")
	var ofPage []string
	for _, found := range regexp.MustCompile(`<(?:script|link)[^>]* (?:src|href)="([^"]+\.(?:js|css))"`).FindAllStringSubmatch(page, -1) {
		ofPage = reach(ofPage, found[1])
	}
	require.Contains(t, ofPage, "state.js")
	for _, name := range ofPage {
		sum := sha256.Sum256(readBuilt(t, name))
		named := fmt.Sprintf(`="%s" integrity="sha256-%s"`, name, base64.StdEncoding.EncodeToString(sum[:]))
		assert.Contains(t, page, named, "%s: its place is before the first script", name)
		assert.NotContains(t, strings.Split(page, "<script")[0], "<body", "modules are asked for by integrity before a script imports them")
	}
	holds := func(holder, name string) {
		assert.Contains(t, string(readBuilt(t, holder)), fmt.Sprintf(`"%s": "%x"`, name, sha256.Sum256(readBuilt(t, name))), holder)
	}
	for _, name := range reach(nil, "worker.js") {
		holds("build.js", name)
		holds("sw.js", name)
	}
	for later, wants := range map[string]string{"sessions.js": "page.js", "ahead.js": "work.js"} {
		for _, name := range reach(slices.Clone(ofPage), later)[len(ofPage):] {
			holds("addresses.js", name)
			holds("sw.js", name)
			assert.Contains(t, string(readBuilt(t, wants)), `"`+name+`"`, "what is wanted with "+later)
		}
	}
	for _, name := range []string{"learn.js", "trainer.js", "opfs.js", "together.js", "de.together.json"} { // wanted later
		holds("addresses.js", name)
		holds("sw.js", name)
	}
	programs, err := fs.Glob(built(t, nil), "*.wasm")
	require.NoError(t, err)
	for _, name := range programs {
		holds("addresses.js", name)
	}
}

// damaging is a site whose answers damage changes: it returns the bytes and the status to send, and
// caches keep them for a year. The index and sw.js, which no browser can check, come as they are.
func damaging(t *testing.T, damage func(name string, content []byte) ([]byte, int)) *server {
	s := serve(t, built(t, nil), shippedFiles(t))
	s.wishes = "?device=processor"
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		if r.Header.Del("Accept-Encoding"); path.Ext(name) == "" || name == "index.html" || name == "sw.js" {
			s.inner.ServeHTTP(w, r)
			return
		}
		plain := httptest.NewRecorder()
		s.inner.ServeHTTP(plain, r)
		content, status := damage(name, plain.Body.Bytes())
		for key, values := range plain.Header() {
			w.Header()[key] = values
		}
		if plain.Code != http.StatusOK || status == 0 {
			content, status = plain.Body.Bytes(), plain.Code
		} else {
			w.Header().Set("Cache-Control", immutable)
			w.Header().Del("Content-Length")
		}
		w.WriteHeader(status)
		w.Write(content)
	})
	return s
}

// flipped is content with one bit changed in its middle.
func flipped(content []byte) []byte {
	content = slices.Clone(content)
	content[len(content)/2] ^= 1
	return content
}

// A file with a changed bit does not run. The page names it, in both languages where speak.js may
// be the one, and computes nothing.
func TestChangedFilesAreNamed(t *testing.T) {
	t.Parallel()
	const onPlainHTTP = `Object.defineProperty(navigator, "serviceWorker", { value: undefined });`
	for _, c := range []struct{ name, says, before string }{
		{"intact.js", "changed", ""}, {"speak.js", "changed", ""}, {"colours.js", "changed", ""}, {"style.css", "changed", ""},
		{"worker.js", "banner", ""}, {"gpu.js", "banner", ""}, {"gpu.js", "banner", onPlainHTTP}, {"segmenter.wasm", "banner", ""},
	} {
		name, says := c.name, c.says
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := damaging(t, func(is string, content []byte) ([]byte, int) {
				if is != name {
					return nil, 0
				}
				return flipped(content), http.StatusOK
			})
			s.before = c.before
			p := open(t, s, 900, 700)
			p.until(fmt.Sprintf(`!document.getElementById(%[1]q).hidden && document.getElementById(%[1]q).innerText.includes("%[2]s did not come as it was published, and was not used.")`, says, name))
			if says == "changed" {
				assert.Contains(t, p.text(says), name+" kam nicht so an, wie es veröffentlicht wurde")
			}
			if name == "style.css" {
				p.ready() // nothing of it runs
				return
			}
			p.still()
			assert.False(t, get[bool](p, `document.getElementById("model")?.disabled === false`), "nothing computes")
		})
	}
}

// Each file comes damaged once, in one of four ways, and caches keep that for a year. One more
// visit of the same browser works all the same.
func TestDamageHeals(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]bool{}
	s := damaging(t, func(name string, content []byte) ([]byte, int) {
		mu.Lock()
		defer mu.Unlock()
		if seen[name] {
			return nil, 0
		}
		seen[name] = true
		switch len(seen) % 4 {
		case 0:
			return content[:len(content)/2], http.StatusOK
		case 1:
			return flipped(content), http.StatusOK
		case 2:
			return []byte("<!doctype html><p>Sign in to this network"), http.StatusOK
		}
		return []byte("not found"), http.StatusNotFound
	})
	p := open(t, s, 900, 700)
	p.ready()
	p.sample()
	p.until(sampleDone)
	p.viewed()
	p.do(keptWhole)
	assert.Contains(t, seen, "fundus.safetensors")
	assert.Contains(t, seen, "manifest.webmanifest")
}
