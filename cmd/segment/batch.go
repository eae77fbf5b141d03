package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"mrprism/internal/command"
	"mrprism/internal/command/journal"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/weights/disk"
)

// batch segments images. While the device has one, it reads those after it, and measures and writes
// those before it.
type batch struct {
	journal.Run
	formats        []masks.Format
	stdout, stderr io.Writer
	progress       *command.Progress
	json, quiet    bool   // what is printed of an image
	table          *table // of -csv; nil without
}

// run segments all items, and reports them in their order. It names an image that fails and goes on
// with the next.
func (b *batch) run(ctx context.Context, items []journal.Item) (err error) {
	half := max(1, runtime.GOMAXPROCS(0)/2)
	failed, ahead, behind := 0, min(half, 4), min(half, 8) // a photograph in memory is larger than its masks
	defer func() { err = errors.Join(err, b.table.write()) }()
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
			if err := b.note(o); err != nil {
				return err
			}
			if o.err != nil {
				failed++
				command.NewProgress(b.stderr, 0).Note(program, o.err.Error())
			}
			if err := b.print(o); err != nil {
				return err
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
		b.progress.Show("%s: reading", it.Image)
		p := <-reading[i]
		it.Content = p.content
		measure, err := b.segment(ctx, it, p)
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

// print prints a line for people or for programs, in which a failed image has its name and the
// error.
func (b *batch) print(w written) error {
	switch {
	case b.json:
		if w.err != nil {
			return json.NewEncoder(b.stdout).Encode(map[string]string{"image": imageio.Valid(w.it.Image), "error": w.err.Error()})
		}
		return json.NewEncoder(b.stdout).Encode(w.entry)
	case w.err == nil && !b.quiet:
		fmt.Fprintln(b.stdout, cli.Message(b.describe(w.it, w.result)))
	}
	return nil
}

// apart does work beside the caller.
func apart[T any](work func() T) <-chan T {
	done := make(chan T, 1)
	go func() { done <- work() }()
	return done
}

// picture is an item's image and marks, or why they cannot be read.
type picture struct {
	image   *imageio.Image
	content string // SHA-256 of the file
	marks   []segment.Evidence
	err     error
}

// written is an item's result, whose files are written, or why there is none. The error names the
// image.
type written struct {
	it     journal.Item
	result *segment.Result
	entry  *journal.Entry
	err    error
}

// content is that of an image's file or, of the image -, of the standard input.
func content(image string) ([]byte, error) {
	if image == stdin {
		return input()
	}
	return imageio.ReadContent(image)
}

const stdin = "-"

var input = sync.OnceValues(func() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(os.Stdin, imageio.MaxFile+1))
	if err == nil {
		err = imageio.CheckSize("the standard input", int64(len(data)))
	}
	return data, err
})

func (b *batch) read(it journal.Item) (p picture) {
	data, err := content(it.Image)
	if err != nil {
		return picture{err: err}
	}
	p.content = disk.SumOf(data).SHA256
	if p.image, p.err = imageio.DecodeSlice(it.Image, data, b.Slice); p.err != nil {
		return p
	}
	for _, f := range b.formats {
		if err := f.Check(p.image); err != nil {
			return picture{err: fmt.Errorf("%s: -format %s: %w", it.Image, f.Name, err)}
		}
	}
	p.marks, p.err = evidence(it.Marks, p.image)
	return p
}

// finish measures a result and writes its files.
func (b *batch) finish(ctx context.Context, it journal.Item, measure func() *segment.Result, err error) written {
	w := written{it: it, err: err}
	if err == nil {
		w.result = measure()
		w.it = it.Picture(w.result.Picture.Slice, w.result.Picture.Slices)
		if w.entry, err = b.Write(ctx, w.it, w.result); err != nil {
			w.err = fmt.Errorf("%s: %w", it.Image, err)
		}
	}
	return w
}

func (b *batch) segment(ctx context.Context, it journal.Item, p picture) (measure func() *segment.Result, err error) {
	if p.err != nil {
		return nil, p.err
	}
	options, name := b.Options, it.Image
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
	err = b.Session.Do(ctx, func(e *segment.Engine) error {
		measure, err = e.Begin(ctx, p.image, options)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return measure, nil
}
