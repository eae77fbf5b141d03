package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// codecsFolder is where npm installs the packages @cornerstonejs/codec-* (site.mk).
var codecsFolder = filepath.Join("build", "codecs", "node_modules", "@cornerstonejs")

type codec struct{ name, file, starts string }

// codecs are the decoders that the page loads when it is given such a picture: files of npm's
// packages @cornerstonejs/codec-*, and what their script calls the function that starts them.
var codecs = []codec{
	{"openjpeg", "codec-openjpeg/dist/openjpegwasm_decode", "OpenJPEGWASM"},
	{"openjph", "codec-openjph/dist/openjphjs", "Module"},
	{"charls", "codec-charls/dist/charlswasm_decode", "CharLSWASM"},
}

// addCodecs adds the decoders in folder, each a module and its program, to files. If npm has not
// installed them, the page is built without them, and says so when it is given such a picture.
func addCodecs(files map[string][]byte, folder string) error {
	for _, c := range codecs {
		script, err := os.ReadFile(filepath.Join(folder, c.file+".js"))
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(os.Stderr, "bundle: no decoders of JPEG 2000, HTJ2K and JPEG-LS, which npm installs: the page will refuse such DICOM files")
			return nil
		} else if err != nil {
			return err
		}
		files[c.name+".js"] = append(script, "\nexport default "+c.starts+";\n"...)
		if files[c.name+".wasm"], err = os.ReadFile(filepath.Join(folder, c.file+".wasm")); err != nil {
			return err
		}
	}
	return nil
}

// isCodec reports whether a file is the script or the program of a decoder, or the worker that runs
// it, which are kept once they are used.
func isCodec(name string) bool {
	base := strings.TrimSuffix(strings.TrimSuffix(name, ".js"), ".wasm")
	return base == "codec" || slices.ContainsFunc(codecs, func(c codec) bool { return c.name == base })
}
