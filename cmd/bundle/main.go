// Command bundle builds site/dist from the page's sources and the WebAssembly programs beside them.
// It copies the files, draws the sample photograph, and compresses. It fills in addresses.js (sums
// of programs and models), build.js (version, limits of the models, sums of the worker's scripts),
// index.html (policy, modules, and the sum of each script and style as its integrity) and sw.js
// (all sums and their version), in this order: no two files have each other's sum. With -size it
// prints what a first visit downloads, and fails above the limits. Its argument, if there is one,
// is the file mrprism-VERSION.tgz, the package of npm, which it makes of the page. site.mk runs it
// in the repository root.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image/jpeg"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"

	"mrprism/internal/data/synthetic"
	"mrprism/shaders/gpu/sharing"
	"mrprism/site"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// Limits on what a first visit downloads, bytes after gzip; weights do not compress. Browsers with
// brotli download a quarter less, but brotli's size jumps by 1 % when one function moves.
const (
	programLimit  = 5_430_000
	decoderLimit  = 280_000    // of JPEG 2000, HTJ2K and JPEG-LS in all
	trainerLimit  = 3_520_000  // of the program that learns, with its scripts
	togetherLimit = 3_000_000  // of the program that compares and fuses people's marks, with its scripts
	pdfLimit      = 145_000    // of what makes a PDF of the report, with its fonts
	weightsLimit  = 7_000_000  // each model
	firstLimit    = 12_850_000 // all files of the page, and one model
)

// cards is the folder of the model cards.
var cards = filepath.Join("weights", "shipped")

// The sample is as large as an ordinary fundus camera's picture: it shows the whole way from a
// photograph to its region.
const (
	sampleSeed                = 11
	sampleWidth, sampleHeight = 1536, 1152
	sampleQuality             = 90
)

// programFiles are the WebAssembly programs, which stand in site/dist already. The memory of all
// but the first is shared with threads (site/worker/vectors.js).
var programFiles = []string{"viewer.wasm", "segmenter.wasm", "trainer.wasm", "together.wasm"}

// learning are the files by which the page learns. They are fetched when they are wanted, and kept
// once they are used.
var learning = []string{"trainer.wasm", "trainer.js", "opfs.js", "learn.js"}

// together are the files by which the page brings several people's marks together, beside those of
// learning.
var together = []string{"together.wasm", "together.js", "de.together.json"}

// fields are the files by which the page finds many objects.
var fields = []string{"field.js", "cells.js", "de.field.json"}

// printing are the files by which the page makes a PDF: it embeds the fonts.
var printing = []string{"pdf.js", "go-regular.ttf", "go-bold.ttf"}

// archiving are the files by which the page sends results to an archive.
var archiving = []string{"archive.js", "de.archive.json"}

// later reports whether a file is fetched when it is wanted, and kept once it is used.
func later(name string) bool {
	return isCodec(name) || slices.Contains(learning, name) || slices.Contains(fields, name) || slices.Contains(archiving, name) || isTogether(name) || isPrinting(name)
}

func isPrinting(name string) bool { return slices.Contains(printing, name) }

func isTogether(name string) bool { return slices.Contains(together, name) }

// sources are the kinds of the page's own files in site/.
var sources = []string{".html", ".css", ".js", ".json", ".webmanifest", ".svg"}

func main() {
	size := flag.Bool("size", false, "print the download sizes and fail above the limits")
	quality := flag.Int("quality", 10, "brotli `quality`, 0 to 11: 9 is 10 % larger and takes seconds, 11 is 3 % smaller and takes a minute")
	commit := flag.String("commit", "", "the `version` that reports name, beside a hash over the files")
	flag.Parse()
	err := bundle("site", filepath.Join("site", "dist"), codecsFolder, *commit, *quality)
	if err == nil && *size {
		err = checkSize(filepath.Join("site", "dist"), os.Stdout)
	}
	if err == nil && flag.NArg() == 1 {
		err = pack(filepath.Join("site", "dist"), flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func bundle(from, to, codecs, commit string, quality int) error {
	files, err := readSources(from)
	if err != nil {
		return err
	}
	if files["wasm_exec.js"], err = os.ReadFile(filepath.Join(runtime.GOROOT(), "lib", "wasm", "wasm_exec.js")); err != nil {
		return fmt.Errorf("Go's wasm_exec.js: %w", err)
	}
	for _, name := range programFiles {
		if files[name], err = os.ReadFile(filepath.Join(to, name)); err != nil {
			return fmt.Errorf("%w: run `make site`", err)
		}
	}
	files["go-regular.ttf"], files["go-bold.ttf"] = goregular.TTF, gobold.TTF
	for _, name := range programFiles[1:] {
		if files[name], err = sharing.Share(files[name]); err != nil {
			return err
		}
	}
	if err := addCodecs(files, codecs); err != nil {
		return err
	}
	var sample bytes.Buffer
	photograph := synthetic.Photograph(sampleSeed, sampleWidth, sampleHeight)
	if err := jpeg.Encode(&sample, photograph, &jpeg.Options{Quality: sampleQuality}); err != nil {
		return err
	}
	files["sample.jpg"] = sample.Bytes()
	cards, err := limitsOf(filepath.Join(from, "..", "weights", "shipped"))
	if err != nil {
		return err
	}
	is := version(commit, files)
	if files["addresses.js"], err = addresses(files); err != nil {
		return err
	}
	scripts, err := sumsOf(files, modules(files, "worker.js"))
	if err != nil {
		return err
	}
	about := strings.NewReplacer("/*LIMITS*/ {}", cards, "/*VERSION*/", is, "/*SCRIPTS*/ {}", scripts)
	files["build.js"] = []byte(about.Replace(string(files["build.js"])))
	// frame-ancestors has no meaning in a meta element; the handler sends it.
	policy := strings.Replace(site.Policy, "frame-ancestors 'none'; ", "", 1)
	page := strings.NewReplacer("{{policy}}", policy, "{{modules}}", preloads(files)).Replace(string(files["index.html"]))
	if files["index.html"], err = withIntegrity(page, files); err != nil {
		return err
	}
	if files["sw.js"], err = serviceWorker(files); err != nil {
		return err
	}
	written := make(chan error, len(files))
	for name, content := range files {
		go func() { written <- write(filepath.Join(to, name), content, quality) }()
	}
	for range files {
		err = errors.Join(err, <-written)
	}
	if err != nil {
		return err
	}
	return removeOthers(to, files)
}

// readSources are the page's own files by name, whatever their folders.
func readSources(from string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, folder := range site.Folders {
		entries, err := os.ReadDir(filepath.Join(from, folder))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			name := entry.Name()
			if !slices.Contains(sources, filepath.Ext(name)) {
				continue
			}
			if files[name], err = os.ReadFile(filepath.Join(from, folder, name)); err != nil {
				return nil, err
			}
			if filepath.Ext(name) == ".js" {
				files[name] = site.Published(files[name])
			}
		}
	}
	return files, nil
}

// addresses fills in the SHA-256 of what is fetched when it is wanted: programs, decoders, texts,
// fonts, the modules that the page does not start with, and the models that ship.
func addresses(files map[string][]byte) ([]byte, error) {
	sums, start := map[string]string{}, started(files)
	for name, content := range files {
		if kind := filepath.Ext(name); kind == ".wasm" || kind == ".json" || kind == ".ttf" || kind == ".js" && !slices.Contains(start, name) {
			sums[name] = sha(content)
		}
	}
	for _, entry := range weights.Shipped().Models {
		sums["weights/"+entry.File] = entry.SHA256
	}
	list, err := json.MarshalIndent(sums, "", "  ")
	return bytes.Replace(files["addresses.js"], []byte("/*SUMS*/ {}"), list, 1), err
}

// version is the commit, and a hash over all files as they are before some are filled in.
func version(commit string, files map[string][]byte) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256(files[name]))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %x", commit, sum.Sum(nil)[:4]))
}

// serviceWorker fills in the files that the worker keeps from the first visit, the models, decoders
// and learning that it keeps once they are used, all with their SHA-256, and the version, a hash
// over these. Modules that scripts want are not kept with those that the page starts with.
func serviceWorker(files map[string][]byte) ([]byte, error) {
	sums, models := map[string]string{}, map[string]string{}
	for name, content := range files {
		if later(name) {
			models[name] = sha(content)
		} else if name != "sw.js" {
			sums[name] = sha(content)
		}
	}
	for _, entry := range weights.Shipped().Models {
		models["weights/"+entry.File] = entry.SHA256
		card, err := os.ReadFile(filepath.Join(cards, entry.Card))
		if err != nil {
			return nil, err
		}
		sums["weights/"+entry.Card] = sha(card)
	}
	wanted, start := []string{}, started(files)
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if kind := filepath.Ext(name); (kind == ".js" || kind == ".json") && !slices.Contains(start, name) {
			wanted = append(wanted, name)
		}
	}
	list, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	text := strings.Replace(string(files["sw.js"]), "/*WANTED*/ []", string(list), 1)
	for mark, list := range map[string]map[string]string{"/*FILES*/ {}": sums, "/*MODELS*/ {}": models} {
		written, err := json.MarshalIndent(list, "", "  ") // keys are sorted
		if err != nil {
			return nil, err
		}
		text = strings.Replace(text, mark, string(written), 1)
	}
	return []byte(strings.ReplaceAll(text, "/*VERSION*/", sha([]byte(text))[:16])), nil
}

func sha(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// write stores a file and its compressed forms, if it can shrink. A hidden file beside them, which
// is written last, tells of which content and quality they are: they stay while both do.
func write(path string, content []byte, quality int) error {
	compressible := !slices.Contains([]string{".png", ".jpg"}, filepath.Ext(path))
	old, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(old, content) {
		if err := disk.WriteFile(filepath.Dir(path), filepath.Base(path), content); err != nil {
			return err
		}
	}
	if !compressible {
		return nil
	}
	stamp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".compressed")
	wanted := fmt.Appendf(nil, "%x, quality %d", sha256.Sum256(content), quality)
	if is, err := os.ReadFile(stamp); err == nil && bytes.Equal(is, wanted) && exists(path+".gz") && exists(path+".br") {
		return nil
	}
	if err := os.Remove(stamp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var gz, br bytes.Buffer
	g, _ := gzip.NewWriterLevel(&gz, gzip.BestCompression)
	b := brotli.NewWriterOptions(&br, brotli.WriterOptions{Quality: quality, LGWin: 24})
	for _, w := range []io.WriteCloser{g, b} {
		if _, err := w.Write(content); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	for _, made := range []struct {
		path    string
		content []byte
	}{{path + ".gz", gz.Bytes()}, {path + ".br", br.Bytes()}, {stamp, wanted}} {
		if err := disk.WriteFile(filepath.Dir(made.path), filepath.Base(made.path), made.content); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// removeOthers deletes what an earlier build left behind.
func removeOthers(folder string, files map[string][]byte) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		base := strings.TrimSuffix(strings.TrimSuffix(entry.Name(), ".br"), ".gz")
		if _, ok := files[base]; ok || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// limited are files whose sizes have a limit together.
type limited struct {
	what  string
	most  int
	holds func(name string) bool
	bytes int
}

// checkSize prints sizes as downloaded.
func checkSize(folder string, out io.Writer) error {
	total, groups := 0, []*limited{
		{what: "decoders, each when it is wanted", most: decoderLimit, holds: isCodec},
		{what: "what makes a PDF, when it is wanted", most: pdfLimit, holds: isPrinting},
		{what: "the program that brings marks together, when it is wanted", most: togetherLimit, holds: isTogether},
		{what: "the program that learns and what finds cells, when it is wanted", most: trainerLimit, holds: later},
		{what: "viewer and segmenter", most: programLimit, holds: func(name string) bool { return strings.HasSuffix(name, ".wasm") }},
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".br") || strings.HasSuffix(name, ".gz") {
			continue
		}
		path := filepath.Join(folder, name)
		if exists(path + ".gz") {
			path += ".gz"
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%10d  %s\n", info.Size(), name)
		if i := slices.IndexFunc(groups, func(g *limited) bool { return g.holds(name) }); i >= 0 {
			groups[i].bytes += int(info.Size())
		}
		if !later(name) {
			total += int(info.Size())
		}
	}
	for _, g := range groups {
		fmt.Fprintf(out, "%10d  %s, of at most %d\n", g.bytes, g.what, g.most)
		if g.bytes > g.most {
			return fmt.Errorf("%s: %d bytes after gzip, at most %d are allowed", g.what, g.bytes, g.most)
		}
	}
	largest := 0
	for _, entry := range weights.Shipped().Models {
		fmt.Fprintf(out, "%10d  weights/%s of at most %d\n", entry.Bytes, entry.File, weightsLimit)
		if entry.Bytes > weightsLimit {
			return fmt.Errorf("%s is %d bytes, at most %d are allowed", entry.File, entry.Bytes, weightsLimit)
		}
		largest = max(largest, entry.Bytes)
		info, err := os.Stat(filepath.Join(cards, entry.Card))
		if err != nil {
			return err
		}
		total += int(info.Size())
	}
	fmt.Fprintf(out, "%10d  before the first result: the page, its cards and the largest model; at most %d\n", total+largest, firstLimit)
	if total+largest > firstLimit {
		return fmt.Errorf("the first download is %d bytes, at most %d are allowed", total+largest, firstLimit)
	}
	return nil
}
