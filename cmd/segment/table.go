package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"mrprism/internal/command"
	"mrprism/internal/command/journal"
	"mrprism/internal/files/cells"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/output/sheet"
	"mrprism/internal/program/cli"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// writeEvery is the least time between two writings of the table, which writes all of it.
const writeEvery = time.Second

// table is the table of -csv. It keeps the lines of earlier runs.
type table struct {
	*sheet.Table
	path    string
	dirty   bool // the file lacks lines
	written time.Time
}

// open begins the table, or goes on with one. The folder out need not exist yet.
func (b *batch) open(path, out string) (*table, error) {
	err := disk.CheckFile(path)
	if filepath.Clean(filepath.Dir(path)) != filepath.Clean(out) {
		err = command.CheckOutputs(path)
	}
	if err != nil {
		return nil, cli.Wrong("-csv %w", err)
	}
	r := b.Record(journal.Item{})
	columns := sheet.New(r).Columns
	r.Volumes = &masks.Volumes{} // which a series has added
	more := sheet.New(r).Columns
	begun := &table{Table: &sheet.Table{Table: cells.Table{Columns: columns}}, path: path}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return begun, nil
	case err != nil:
		return nil, fmt.Errorf("-csv %s: %w; name another file", path, disk.Cause(err))
	}
	if whole, err := begun.Bytes(); err == nil && bytes.HasPrefix(whole, data) && len(data) < len(whole) {
		b.Session.Note(fmt.Sprintf("-csv %s has no whole line: it is begun anew", path))
		return begun, nil
	}
	read, cut, err := sheet.Read(data)
	if err != nil {
		return nil, fmt.Errorf("-csv %s is no table of this program: %w; name another file", path, err)
	}
	read.Widen(sheet.Record{}) // a table of an earlier version lacks columns
	if !slices.Equal(read.Columns, columns) && !slices.Equal(read.Columns, more) {
		return nil, fmt.Errorf("-csv %s has other columns than these weights need; name another file", path)
	}
	if cut {
		b.Session.Note(fmt.Sprintf("the last line of -csv %s is cut, and left out", path))
	}
	return &table{Table: read, path: path, dirty: cut}, nil
}

// done reports whether an image is done: its entry is of the same content, weights and options, and
// its files are as they were written. The table then has its line. The error says why an image that
// was done is not.
func (b *batch) done(it journal.Item) (bool, error) {
	r := b.Record(it)
	line := b.table.Find(r, "image", "options")
	if b.Slice == journal.All { // the line of the series, which names no slice
		line = b.table.Find(r, "image", "slice", "options")
	}
	if line >= 0 && b.Slice != journal.All {
		slice, _ := strconv.Atoi(b.table.Text(line, "slice")) // 0: the file has one picture
		all, _ := strconv.Atoi(b.table.Text(line, "slices"))
		it = it.Picture(slice, all)
	}
	e, err := b.Done(it)
	switch {
	case line < 0 && err != nil, line >= 0 && b.table.Text(line, "error") != "":
		return false, nil
	case e == nil && err == nil && line >= 0:
		return false, fmt.Errorf("%q is gone", it.Entry)
	case e == nil:
		return false, err
	case e.Image != imageio.Valid(it.Image): // which had another number, with other images beside it
		return false, fmt.Errorf("%q is of another image", it.Entry)
	case e.Options == "" && line < 0, e.Options != "" && e.Options != r.Options:
		return false, nil
	}
	if e.Content != "" {
		sum, err := b.sum(it.Image)
		if err != nil || sum != e.Content {
			return false, cmp.Or(err, errors.New("the image has changed since"))
		}
	}
	for _, one := range e.All() {
		if made := one.Record(); one.Options != "" && b.table.Find(made, "image", "slice", "weights_sha256", "options", "date") < 0 {
			if e.Volumes != nil {
				line = b.table.Find(made, "image", "slice")
			}
			b.table.Put(line, made) // the line is missing, or of an earlier result
			b.table.dirty = true
		}
	}
	return true, nil
}

// remaining leaves out the images that are done, and says how many, and why others are segmented
// again.
func (b *batch) remaining(items []journal.Item) []journal.Item {
	all, doubter := len(items), journal.Doubter{Note: b.Session.Note}
	items = slices.DeleteFunc(items, func(it journal.Item) bool {
		done, err := b.done(it)
		if err != nil {
			doubter.Say(it.Image, err)
		}
		return done
	})
	if done := all - len(items); done > 0 {
		b.Session.Note(fmt.Sprintf("%d of %d images are done already", done, all))
	}
	return items
}

// note puts an image into the table, if there is one: its result, or why it failed.
func (b *batch) note(w written) error {
	if b.table == nil {
		return nil
	}
	if w.err == nil {
		return b.table.put(w.entry.Record(), b.Slice == journal.All)
	}
	r := b.Record(w.it)
	if w.solid != nil {
		r.Slice, r.Slices = w.slice, len(w.solid.Series.Slices)
	}
	r.Date, r.Error = time.Now().UTC().Format(time.RFC3339), w.err.Error()
	return b.table.put(r, b.Slice == journal.All)
}

// put adds a line, or replaces the line of the same picture, or of the same request, which may have
// failed before anybody knew which picture it is of; not if the request is of all pictures.
func (t *table) put(r sheet.Record, all bool) error {
	line := t.Find(r, "image", "slice")
	if line < 0 && !all {
		line = t.Find(r, "image", "options")
	}
	t.Put(line, r)
	t.dirty = true
	if time.Since(t.written) < writeEvery {
		return nil
	}
	return t.write()
}

// write writes the table, if the file lacks lines. An older file is whole until the new one is.
func (t *table) write() error {
	if t == nil || !t.dirty {
		return nil
	}
	data, err := t.Bytes()
	if err == nil {
		err = weights.WriteFile(t.path, data)
	}
	if err != nil {
		return fmt.Errorf("-csv %s: %w; the masks are written: make room, and call again", t.path, disk.Cause(err))
	}
	t.dirty, t.written = false, time.Now()
	return nil
}

// imagesOf replaces folders by the images in them, and counts the other files there. The folder of
// the results is none of them: masks would be segmented in the next run. With series a folder
// stands for its DICOM files of one grey frame, which are its parts.
func imagesOf(named []string, out string, series bool) (images []string, parts map[string][]string, others int, err error) {
	parts = map[string][]string{}
	results, failed := os.Stat(out)
	for _, path := range named {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			images = append(images, path) // reading it returns the error
			continue
		}
		if failed == nil && os.SameFile(info, results) {
			return nil, nil, 0, fmt.Errorf("%s is the folder of the results too; name another one with -out", path)
		}
		inside, n, err := imageio.ImagesIn(path)
		if err != nil {
			return nil, nil, 0, err
		}
		if series {
			parts[path] = slices.Clone(inside)
			inside = slices.DeleteFunc(inside, isSlice)
			parts[path] = slices.DeleteFunc(parts[path], func(image string) bool { return slices.Contains(inside, image) })
			if len(parts[path]) > 0 {
				images = append(images, path)
			}
		}
		images, others = append(images, inside...), others+n
	}
	return images, parts, others, nil
}
