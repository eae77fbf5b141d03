//go:build !js

package measure

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mrprism/weights"
)

// Packed are the files that a program makes with Go from its sources. A machine that has neither
// takes them from the folder "packed" beside the program, into which another machine has put them.
type Packed struct {
	Folder string // empty: there is none, and every file is made
	Write  bool   // files are made, and put there
}

// Beside is the folder beside this program, if there is one.
func Beside() Packed {
	program, err := os.Executable()
	folder := filepath.Join(filepath.Dir(program), "packed")
	if _, missing := os.Stat(folder); err != nil || missing != nil {
		return Packed{}
	}
	return Packed{Folder: folder}
}

// File takes a file from the folder, or makes it.
func (p Packed) File(name string, build func() ([]byte, error)) ([]byte, error) {
	path := filepath.Join(p.Folder, name)
	if p.Folder != "" && !p.Write {
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: write it beside the sources, by pack %s and the same flags", err, p.Folder)
		}
		return content, err
	}
	content, err := build()
	if err == nil && p.Write {
		if err = os.MkdirAll(p.Folder, 0o777); err != nil {
			return nil, err
		}
		err = weights.WriteAtomic(path, func(w io.Writer) error { _, err := w.Write(content); return err })
	}
	return content, err
}
