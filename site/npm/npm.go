// Package npm makes the package of npm by which other people's pages and programs use the page's
// worker: the files of this folder with those of the built page, the models and their cards.
package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed *.js *.ts *.json README.md
var sources embed.FS

// shared are the page's files that are in the package as they are.
var shared = []string{"segmenter.js", "correct.js", "dom.js", "addresses.js", "segmenter.wasm"}

// decoders are those that a page may be built with.
var decoders = []string{"openjpeg", "openjph", "charls"}

// Files are the package's files by name. built is the built page. others are files beside the
// page's, by name: licences, and models and cards in the folder weights.
func Files(built fs.FS, others map[string][]byte, version string) (map[string][]byte, error) {
	files := maps.Clone(others)
	names := slices.Clone(shared)
	for _, name := range decoders {
		if _, err := fs.Stat(built, name+".wasm"); err == nil {
			names = append(names, name+".wasm")
		}
	}
	own, err := fs.Glob(sources, "*")
	if err == nil {
		err = errors.Join(read(files, sources, own), read(files, built, names))
	}
	if err != nil {
		return nil, err
	}
	if files["worker.txt"], err = worker(built, len(names) > len(shared)); err != nil {
		return nil, err
	}
	var found []string // by scripts.js
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if slices.Contains([]string{".wasm", ".safetensors", ".txt"}, path.Ext(name)) {
			found = append(found, fmt.Sprintf("%q: new URL(%q, import.meta.url),", name, "./"+name))
		}
	}
	fill := strings.NewReplacer("/*FILES*/", strings.Join(found, "\n  "), "/*SUM*/", fmt.Sprintf("%x", sha256.Sum256(files["worker.txt"])))
	files["scripts.js"] = []byte(fill.Replace(string(files["scripts.js"])))
	files["package.json"] = bytes.Replace(files["package.json"], []byte("VERSION"), []byte(version), 1)
	return files, nil
}

// read adds files by name.
func read(files map[string][]byte, from fs.FS, names []string) (err error) {
	for _, name := range names {
		if files[name], err = fs.ReadFile(from, name); err != nil {
			return err
		}
	}
	return nil
}

var (
	imports  = regexp.MustCompile(`(?m)^import .*;$`)
	exported = regexp.MustCompile(`(?m)^export default (\w+);$`)
	exports  = regexp.MustCompile(`(?m)^export `)
)

// worker is one script of all workers, which imports none: a page can start it from its bytes. Each
// worker is told apart by its name.
func worker(built fs.FS, decode bool) ([]byte, error) {
	files := map[string][]byte{}
	block := func(names ...string) (text string) {
		for _, name := range names {
			text += fmt.Sprintf("{\n%s\n}\n", files[name])
		}
		return text
	}
	var codec []string
	for _, name := range decoders {
		if decode {
			codec = append(codec, name+".js")
		}
	}
	codec = append(codec, "codec.js")
	main := []string{"wasm_exec.js", "vectors.js", "gpu.js", "decoding.js", "worker.js"}
	if err := read(files, built, slices.Concat(codec, main, []string{"addresses.js"})); err != nil {
		return nil, err
	}
	for name, script := range files {
		script = imports.ReplaceAll(script, nil)
		script = exported.ReplaceAll(script, fmt.Appendf(nil, "mrprismDecoders.%s = { default: $1 };", strings.TrimSuffix(name, ".js")))
		files[name] = exports.ReplaceAll(script, nil)
	}
	return fmt.Appendf(nil, "%s\nif (name === \"codec.js\") {globalThis.mrprismDecoders = {};\n%s} else if (name === \"vectors.js\") %s else {%s}\n",
		files["addresses.js"], block(codec...), block("vectors.js"), block(main...)), nil
}

// Pack is the files as npm takes them: a gzipped tar with the folder package.
func Pack(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	packed := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := packed.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			return nil, err
		}
		if _, err := packed.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	err := zipped.Close()
	return out.Bytes(), err
}
