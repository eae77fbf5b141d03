package training

import (
	"context"
	"fmt"
	"strings"

	"mrprism/internal/data/dataset"
)

// open lists the data. A bad case is an error; with SkipBad open names it and leaves it out.
func (o Options) open() (*dataset.Dataset, error) {
	d, err := o.openFolders(o.Data)
	if err != nil {
		return nil, err
	}
	for _, folder := range o.Also { // each has its own raters
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

// samples reads the cases to learn from, in order. A bad case is treated as in open.
func (o Options) samples(ctx context.Context, d *dataset.Dataset, cases []dataset.Case, progress func(done, total int)) ([]*dataset.Sample, error) {
	samples, left, err := dataset.LoadSamples(ctx, d, cases, o.Anchor, progress)
	if err != nil {
		return nil, err
	}
	return samples, o.leave(left, len(samples))
}

// read reads the cases to score by. A bad case is treated as in open.
func (o Options) read(ctx context.Context, cases []dataset.Case, progress func(done, total int)) ([]*dataset.Loaded, error) {
	loaded, left, err := dataset.LoadSound(ctx, cases, progress)
	if err != nil {
		return nil, err
	}
	return loaded, o.leave(left, len(loaded))
}

// leave returns an error if cases were left out without SkipBad, or if no case is left.
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
