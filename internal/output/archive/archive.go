// Package archive writes a ZIP in parts, so that written parts need not stay in memory.
package archive

import (
	"archive/zip"
	"bytes"
	"path"
	"strings"
	"time"
)

// Writer is a ZIP that grows.
type Writer struct {
	zip  *zip.Writer
	part bytes.Buffer
}

// New begins an empty ZIP.
func New() *Writer {
	w := &Writer{}
	w.zip = zip.NewWriter(&w.part)
	return w
}

// Add adds a file. PNGs are compressed already, and are stored as they are.
func (w *Writer) Add(name string, data []byte, modified time.Time) error {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: modified}
	if strings.EqualFold(path.Ext(name), ".png") {
		header.Method = zip.Store
	}
	file, err := w.zip.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	return w.zip.Flush()
}

// Close writes the list of the files. Part then has the last part.
func (w *Writer) Close() error { return w.zip.Close() }

// Part returns the bytes of the ZIP that are new since the last call.
func (w *Writer) Part() []byte {
	part := bytes.Clone(w.part.Bytes())
	w.part.Reset()
	return part
}
