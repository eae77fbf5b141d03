package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"mrprism/internal/command"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// batch segments images one after another.
type batch struct {
	session     command.Session
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

// run segments all items. It names an image that fails and goes on with the next.
func (b *batch) run(ctx context.Context, items []item) (err error) {
	failed := 0
	defer func() { err = errors.Join(err, b.journal.write()) }()
	for _, it := range items {
		b.progress.Begin()
		result, err := b.one(ctx, it)
		b.progress.Clear()
		if ctx.Err() != nil && err != nil {
			return err
		}
		if err := b.note(it, result, err); err != nil {
			return err
		}
		switch {
		case err != nil:
			failed++
			b.progress.Note(program, err.Error())
		default:
			fmt.Fprintln(b.stdout, cli.Message(b.describe(it, result)))
		}
	}
	switch {
	case failed == 0:
		return nil
	case len(items) > 1:
		return fmt.Errorf("%d of %d images failed", failed, len(items))
	}
	return cli.Exit(cli.Failed)
}

// one segments one image and writes its files. Errors name the image.
func (b *batch) one(ctx context.Context, it item) (*segment.Result, error) {
	b.progress.Show("%s: reading", it.image)
	img, err := command.ReadSlice(it.image, b.slice)
	if err != nil {
		return nil, err
	}
	for _, f := range b.formats {
		if err := f.Check(img); err != nil {
			return nil, fmt.Errorf("%s: -format %s: %w", it.image, f.Name, err)
		}
	}
	given, err := evidence(it.marks, img)
	if err != nil {
		return nil, err
	}
	result, err := b.segment(ctx, it.image, img, given)
	if err == nil {
		b.progress.Show("%s: writing", it.image)
		err = b.write(ctx, it, result)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", it.image, err)
	}
	return result, nil
}

func (b *batch) segment(ctx context.Context, name string, img *imageio.Image, given []segment.Evidence) (result *segment.Result, err error) {
	options := b.options
	options.Evidence, options.Name = given, name
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
		result, err = e.Segment(ctx, img, options)
		return err
	})
	return result, err
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
		one, err := masks.Structures(r.Width, r.Height, []string{class}, [][]float32{by.Of(r, c)})
		if err != nil {
			return nil, err
		}
		all[class] = one[0]
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
