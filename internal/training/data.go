package training

import (
	"context"
	"fmt"
	"strings"

	"mrprism/internal/dataset"
)

// open lists the data. Cases at fault end the run, or are named and left out where that was asked for.
func (o Options) open() (*dataset.Dataset, error) {
	d, err := o.openFolders(o.Data)
	if err != nil {
		return nil, err
	}
	for _, folder := range o.Also { // each has raters of its own
		others, err := o.openFolders([]string{folder})
		if err != nil {
			return nil, err
		}
		if err := d.Add(others); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (o Options) openFolders(folders []string) (*dataset.Dataset, error) {
	if !o.SkipBad {
		return dataset.Open(folders...)
	}
	d, left, err := dataset.OpenSound(folders...)
	o.tellSkipped(left)
	return d, err
}

// samples reads the cases to learn from, in order; as open does, it ends the run or leaves out what cannot be read.
func (o Options) samples(ctx context.Context, d *dataset.Dataset, cases []dataset.Case, progress func(done, total int)) ([]*dataset.Sample, error) {
	samples, left, err := dataset.LoadSamples(ctx, d, cases, o.Anchor, progress)
	if err != nil {
		return nil, err
	}
	return samples, o.leave(left, len(samples))
}

// read reads the cases to score by, likewise.
func (o Options) read(ctx context.Context, cases []dataset.Case, progress func(done, total int)) ([]*dataset.Loaded, error) {
	loaded, left, err := dataset.LoadSound(ctx, cases, progress)
	if err != nil {
		return nil, err
	}
	return loaded, o.leave(left, len(loaded))
}

// leave ends the run where anything is left out and that was not asked for, or where nothing else is there.
func (o Options) leave(left dataset.Problems, sound int) error {
	if len(left) > 0 && !o.SkipBad {
		return left
	}
	o.tellSkipped(left)
	if len(left) > 0 && sound == 0 {
		return fmt.Errorf("none of the images can be read")
	}
	return nil
}

func (o Options) tellSkipped(left dataset.Problems) {
	if len(left) > 0 {
		o.tell(fmt.Sprintf("left out (%d):\n  %s", len(left), strings.Join(left, "\n  ")))
	}
}
