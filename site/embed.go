// Package site is the page: the files that `make site` builds in site/dist, and the handler that
// serves them on this machine.
package site

import (
	"embed"
	"errors"
	"io/fs"
	"regexp"
)

//go:embed all:dist
var dist embed.FS

// ErrNotBuilt says that this program was compiled before the site was.
var ErrNotBuilt = errors.New("the site is not built into this program: run `make site`, then build again (`make run` does both)")

// Policy is the content security policy of every response. cmd/bundle also writes it into
// index.html, for other hosts. It admits our own files and WebAssembly, and worker URLs only
// through the one policy that segmenter.js creates. Chromium 156 does not know webrtc yet, and says
// so in the console.
const Policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; img-src 'self' blob: data:; " +
	"style-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types mrprism; webrtc 'block'"

// Folders have the page's sources, the first one those that belong to no task.
var Folders = []string{".", "page", "review", "draw", "study", "learn", "worker", "words", "field", "series"}

var elsewhere, comment = regexp.MustCompile(`"\.\./[a-z]+/([^"/]+\.js)"`), regexp.MustCompile(`(?m)^[ \t]*//.*$`)

// Published is a script as the site has it: all scripts have addresses in one folder, which imports
// then do not name, and comments are empty lines.
func Published(script []byte) []byte {
	return comment.ReplaceAll(elsewhere.ReplaceAll(script, []byte(`"./$1"`)), nil)
}

// Built returns the built site, or ErrNotBuilt.
func Built() (fs.FS, error) {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"index.html", "viewer.wasm", "segmenter.wasm", "sw.js"} {
		if _, err := fs.Stat(sub, name); err != nil {
			return nil, ErrNotBuilt
		}
	}
	return sub, nil
}
