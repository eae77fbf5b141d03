package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrprism/internal/command"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/cells"
	"mrprism/internal/output/masks"
	"mrprism/internal/output/sheet"
	"mrprism/internal/program/cli"
	"mrprism/internal/program/version"
	"mrprism/internal/segment"
	"mrprism/weights/disk"
)

// writeEvery is the least time between two writings of the table, which writes all of it.
const writeEvery = time.Second

// journal is the table of -csv. It keeps the lines of an earlier run.
type journal struct {
	path    string
	table   *sheet.Table
	dirty   bool // the file lacks lines
	written time.Time
}

// open begins the table, or with resume goes on with one. The folder out need not exist yet.
func (b *batch) open(path, out string, resume bool) (*journal, error) {
	err := disk.CheckFile(path)
	if filepath.Clean(filepath.Dir(path)) != filepath.Clean(out) {
		err = command.CheckOutputs(path)
	}
	if err != nil {
		return nil, cli.Wrong("-csv %w", err)
	}
	columns := sheet.New(b.record(item{})).Columns
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &journal{path: path, table: &sheet.Table{Table: cells.Table{Columns: columns}}}, nil
	case err != nil:
		return nil, fmt.Errorf("-csv %s: %w; name another file", path, disk.Cause(err))
	case !resume:
		return nil, cli.Wrong("-csv %s exists; give -resume to go on with it, or name another file", path)
	}
	if whole, err := (&sheet.Table{Table: cells.Table{Columns: columns}}).Bytes(); err == nil && bytes.HasPrefix(whole, data) && len(data) < len(whole) {
		b.session.Note(fmt.Sprintf("-csv %s has no whole line: it is begun anew", path))
		return &journal{path: path, table: &sheet.Table{Table: cells.Table{Columns: columns}}}, nil
	}
	table, cut, err := sheet.Read(data)
	if err != nil {
		return nil, fmt.Errorf("-csv %s is no table of this program: %w; name another file", path, err)
	}
	table.Widen(sheet.Record{}) // a table of an earlier version lacks columns
	if !slices.Equal(table.Columns, columns) {
		return nil, fmt.Errorf("-csv %s has other columns than these weights need; name another file", path)
	}
	if cut {
		b.session.Note(fmt.Sprintf("the last line of -csv %s is cut, and left out: its image is segmented again", path))
	}
	return &journal{path: path, table: table, dirty: cut}, nil
}

// record is the line of an image that has no result yet.
func (b *batch) record(it item) sheet.Record {
	about := b.session.Model.Metadata
	asked := []string{"roi=" + b.options.ROI, fmt.Sprintf("precision=%s", b.session.Precision), fmt.Sprintf("slice=%d", b.slice)}
	if slices.ContainsFunc(b.readers, func(by masks.Reader) bool { return by.Outline }) {
		asked = append(asked, "outlines")
	}
	if b.options.Eye != "" {
		asked = append(asked, "eye="+b.options.Eye)
	}
	if b.options.Recurrences != segment.Trained {
		asked = append(asked, fmt.Sprintf("recurrences=%d", b.options.Recurrences))
	}
	if b.identity {
		asked = append(asked, "identity")
	}
	for _, m := range it.marks {
		asked = append(asked, fmt.Sprintf("evidence=%s/%s=%s", m.Rater, m.Class, m.File))
	}
	return sheet.Record{Image: it.image, Slice: b.slice, Options: strings.Join(asked, " "), Classes: about.Classes, Raters: segment.Heads(&about)}
}

// done reports whether the table has an image, by the same weights and options, and its files are
// as they were written. If they are not, say hears why.
func (b *batch) done(it item, say func(error)) bool {
	r := b.record(it)
	r.Result = &sheet.Result{SHA256: b.session.Model.SHA256}
	line := b.journal.table.Find(r, "image", "options", "weights_sha256", "error")
	if line < 0 {
		return false
	}
	slice, _ := strconv.Atoi(b.journal.table.Text(line, "slice")) // 0: the file has one picture
	all, _ := strconv.Atoi(b.journal.table.Text(line, "slices"))
	err := b.verify(it.of(slice, all))
	if err != nil {
		say(err)
	}
	return err == nil
}

// verify returns an error unless an image's summary is there and has the sums of its files. With
// other images beside it, the image may have had another number, and the summary is of another one.
func (b *batch) verify(it item) error {
	data, err := os.ReadFile(it.summary)
	var s summary
	switch {
	case err != nil:
		return fmt.Errorf("%q: %w", it.summary, disk.Cause(err))
	case json.Unmarshal(data, &s) != nil:
		return fmt.Errorf("%q is cut or damaged", it.summary)
	case s.Image != imageio.Valid(it.image) || s.Weights.SHA256 != b.session.Model.SHA256:
		return fmt.Errorf("%q is of another image or of other weights", it.summary)
	}
	for _, f := range it.files {
		var sum command.Sum // none
		for _, one := range s.Files.All {
			if one.File == filepath.Base(f.path) {
				sum = one.Sum
			}
		}
		withheld := b.readers[f.reader].Outline && sum == command.Sum{}
		if err := sum.Check(f.path); err != nil && !withheld {
			return err
		}
	}
	return nil
}

// remaining leaves out the images that are done, and says how many, and why others with a line are
// segmented again.
func (b *batch) remaining(items []item, table string) []item {
	all, unsure := len(items), 0
	items = slices.DeleteFunc(items, func(it item) bool {
		return b.done(it, func(err error) {
			if errors.Is(err, command.ErrNoSum) {
				unsure++
			} else {
				b.session.Note(fmt.Sprintf("%v: %q is segmented again", err, it.image))
			}
		})
	})
	if unsure > 0 {
		b.session.Note(fmt.Sprintf("an earlier version kept no sums of the files of %d images: they are segmented again", unsure))
	}
	if done := all - len(items); done > 0 {
		b.session.Note(fmt.Sprintf("%d of %d images are in %s already", done, all, table))
	}
	return items
}

// note puts an image into the table, if there is one: its result, or why it failed.
func (b *batch) note(it item, v *segment.Result, failed error) error {
	if b.journal == nil {
		return nil
	}
	r := b.record(it)
	r.Program, r.Date = program+" "+version.Source(), time.Now().UTC().Format(time.RFC3339)
	if failed != nil {
		r.Error = failed.Error()
	} else {
		r.Slice, r.Slices = pictureOf(v)
		by := "found"
		switch {
		case v.ROI == imageio.Letterbox(v.Width, v.Height):
			by = "whole image"
		case b.options.ROI != "auto":
			by = "by hand"
		}
		r.Result = &sheet.Result{
			Width: v.Width, Height: v.Height, Model: b.session.Model.Name(), SHA256: b.session.Model.SHA256, Recurrences: v.Recurrences, Region: v.ROI, RegionBy: by,
			Device: v.Adapter, Precision: string(v.Precision), Found: v.Found, Doubt: v.Doubt, Doubts: v.Doubts, Measurements: v.Measurements,
		}
	}
	return b.journal.put(r)
}

// put adds a line, or replaces the line of the same picture, or of the same request, which may have
// failed before anybody knew which picture it is of.
func (j *journal) put(r sheet.Record) error {
	line := j.table.Find(r, "image", "slice")
	if line < 0 {
		line = j.table.Find(r, "image", "options")
	}
	j.table.Put(line, r)
	j.dirty = true
	if time.Since(j.written) < writeEvery {
		return nil
	}
	return j.write()
}

// write writes the table, if the file lacks lines. An older file is whole until the new one is.
func (j *journal) write() error {
	if j == nil || !j.dirty {
		return nil
	}
	data, err := j.table.Bytes()
	if err == nil {
		err = command.WriteFile(j.path, data)
	}
	if err != nil {
		return fmt.Errorf("-csv %s: %w; the masks are written: make room, and give -resume", j.path, disk.Cause(err))
	}
	j.dirty, j.written = false, time.Now()
	return nil
}

// imagesOf replaces folders by the images in them, and counts the other files there. The folder of
// the results is none of them: masks would be segmented in the next run.
func imagesOf(named []string, out string) (images []string, others int, err error) {
	results, failed := os.Stat(out)
	for _, path := range named {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			images = append(images, path) // reading it returns the error
			continue
		}
		if failed == nil && os.SameFile(info, results) {
			return nil, 0, fmt.Errorf("%s is the folder of the results too; name another one with -out", path)
		}
		inside, n, err := command.ImagesIn(path)
		if err != nil {
			return nil, 0, err
		}
		images, others = append(images, inside...), others+n
	}
	return images, others, nil
}
