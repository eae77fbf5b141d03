package site

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/weights"
)

// hashedAddress is the address of a built file, or of a shipped model, by its content.
func hashedAddress(t *testing.T, name string) string {
	t.Helper()
	for _, entry := range weights.Shipped().Models {
		if name == "weights/"+entry.File {
			return "/v/" + entry.SHA256[:24] + "/" + name
		}
	}
	return fmt.Sprintf("/v/%.12x/%s", sha256.Sum256(readBuilt(t, name)), name)
}

// What addresses.js and sw.js have of the heavy files is what the site serves.
func TestAddressesOfThisVersion(t *testing.T) {
	h, err := Handler(built(t, nil), shippedFiles(t), []string{"127.0.0.1:8080"})
	require.NoError(t, err)
	names := []string{"viewer.wasm", "segmenter.wasm"}
	for _, entry := range weights.Shipped().Models {
		names = append(names, "weights/"+entry.File)
	}
	script, worker := string(readBuilt(t, "addresses.js")), string(readBuilt(t, "sw.js"))
	assert.NotContains(t, script, "/*SUMS*/")
	for _, name := range names {
		address := hashedAddress(t, name)
		r := ask(h, "GET", address, nil)
		assert.Equal(t, 200, r.StatusCode, address)
		line := fmt.Sprintf("%q: \"%x\"", name, sha256.Sum256(body(t, r)))
		assert.Contains(t, script, line)
		assert.Contains(t, worker, line)
	}
}

// A page that was opened before a newer version came has its own version's viewer or none: it shows
// the photograph without WebGL.
func TestOldPageTakesNoNewViewer(t *testing.T) {
	s := drawn(t)
	newer, err := Handler(built(t, map[string][]byte{"viewer.wasm": []byte("of another version")}), nil, []string{strings.Trim(s.URL[len("http://"):], "/")})
	require.NoError(t, err)
	var now atomic.Pointer[http.Handler]
	older := s.http.Handler
	now.Store(&older)
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) })
	p := open(t, s, 900, 700)
	p.ready()
	now.Store(&newer)
	p.do(`globalThis.said = [], console.info = (...words) => { said.push(words.join(" ")); }`)
	p.sample()
	p.until(`said.some((line) => line.startsWith("the photograph is drawn without WebGL: "))`)
	p.until(`document.getElementById("banner").innerText.includes("viewer.wasm did not come as it was published")`)
	p.until(colours + ` > 1000`)
	assert.False(t, get[bool](p, `"mrprismViewer" in globalThis`))
}

// Hosts that know names alone, such as one that serves the folder site/dist, have the whole page,
// also for use without a network.
func TestHostsWithoutHashedAddresses(t *testing.T) {
	s := serve(t, built(t, nil), shippedFiles(t))
	s.wishes = "?device=processor"
	var mu sync.Mutex
	var refused []string
	inner := s.http.Handler
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v/") {
			inner.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		refused = append(refused, r.URL.Path)
		http.NotFound(w, r)
	})
	p := open(t, s, 900, 700)
	p.ready()
	p.sample()
	p.viewed()
	kept := get[[]string](p, `import("./versions.js").then(({ keepModels }) => keepModels(["cells"])).then(({ kept }) => kept.toSorted())`)
	assert.Equal(t, []string{"cells", "fundus"}, kept)
	mu.Lock()
	defer mu.Unlock()
	for _, name := range []string{"segmenter.wasm", "viewer.wasm", "weights/fundus.safetensors", "weights/cells.safetensors"} {
		assert.Contains(t, refused, hashedAddress(t, name))
	}
}
