package main

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"mrprism/internal/command/journal"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/series"
	"mrprism/internal/output/masks"
	"mrprism/weights/disk"
)

// job is a picture to be segmented.
type job struct {
	it           journal.Item
	read         func() picture
	done         <-chan picture // what read returns
	solid        *solid         // that it is a slice of; nil: of none
	slice, index int            // its number, and its place in the series
}

// solid is a series that is being segmented.
type solid struct {
	*masks.Solid
	it      journal.Item
	entries []*journal.Entry
	failed  int // slices
}

// jobs are the pictures of all items: with -slice all each slice. Series are read when their turn
// comes.
func (b *batch) jobs(items []journal.Item) iter.Seq[job] {
	return func(yield func(job) bool) {
		for _, it := range items {
			all := []job{{it: it, read: func() picture { return b.read(it) }}}
			if b.Slice == journal.All {
				all = b.slices(it)
			}
			for _, j := range all {
				if !yield(j) {
					return
				}
			}
		}
	}
}

// slices are the pictures of an item in the order of its series. If it is none, there is a picture
// that cannot be read.
func (b *batch) slices(it journal.Item) (all []job) {
	var files []series.File
	for _, name := range b.files(it.Image) {
		files = append(files, series.File{Name: name, Read: func() ([]byte, error) { return content(name) }})
	}
	s, err := series.New(it.Image, files)
	for _, f := range b.formats {
		if err == nil {
			err = f.CheckSeries(s)
		}
	}
	if err == nil {
		it.Content, err = b.sum(it.Image)
	}
	if err != nil {
		return []job{{it: it, read: func() picture { return picture{err: err} }}}
	}
	var whole *solid
	if n := len(s.Slices); n > 1 {
		b.progress.More(n - 1)
		whole = &solid{Solid: masks.NewSolid(s, b.Readers, b.Session.Model.Metadata.Classes, b.formats), it: it}
	} else if s.Slices[0].Header != nil {
		b.Session.Note(fmt.Sprintf("%s has one slice, which makes no volume", it.Image))
	}
	for i, one := range s.Slices {
		all = append(all, job{it: it, solid: whole, slice: one.Number, index: i, read: func() picture {
			m, err := s.Read(i)
			return picture{image: m, content: it.Content, err: err}
		}})
	}
	return all
}

// files are the files of an image: of a folder that is a series its slices.
func (b *batch) files(image string) []string {
	if parts := b.parts[image]; len(parts) > 0 {
		return parts
	}
	return []string{image}
}

// sum is the SHA-256 of an image's file, or that of the SHA-256 of a folder's files.
func (b *batch) sum(image string) (string, error) {
	var sums []string
	for _, name := range b.files(image) {
		data, err := content(name)
		if err != nil {
			return "", err
		}
		sums = append(sums, disk.SumOf(data).SHA256)
	}
	if len(sums) == 1 {
		return sums[0], nil
	}
	return disk.SumOf([]byte(strings.Join(sums, " "))).SHA256, nil
}

// isSlice reports whether a file is a DICOM of one grey frame, as those of a series are.
func isSlice(path string) bool {
	data, err := content(path)
	if err != nil {
		return false
	}
	info, err := imageio.Header(path, data)
	return err == nil && info.Format == "dicom" && info.Slices == 1 && info.Apart == ""
}

// whole writes a series after its last slice, w. made is false before.
func (b *batch) whole(ctx context.Context, w written) (whole written, made bool) {
	s := w.solid
	if s == nil {
		return written{}, false
	}
	if w.err != nil {
		s.failed++
	}
	s.entries = append(s.entries, w.entry)
	if all := len(s.Series.Slices); len(s.entries) < all {
		return written{}, false
	} else if s.failed > 0 {
		return written{it: s.it, err: fmt.Errorf("%s: %d of its %d slices failed, and it has no volume", s.it.Image, s.failed, all)}, true
	}
	e, err := b.WriteSeries(ctx, s.it, s.Solid, w.result, s.entries)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.it.Image, err)
	}
	return written{it: s.it, entry: e, err: err}, true
}

// describeSeries describes a series in a line.
func describeSeries(it journal.Item, e *journal.Entry) string {
	v := e.Volumes
	line := append([]string{fmt.Sprintf("%d slices", e.Slices)}, v.Gaps...)
	if v.Step > 0 {
		line[0] += fmt.Sprintf(", %.4g mm apart", v.Step)
	}
	for _, s := range v.Structures {
		if s.ML != nil {
			line = append(line, fmt.Sprintf("%s %.4g ml", s.Class, *s.ML))
		}
		if s.Low != nil {
			line[len(line)-1] += fmt.Sprintf(" (experts %.4g–%.4g)", *s.Low, *s.High)
		}
	}
	if v.Withheld != "" {
		line = append(line, strings.TrimSuffix(v.Withheld, "."))
	}
	for _, d := range e.Doubts {
		line = append(line, "DOUBTED: "+strings.TrimSuffix(d.Text, "."))
	}
	return it.Image + ": " + strings.Join(append(line, it.Entry), "; ")
}
