package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"mrprism/internal/app/command"
	"mrprism/internal/app/segment"
	"mrprism/internal/data/imageio"
	"mrprism/weights"
)

// batch segments images one after another.
type batch struct {
	session     command.Session
	weightsName string // as given
	options     segment.Options
	slice       int // of the files, from 1; 0: as imageio.DecodeSlice chooses
	stdout      io.Writer
	progress    *command.Progress
}

// run segments all items. It names an image that fails and goes on with the next.
func (b *batch) run(ctx context.Context, items []item) error {
	failed := 0
	for _, it := range items {
		b.progress.Begin()
		line, err := b.one(ctx, it)
		b.progress.Clear()
		switch {
		case ctx.Err() != nil && err != nil:
			return err
		case err != nil:
			failed++
			b.progress.Note(program, err.Error())
		default:
			fmt.Fprintln(b.stdout, line)
		}
	}
	switch {
	case failed == 0:
		return nil
	case len(items) > 1:
		return fmt.Errorf("%d of %d images failed", failed, len(items))
	}
	return command.Exit(command.Failed)
}

// one segments one image, writes its files and returns a line about it. Errors name the image.
func (b *batch) one(ctx context.Context, it item) (string, error) {
	b.progress.Show("%s: reading", it.image)
	img, err := command.ReadSlice(it.image, b.slice)
	if err != nil {
		return "", err
	}
	given, err := evidence(it.marks, img)
	if err != nil {
		return "", err
	}
	result, err := b.segment(ctx, it.image, img, given)
	if err == nil {
		b.progress.Show("%s: writing", it.image)
		err = b.write(ctx, it, result)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", it.image, err)
	}
	return describe(it, result), nil
}

func (b *batch) segment(ctx context.Context, name string, img *imageio.Image, given []segment.Evidence) (result *segment.Result, err error) {
	options := b.options
	options.Evidence = given
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
	var staged []*weights.Staged
	defer func() {
		for _, s := range staged {
			s.Discard()
		}
	}()
	stage := func(path string, data []byte, err error) error {
		if err != nil {
			return err
		}
		s, err := weights.Stage(path, func(w io.Writer) error { _, err := w.Write(data); return err })
		if err == nil {
			staged = append(staged, s)
		}
		return err
	}
	for c := range r.Classes {
		maps, paths := [][]float32{r.Probability(c)}, []string{it.masks[c]}
		for m := range r.Raters {
			maps, paths = append(maps, r.Rater(m, c)), append(paths, it.raters[m][c])
		}
		if len(it.marks) > 0 {
			maps, paths = append(maps, r.Others(c)), append(paths, it.others[c])
		}
		for i, path := range paths {
			data, err := imageio.EncodeProbability(r.Width, r.Height, maps[i])
			if err := stage(path, data, err); err != nil {
				return err
			}
		}
	}
	text, err := json.MarshalIndent(b.summary(it, r), "", "  ")
	if err := stage(it.summary, append(text, '\n'), err); err != nil {
		return err
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
