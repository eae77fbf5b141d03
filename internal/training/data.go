package training

import (
	"fmt"
	"strings"

	"mrprism/internal/dataset"
)

// open lists the data. Cases at fault end the run, or are named and left out where that was asked for.
func (o Options) open() (*dataset.Dataset, error) {
	if !o.SkipBad {
		return dataset.Open(o.Data...)
	}
	d, left, err := dataset.OpenSound(o.Data...)
	o.tellSkipped(left)
	return d, err
}

// read loads the cases to train on, in order; as open does, it ends the run or leaves out what cannot be read.
func (o Options) read(cases []dataset.Case, progress func(done, total int)) ([]*dataset.Loaded, error) {
	if !o.SkipBad {
		return dataset.LoadAll(cases, progress)
	}
	loaded, left := dataset.LoadSound(cases, progress)
	o.tellSkipped(left)
	if len(loaded) == 0 {
		return nil, fmt.Errorf("no image is left to train on")
	}
	return loaded, nil
}

func (o Options) tellSkipped(left dataset.Problems) {
	if len(left) > 0 && o.Note != nil {
		o.Note("images left out:\n  " + strings.Join(left, "\n  "))
	}
}
