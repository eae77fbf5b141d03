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
	"mrprism/internal/imageio"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// maxFile bounds what is read into memory for one image; decoding has its own limits on what is inside.
const maxFile = 1 << 30

// batch segments images one after another.
type batch struct {
	session     command.Session
	weightsName string // as given
	options     segment.Options
	stdout      io.Writer
	progress    *command.Progress
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
			fmt.Fprintf(stderr, "%s: %v\n", program, err)
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

// one segments one image and writes its files. It returns a line about it; errors name the image.
func (b *batch) one(ctx context.Context, it item) (string, error) {
	b.progress.Show("%s: reading", it.image)
	img, err := read(it.image)
	if err != nil {
		return "", err
	}
	result, err := b.segment(ctx, it.image, img)
	if err != nil {
		return "", fmt.Errorf("%s: %w", it.image, err)
	}
	b.progress.Show("%s: writing", it.image)
	if err := b.write(ctx, it, result); err != nil {
		return "", fmt.Errorf("%s: %w", it.image, err)
	}
	return describe(it, result), nil
}

// pattern is what a shell takes for the images in a folder.
func pattern(folder string) string {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		switch extension := filepath.Ext(e.Name()); strings.ToLower(extension) {
		case ".png", ".jpg", ".jpeg":
			return "e.g. " + filepath.Join(folder, "*"+extension)
		}
	}
	return "of which there are none (.png, .jpg)"
}

// read decodes a file; every error names it.
func read(path string) (*imageio.Image, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; give its images, %s", path, pattern(path))
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

func (b *batch) segment(ctx context.Context, name string, img *imageio.Image) (result *segment.Result, err error) {
	options := b.options
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

// write writes the maps, and last the summary; one that is there from before goes first, so that it never stands beside other maps. All is
// on the disk before anything takes its name, so that what is there stays where the disk is full, and what has begun is finished even after Ctrl-C.
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
	var staged []*weights.Staged
	defer func() {
		for _, s := range staged {
			s.Discard()
		}
	}()
	for _, f := range all {
		s, err := weights.Stage(f.path, func(w io.Writer) error { _, err := w.Write(f.data); return err })
		if err != nil {
			return err
		}
		staged = append(staged, s)
	}
	if err := os.Remove(it.summary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, s := range staged {
		if err := s.Commit(); err != nil {
			return err
		}
	}
	return nil
}
