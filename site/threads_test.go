package site

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The processor computes the same to the bit with threads, without, and with threads that die. The
// page has them where it is isolated, and memory of the program's own where the engine shares none.
func TestThreadsOfThePage(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("worker/vectors.js")
	require.NoError(t, err)
	_, files := shippedModel(t, "fundus")
	var want string
	for _, c := range []struct {
		name, old, new string
		threads        bool
		alone          bool // not isolated
	}{
		{name: "as it is", threads: true},
		{name: "one thread", old: "MOST = 7", new: "MOST = 0"},
		{name: "threads that fail at once", old: "for (Atomics.add(n, READY, 1); ;) {", new: "Atomics.add(n, READY, 1); board.take(); for (;;) { throw new Error();", threads: true},
		{name: "threads that never end a piece", old: "board.compute(slot, instances", new: "Atomics.wait(n, READY, Atomics.load(n, READY)); board.compute(slot, instances", threads: true},
		{name: "not isolated", alone: true},
		{name: "an engine that shares nothing", old: "instantiateStreaming(get(address)", new: "instantiateStreaming(0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := string(data)
			if c.old != "" {
				require.Contains(t, script, c.old)
				script = strings.ReplaceAll(script, c.old, c.new)
			}
			s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper, "vectors.js": []byte(script)}), files)
			if c.alone {
				handler := s.http.Handler
				s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(notIsolated{w}, r) })
			}
			s.wishes = "?device=processor"
			p := open(t, s, 900, 700)
			p.ready()
			got := get[string](p, `(async () => {
				const image = new File([await (await fetch("sample.jpg")).arrayBuffer()], "sample.jpg");
				let text = "";
				for (let i = 0; i < 2; i++) { // threads are ready for the second at the latest
					const r = await mrprism.segment(image, { model: "fundus", recurrences: 0, roi: "0,0,600" });
					const sum = await crypto.subtle.digest("SHA-256", await r.probability(0));
					text += new Uint8Array(sum).toHex?.() ?? [...new Uint8Array(sum)].join();
				}
				return text;
			})()`)
			if want == "" {
				want = got
			}
			assert.Equal(t, want, got)
			assert.Equal(t, want[:len(want)/2], want[len(want)/2:])
			s.mu.Lock()
			defer s.mu.Unlock()
			asked := slices.DeleteFunc(slices.Clone(s.requests), func(r string) bool { return r != "GET /vectors.js" })
			helpers := 0
			if c.threads {
				helpers = min(get[int](p, `navigator.hardwareConcurrency`)-1, 7)
			}
			assert.Len(t, asked, 1+helpers)
		})
	}
}

// notIsolated leaves out the header that isolates a page.
type notIsolated struct{ http.ResponseWriter }

func (w notIsolated) WriteHeader(code int) {
	w.Header().Del("Cross-Origin-Opener-Policy")
	w.ResponseWriter.WriteHeader(code)
}

func (w notIsolated) Write(p []byte) (int, error) {
	w.Header().Del("Cross-Origin-Opener-Policy")
	return w.ResponseWriter.Write(p)
}
