//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mrprism/weights"
)

// made gives the files that this program makes with Go from its sources. A machine that has neither
// takes them from a folder, into which another one has packed them.
type made struct {
	folder string // empty: nothing is packed
	pack   bool
}

// file takes a file from the folder, or builds it and, with pack, writes it there.
func (m made) file(name string, build func() ([]byte, error)) ([]byte, error) {
	path := filepath.Join(m.folder, name)
	if m.folder != "" && !m.pack {
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: write it beside the sources, with the same flags and -pack", err)
		}
		return content, err
	}
	content, err := build()
	if err == nil && m.pack {
		err = weights.WriteAtomic(path, func(w io.Writer) error { _, err := w.Write(content); return err })
	}
	return content, err
}

// pack writes all that -browser and -peers make, for the network of the flags.
func (r *request) pack(ctx context.Context, stderr io.Writer) error {
	if err := os.MkdirAll(r.made.folder, 0o777); err != nil {
		return err
	}
	if _, err := r.pageFiles(ctx, nil); err != nil {
		return err
	}
	_, err := r.exported(ctx, func(stage string) { fmt.Fprintln(stderr, stage) })
	return err
}
