package site

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const memory = `performance.measureUserAgentSpecificMemory().then(({ bytes }) => bytes)`

// multiplied writes a session of n images, each with the work on the one image of a session that
// the page saved. The images differ in a few bytes after their end.
func multiplied(t *testing.T, path string, saved []byte, n int, grader string, images bool) {
	t.Helper()
	files, session := unpacked(t, saved)
	out, err := os.Create(path)
	require.NoError(t, err)
	w := zip.NewWriter(out)
	add := func(name string, method uint16, data []byte) {
		if method == zip.Deflate {
			f, err := w.Create(name)
			require.NoError(t, err)
			_, err = f.Write(data)
			require.NoError(t, err)
			return
		}
		size := uint64(len(data)) // before the file, as the page writes it
		f, err := w.CreateRaw(&zip.FileHeader{Name: name, CRC32: crc32.ChecksumIEEE(data), CompressedSize64: size, UncompressedSize64: size})
		require.NoError(t, err)
		_, err = f.Write(data)
		require.NoError(t, err)
	}
	var photograph []byte
	photograph = files["images/"+session["readings"].([]any)[0].(map[string]any)["image"].(map[string]any)["sha256"].(string)+".jpg"]
	one, err := json.Marshal(session["readings"].([]any)[0])
	require.NoError(t, err)
	photograph = append(bytes.Clone(photograph), make([]byte, 350_000-len(photograph))...) // as large as a photograph of an eye
	var readings []any
	var pictures []func()
	for i := range n {
		var reading map[string]any
		require.NoError(t, json.Unmarshal(one, &reading))
		data := fmt.Appendf(bytes.Clone(photograph), "%d", i)
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		image := reading["image"].(map[string]any)
		image["sha256"], image["bytes"], image["name"] = sum, len(data), fmt.Sprintf("eye-%03d.jpg", i)
		for _, kind := range []string{"drawn", "masks"} {
			for k, each := range reading[kind].([]any) {
				file, name := each.(map[string]any), fmt.Sprintf("%s/%d_%d.png", kind, i+1, k+1)
				if kind == "drawn" { // each person draws elsewhere
					file["x"] = file["x"].(float64) - float64(i%7+9*int(grader[0]-'A'))
				}
				add(name, zip.Store, files[file["file"].(string)])
				file["file"] = name
			}
		}
		if images {
			pictures = append(pictures, func() { add("images/"+sum+".jpg", zip.Store, data) })
		}
		readings = append(readings, reading)
	}
	session["readings"], session["grader"], session["id"], session["at"] = readings, grader, "id-"+grader, 0
	delete(session, "log")
	for _, picture := range pictures {
		picture()
	}
	text, err := json.Marshal(session)
	require.NoError(t, err)
	add("session.json", zip.Deflate, text)
	require.NoError(t, w.Close())
	info, err := out.Stat()
	require.NoError(t, err)
	t.Logf("%s: %d images, %.1f MB, of it %.1f MB session.json", filepath.Base(path), n, float64(info.Size())/1e6, float64(len(text))/1e6)
	require.NoError(t, out.Close())
}

// drew is the session of a page in which a person accepted one photograph of a megapixel by the
// fundus weights, after a stroke on its disc.
func drew(t *testing.T, s *server) []byte {
	p := open(t, s, 1200, 800)
	p.ready()
	p.saving()
	p.upload("file", photographs(t, 2, 1152, 868)...)
	p.allComputed()
	p.click("correct-start")
	p.press(" ", false)
	p.until(`document.getElementById("correct-line").textContent.includes("Corrected by hand: disc.")`)
	p.press("Escape", false)
	p.said("000.jpg", "corrected")
	p.press("a", false)
	p.said("000.jpg", "accepted")
	p.click("session-images")
	data := p.sessionOf()
	p.clean()
	return data
}

// TestLargeSessions measures sessions of 500 images, or of as many as MRPRISM_LIST says: until the
// list is there, until the first image is shown, memory, and what three graders take together.
func TestLargeSessions(t *testing.T) {
	if os.Getenv("MRPRISM_LARGE") == "" {
		t.Skip("MRPRISM_LARGE is not set: this takes minutes")
	}
	n := 500
	if text := os.Getenv("MRPRISM_LIST"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	_, files := shippedModel(t, "fundus")
	script := strings.Replace(string(readBuilt(t, "vectors.js")), "MOST = 7", "MOST = 0", 1) // withoutThreads says why
	s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper, "vectors.js": []byte(script)}), files)
	s.wishes = "?device=processor"
	saved, folder := drew(t, s), t.TempDir()
	for _, images := range []bool{false, true} {
		t.Run(fmt.Sprintf("images %v", images), func(t *testing.T) {
			path := filepath.Join(folder, fmt.Sprintf("images-%v.mrprism", images))
			multiplied(t, path, saved, n, "EM", images)
			p := open(t, s, 1200, 800, eagerly)
			p.ready()
			used := func(when string) {
				bytes := get[float64](p, memory)
				t.Logf("%s: %.1f MB in the page and its workers", when, bytes/1e6)
				assert.Less(t, bytes, 300e6)
			}
			used("before")
			p.do(`addEventListener("change", () => {
				const start = performance.now(), look = (what, is) => is() ? requestAnimationFrame(() => { times[what] = Math.round(performance.now() - start); }) : setTimeout(look, 4, what, is);
				globalThis.times = {};
				look("list", () => document.querySelectorAll("#work-lines [role=option]").length === ` + strconv.Itoa(n) + `);
				look("outlines", () => document.getElementById("file-line").textContent.startsWith("eye-000") && ` + sampleDone + `);
			}, { capture: true })`)
			p.upload("session-file", path)
			p.until(`globalThis.times?.list`)
			if images {
				p.until(`times.outlines`)
			}
			t.Log("ms: ", get[map[string]float64](p, `times`))
			assert.Contains(t, p.lines()[n-1], fmt.Sprintf("eye-%03d.jpg, accepted, ", n-1))
			if !images {
				assert.Contains(t, p.text("banner-next"), fmt.Sprintf("%d images are not attached.", n))
			}
			used("after")
			p.clean()
		})
	}
	t.Run("graders", func(t *testing.T) {
		var paths []string
		for i, grader := range []string{"Ann", "Ben", "Eve"} {
			paths = append(paths, filepath.Join(folder, grader+".mrprism"))
			multiplied(t, paths[i], saved, n, grader, i == 0)
		}
		p := open(t, s, 1200, 800, eagerly)
		p.ready()
		p.click("together-open")
		p.until(`document.getElementById("together")?.open`)
		require.Eventually(t, func() bool { // the page compiles the program while a person chooses files
			s.mu.Lock()
			defer s.mu.Unlock()
			return slices.ContainsFunc(s.requests, func(asked string) bool { return strings.HasSuffix(asked, "/together.wasm") })
		}, time.Minute, 10*time.Millisecond)
		p.do(`document.querySelector("#together input").addEventListener("change", () => {
			const start = performance.now(), look = (what, is) => is() ? requestAnimationFrame(() => { times[what] = Math.round(performance.now() - start); }) : setTimeout(look, 4, what, is);
			globalThis.times = {};
			look("list", () => document.querySelector("#together select[size]")?.length === ` + strconv.Itoa(n) + `);
			look("image", () => document.querySelector("#together label.check"));
			look("first table", () => document.querySelector("#together tbody tr td + td + td")?.textContent);
			look("agreement", () => document.querySelector("#together [role=status]").textContent === "Ready.");
		}, { capture: true })`)
		p.upload("together input[type=file]", paths...)
		used := func(when string) {
			bytes := get[float64](p, memory)
			t.Logf("%s: %.1f MB in the page and its workers", when, bytes/1e6)
			assert.Less(t, bytes, 300e6)
		}
		p.until(`globalThis.times?.list`)
		used("with the list")
		p.until(`globalThis.times?.agreement`)
		times := get[map[string]float64](p, `times`)
		t.Log("ms: ", times)
		used("with the agreement")
		assert.Less(t, times["list"], 3000., "2,000 with a training beside it")
		assert.Less(t, times["agreement"], 120.*float64(n), "35 an image with a training beside it")
		assert.Contains(t, get[string](p, `document.getElementById("together").innerText`), fmt.Sprintf("Agreement in %d images", n))

		if n < 200 {
			return // too few to stop
		}
		// Files that are added begin all anew. Stopped, it has the figures of the images until then.
		stops := func(when string) {
			p.until(`document.querySelector("#together [role=status]").textContent.startsWith("` + when + `")`)
			p.do(`[...document.querySelectorAll("#together button")].find((one) => one.textContent === "Stop").click()`)
			p.until(`document.querySelector("#together [role=status]").textContent === "Stopped."`)
		}
		p.upload("together input[type=file]", paths[0])
		p.until(`document.querySelector("#together tbody tr td + td + td")?.textContent`)
		stops("Comparing: ")
		assert.NotContains(t, get[string](p, `document.getElementById("together").innerText`), fmt.Sprintf("Agreement in %d images", n))
		p.do(`[...document.querySelectorAll("#together button")].find((one) => one.textContent === "Save as data set").click()`)
		stops("Writing the data set: ")
		used("stopped while the data set was written")
		p.clean()
	})
}
