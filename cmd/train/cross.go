package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mrprism/internal/train"
	"mrprism/weights/disk"
)

// crossed says that this run learns from all images, so that only the runs of folds can judge it.
func (r *runner) crossed() bool { return r.options.Cross > 0 && r.options.Fold.Of == 0 }

// cross judges a run that learned from all images. For each fold it trains a run in RUN/foldI,
// which learns from the other folds' images and is compared with the model of -judge on its own
// fold. Folds that an earlier call has judged are not trained again. Then the model learns from the
// folds when to doubt it, and how far it errs.
func (r *runner) cross(ctx context.Context, began time.Time) error {
	var folds []*train.Judgement
	var models []string
	for i := range r.options.Cross {
		f := r.fold(i + 1)
		if _, err := disk.Folder(r.options.Out, filepath.Base(f.options.Out)); err != nil {
			return err
		}
		path := filepath.Join(f.options.Out, judgementName)
		if _, err := os.Stat(path); err != nil {
			r.note(fmt.Sprintf("fold %d of %d, in %s", i+1, r.options.Cross, f.options.Out))
			if err := f.follow(ctx, began); err != nil {
				return err
			}
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range []string{train.Checkpoint, train.PreviousCheckpoint} { // nobody goes on from here
			_ = os.Remove(filepath.Join(f.options.Out, name))
		}
		j := &train.Judgement{}
		if err := json.Unmarshal(data, j); err != nil {
			return fmt.Errorf("%s: %w: delete %s, and go on with -resume", path, err, f.options.Out)
		}
		folds, models = append(folds, j), append(models, f.result())
	}
	r.note("learning when to doubt the model, and how far it errs")
	d, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	whole := train.Pool(folds)
	whole.Errors, err = r.finished.LearnDoubt(ctx, d, models, func(string) error { return cmp.Or(r.enough(began), ctx.Err()) })
	if err != nil {
		return err
	}
	return r.publish(r.finished, whole)
}

// fold is the runner of a fold.
func (r *runner) fold(i int) *runner {
	f := newRunner(r.stderr)
	f.options, f.configuration, f.hours, f.stopFile, f.judge, f.open = r.options, r.configuration, r.hours, r.stopFile, r.judge, r.open
	o := &f.options
	o.Out, o.Fold = filepath.Join(o.Out, fmt.Sprintf("fold%d", i)), train.Fold{Index: i, Of: o.Cross}
	for _, p := range o.Phases { // scored once, at the end
		o.ScoreEvery += p.Epochs
	}
	if o.Init, o.Resume = r.initial, train.Saved(o.Out) >= 0; o.Resume {
		o.Init = ""
	}
	return f
}
