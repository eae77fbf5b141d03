package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"

	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// batch segments images. While the device has one, it reads those after it, and measures and writes
// those before it.
type batch struct {
	session     computing.Session
	weightsName string // as given
	options     segment.Options
	formats     []masks.Format
	readers     []masks.Reader
	identity    bool      // a DICOM SEG keeps the patient's
	day         time.Time // of the run
	slice       int       // of the files, from 1; 0: as imageio.DecodeSlice chooses
	stdout      io.Writer
	progress    *command.Progress
	journal     *journal // of -csv; nil without
}

// run segments all items, and reports them in their order. It names an image that fails and goes on
// with the next.
func (b *batch) run(ctx context.Context, items []item) (err error) {
	half := max(1, runtime.GOMAXPROCS(0)/2)
	failed, ahead, behind := 0, min(half, 4), min(half, 8) // a photograph in memory is larger than its masks
	defer func() { err = errors.Join(err, b.journal.write()) }()
	var reading []<-chan picture
	var writing []<-chan written
	report := func(most int) error { // until at most so many are written
		for len(writing) > most {
			o := <-writing[0]
			writing = writing[1:]
			b.progress.Clear()
			if ctx.Err() != nil && o.err != nil {
				return o.err
			}
			if err := b.note(o.it, o.result, o.err); err != nil {
				return err
			}
			if o.err != nil {
				failed++
				b.progress.Note(program, o.err.Error())
			} else {
				fmt.Fprintln(b.stdout, cli.Message(b.describe(o.it, o.result)))
			}
		}
		return nil
	}
	var stopped error
	for i, it := range items {
		b.progress.Begin()
		for _, next := range items[len(reading):min(i+1+ahead, len(items))] {
			reading = append(reading, apart(func() picture { return b.read(next) }))
		}
		b.progress.Show("%s: reading", it.image)
		measure, err := b.segment(ctx, it, <-reading[i])
		reading[i] = nil
		writing = append(writing, apart(func() written { return b.finish(ctx, it, measure, err) }))
		if stopped = report(behind); stopped != nil {
			break
		}
	}
	if stopped == nil {
		stopped = report(0)
	}
	for _, rest := range writing { // no file stays half written
		<-rest
	}
	switch {
	case stopped != nil:
		return stopped
	case failed == 0:
		return nil
	case len(items) > 1:
		return fmt.Errorf("%d of %d images failed", failed, len(items))
	}
	return cli.Exit(cli.Failed)
}

// apart does work beside the caller.
func apart[T any](work func() T) <-chan T {
	done := make(chan T, 1)
	go func() { done <- work() }()
	return done
}

// picture is an item's image and marks, or why they cannot be read.
type picture struct {
	image *imageio.Image
	marks []segment.Evidence
	err   error
}

// written is an item's result, whose files are written, or why there is none. The error names the
// image.
type written struct {
	it     item
	result *segment.Result
	err    error
}

func (b *batch) read(it item) (p picture) {
	if p.image, p.err = command.ReadSlice(it.image, b.slice); p.err != nil {
		return p
	}
	for _, f := range b.formats {
		if err := f.Check(p.image); err != nil {
			return picture{err: fmt.Errorf("%s: -format %s: %w", it.image, f.Name, err)}
		}
	}
	p.marks, p.err = evidence(it.marks, p.image)
	return p
}

// finish measures a result and writes its files.
func (b *batch) finish(ctx context.Context, it item, measure func() *segment.Result, err error) written {
	var r *segment.Result
	if err == nil {
		r = measure()
		it = it.of(r.Picture.Slice, r.Picture.Slices)
		if err = b.write(ctx, it, r); err != nil {
			err = fmt.Errorf("%s: %w", it.image, err)
		}
	}
	return written{it, r, err}
}

func (b *batch) segment(ctx context.Context, it item, p picture) (measure func() *segment.Result, err error) {
	if p.err != nil {
		return nil, p.err
	}
	options, name := b.options, it.image
	options.Evidence, options.Name = p.marks, name
	options.Progress = func(stage string, done, total int) {
		switch stage {
		case "search":
			b.progress.Show("%s: searching", name)
		case "mirror":
			b.progress.Show("%s: its mirror image, Rec%d of Rec%d", name, done, total-1)
		default:
			b.progress.Show("%s: Rec%d of Rec%d", name, done, total-1)
		}
	}
	err = b.session.Do(ctx, func(e *segment.Engine) error {
		measure, err = e.Begin(ctx, p.image, options)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return measure, nil
}

// write writes the maps and then the summary. All get temporary names first: if the disk is full,
// older files stay. An older summary is removed before the first map is renamed: a summary never
// stands beside maps of another run. Renaming finishes even after Ctrl-C.
func (b *batch) write(ctx context.Context, it item, r *segment.Result) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var files staged
	var withheld []string
	sums := map[string]command.Sum{}
	defer files.discard()
	for i, reader := range b.readers {
		drawing := masks.Drawing{Picture: &r.Picture, By: reader.By, Model: b.session.Model, Day: b.day, Identity: b.identity}
		structures, err := structuresOf(&r.Maps, reader)
		if err != nil {
			return err
		}
		for _, f := range it.files {
			if f.reader != i {
				continue
			}
			d := drawing
			for c, class := range r.Classes {
				if s, ok := structures[class]; ok && (f.class < 0 || f.class == c) {
					d.Structures = append(d.Structures, s)
				}
			}
			if len(d.Structures) == 0 {
				withheld = append(withheld, f.path)
				continue
			}
			content, err := f.format.Write(&d)
			if err == nil {
				sums[f.path] = command.SumOf(content)
				err = files.add(f.path, content)
			}
			if err != nil {
				return err
			}
		}
	}
	text, err := json.MarshalIndent(b.summary(it, r, sums), "", "  ")
	if err == nil {
		err = files.add(it.summary, append(text, '\n'))
	}
	if err != nil {
		return err
	}
	for _, path := range append(withheld, it.summary) { // of an earlier run
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return files.commit()
}

// structuresOf are the structures of which there is a map of a reader, by class.
func structuresOf(r *segment.Maps, by masks.Reader) (map[string]masks.Structure, error) {
	all := map[string]masks.Structure{}
	for c, class := range r.Classes {
		if !by.Has(r, c) {
			continue
		}
		one, err := by.Structure(r, c)
		if err != nil {
			return nil, err
		}
		all[class] = one
	}
	return all, nil
}

// staged are files that get their names together.
type staged []*weights.Staged

func (s *staged) add(path string, data []byte) error {
	file, err := weights.Stage(path, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err == nil {
		*s = append(*s, file)
	}
	return err
}

func (s *staged) commit() error {
	for _, file := range *s {
		if err := file.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the files that have not been committed.
func (s *staged) discard() {
	for _, file := range *s {
		file.Discard()
	}
}
