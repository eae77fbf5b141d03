package training

import (
	"errors"
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

// sound returns what was loaded. Without SkipBad a case that was left out is an error; with it,
// sound names the case, and only a set without any sound case is an error.
func sound[T any](o Options, loaded []T, left dataset.Problems, err error) ([]T, error) {
	switch {
	case err != nil || len(left) == 0:
		return loaded, err
	case !o.SkipBad:
		return nil, left
	}
	o.tellSkipped(left)
	if len(loaded) == 0 {
		return nil, errors.New("none of the images can be read")
	}
	return loaded, nil
}

func (o Options) tellSkipped(left dataset.Problems) {
	if len(left) > 0 {
		o.tell(fmt.Sprintf("left out (%d):\n  %s", len(left), strings.Join(left, "\n  ")))
	}
}
