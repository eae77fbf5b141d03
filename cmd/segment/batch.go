package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
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
	parts          map[string][]string // files of a folder that is a series
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
	next, stop := iter.Pull(b.jobs(items))
	defer stop()
	var reading []job
	var writing []<-chan written
	begun := 0
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
			if whole, made := b.whole(ctx, o); made {
				if err := errors.Join(b.note(whole), b.print(whole)); err != nil {
					return err
				}
				if whole.err != nil {
					failed++
					begun++
					command.NewProgress(b.stderr, 0).Note(program, whole.err.Error())
				}
			}
		}
		return nil
	}
	var stopped error
	for {
		for len(reading) <= ahead {
			j, more := next()
			if !more {
				break
			}
			j.done = apart(j.read)
			reading = append(reading, j)
		}
		if len(reading) == 0 {
			break
		}
		j := reading[0]
		reading = reading[1:]
		b.progress.Begin()
		begun++
		b.progress.Show("%s: reading", j.it.Image)
		p := <-j.done
		j.it.Content = p.content
		measure, err := b.segment(ctx, j.it, p)
		writing = append(writing, apart(func() written { return b.finish(ctx, j, measure, err) }))
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
	case begun > 1:
		return fmt.Errorf("%d of %d images failed", failed, begun)
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
	case w.err == nil && !b.quiet && w.result == nil:
		fmt.Fprintln(b.stdout, cli.Message(describeSeries(w.it, w.entry)))
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
	solid  *solid // that the picture is a slice of; nil: of none
	slice  int    // its number there
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
func (b *batch) finish(ctx context.Context, j job, measure func() *segment.Result, err error) written {
	w := written{it: j.it, err: err, solid: j.solid, slice: j.slice}
	if err != nil {
		return w
	}
	w.result = measure()
	if w.it = j.it.Picture(w.result.Picture.Slice, w.result.Picture.Slices); j.solid != nil {
		w.it = j.it.Slice(j.slice, len(j.solid.Series.Slices))
		err = j.solid.Add(j.index, &w.result.Maps)
	}
	if err == nil {
		w.entry, err = b.Write(ctx, w.it, w.result)
	}
	if err != nil {
		w.err = fmt.Errorf("%s: %w", j.it.Image, err)
	}
	return w
}

func (b *batch) segment(ctx context.Context, it journal.Item, p picture) (measure func() *segment.Result, err error) {
	if p.err != nil {
		return nil, p.err
	}
	options, name := b.Options, it.Image
	options.Evidence, options.Name, options.Keep = p.marks, name, true
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
	if !slices.ContainsFunc(b.formats, func(f masks.Format) bool { return f.Pixels }) {
		return measure, nil
	}
	begun := measure
	return func() *segment.Result {
		r := begun()
		r.Picture.Pix = p.image.Pix
		return r
	}, nil
}
