package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/gpu"
	"mrprism/internal/imageio"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// maxFile bounds what is read into memory for one image; decoding has its own limits on what is inside.
const maxFile = 1 << 30

// batch segments images one after another.
type batch struct {
	model       *weights.Model
	weightsName string // as given
	options     segment.Options
	open        func(ctx context.Context, note func(string)) (gpu.Device, error)
	note        func(string)
	stdout      io.Writer
	progress    *command.Progress

	device gpu.Device
	engine *segment.Engine
}

// ready opens the device and compiles the network, where that is not done.
func (b *batch) ready(ctx context.Context) (err error) {
	if b.engine != nil {
		return nil
	}
	b.progress.Show("preparing the network")
	defer b.progress.Clear()
	if b.device, err = b.open(ctx, b.say); err != nil {
		return err
	}
	if b.engine, err = segment.New(ctx, b.device, b.model); err != nil {
		b.close()
		return fmt.Errorf("-weights %s: %w", b.weightsName, err)
	}
	return nil
}

func (b *batch) say(text string) {
	b.progress.Clear()
	b.note(text)
}

func (b *batch) close() {
	if b.engine != nil {
		b.engine.Close()
	}
	if b.device != nil {
		b.device.Close() // of a device that fails here nothing is wanted any more
	}
	b.engine, b.device = nil, nil
}

// run segments all items and returns the exit code. One that fails is named and does not stop the others.
func (b *batch) run(ctx context.Context, dir string, items []item, stderr io.Writer) int {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return command.Fail(ctx, stderr, program, fmt.Errorf("cannot make the folder for the results: %w", err))
	}
	failed := 0
	for _, it := range items {
		b.progress.Begin()
		line, err := b.one(ctx, it)
		b.progress.Clear()
		switch {
		case ctx.Err() != nil && err != nil:
			return command.Fail(ctx, stderr, program, err)
		case err != nil:
			failed++
			fmt.Fprintf(stderr, "%s: %s\n", program, named(it.image, err))
		default:
			fmt.Fprintln(b.stdout, line)
		}
	}
	if failed > 0 && len(items) > 1 {
		fmt.Fprintf(stderr, "%s: %d of %d images failed\n", program, failed, len(items))
	}
	if failed > 0 {
		return command.Failed
	}
	return command.Done
}

// named is the error's text with the file's name, once.
func named(file string, err error) string {
	if strings.Contains(err.Error(), file) {
		return err.Error()
	}
	return file + ": " + err.Error()
}

// one segments one image and writes its files. It returns a line about it.
func (b *batch) one(ctx context.Context, it item) (string, error) {
	b.progress.Show("%s: reading", it.image)
	img, err := read(it.image)
	if err != nil {
		return "", err
	}
	result, err := b.segment(ctx, it.image, img)
	if err != nil {
		return "", err
	}
	b.progress.Show("%s: writing", it.image)
	if err := b.write(ctx, it, result); err != nil {
		return "", err
	}
	return describe(it, result), nil
}

func read(path string) (*imageio.Image, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; give its images, e.g. %s", path, filepath.Join(path, "*.png"))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not an ordinary file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is too large: %d MB; export it as a PNG or JPEG of at most %d million pixels", path, info.Size()>>20, imageio.MaxPixels/1_000_000)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return imageio.Decode(path, data)
}

// segment computes. A device that was lost is opened again, once an image.
func (b *batch) segment(ctx context.Context, name string, img *imageio.Image) (*segment.Result, error) {
	options := b.options
	options.Progress = func(stage string, done, total int) {
		switch stage {
		case "search":
			b.progress.Show("%s: searching", name)
		default:
			b.progress.Show("%s: Rec%d of Rec%d", name, done, total-1)
		}
	}
	for attempt := 0; ; attempt++ {
		if err := b.ready(ctx); err != nil {
			return nil, err
		}
		result, err := b.engine.Segment(ctx, img, options)
		if errors.Is(err, gpu.ErrLost) {
			b.close()
			if attempt == 0 && ctx.Err() == nil {
				b.say(fmt.Sprintf("%s: %v; opening the device again", name, err))
				continue
			}
		}
		return result, err
	}
}

// write writes the maps, and last the summary; one that is there from before goes first, so that it never stands beside other maps. All is
// encoded before anything is touched, and what has begun is finished even after Ctrl-C.
func (b *batch) write(ctx context.Context, it item, r *segment.Result) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	type file struct {
		path string
		data []byte
	}
	var all []file
	for c := range r.Classes {
		data, err := imageio.EncodeProbability(r.Width, r.Height, r.Probability(c))
		if err != nil {
			return err
		}
		all = append(all, file{it.masks[c], data})
		for m := range r.Raters {
			if data, err = imageio.EncodeProbability(r.Width, r.Height, r.Rater(m, c)); err != nil {
				return err
			}
			all = append(all, file{it.raters[m][c], data})
		}
	}
	text, err := json.MarshalIndent(b.summary(it, r), "", "  ")
	if err != nil {
		return err
	}
	all = append(all, file{it.summary, append(text, '\n')})
	if err := os.Remove(it.summary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range all {
		if err := weights.WriteAtomic(f.path, func(w io.Writer) error { _, err := w.Write(f.data); return err }); err != nil {
			return err
		}
	}
	return nil
}
