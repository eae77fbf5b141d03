package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/dataset"
	"mrprism/weights"
)

// input is what is to be judged.
type input struct {
	data    *dataset.Dataset // with the model's classes; nil without -data
	cases   []dataset.Case   // of the split
	centres []*centreSet
	foreign []*foreignSet
}

// open lists what is to be judged.
func (r *request) open(m *weights.Model) (in *input, err error) {
	in = &input{}
	if err := in.openData(r, m); err != nil {
		return nil, err
	}
	if in.centres, err = readEach(r.centres, readCentres); err != nil {
		return nil, err
	}
	if in.foreign, err = readEach(r.foreign, readForeign); err != nil {
		return nil, err
	}
	return in, nil
}

// openData opens the data sets, where any are given. Classes of the model that they lack are marked
// by nobody.
func (in *input) openData(r *request, m *weights.Model) (err error) {
	if r.data == "" {
		return nil
	}
	if in.data, err = dataset.Open(strings.Split(r.data, ",")...); err != nil {
		return err
	}
	if err = in.data.As(m.Metadata.Classes); err != nil {
		return fmt.Errorf("%w: give data of classes that %s segments", err, m.Metadata.Name)
	}
	in.cases, err = split(in.data, r.split)
	return err
}

// readEach reads every path of a list; none where the list is empty. The error is a
// dataset.Problems where that is what is wrong with several.
func readEach[T any](list string, read func(path string) (T, error)) (all []T, err error) {
	if list == "" {
		return nil, nil
	}
	paths, err := distinct(list)
	if err != nil {
		return nil, err
	}
	var problems dataset.Problems
	for _, path := range paths {
		one, err := read(path)
		if several := (dataset.Problems)(nil); errors.As(err, &several) {
			problems = append(problems, several...)
		} else if err != nil {
			problems = append(problems, err.Error())
		}
		all = append(all, one)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return all, nil
}

// images is how many pictures the program will segment, those of -changed and -turned among them.
func (in *input) images(r *request) int {
	n := len(in.cases)
	if r.changed {
		n += len(in.cases) * len(changes)
	}
	return n + r.turns()*photographs(in.centres) + len(in.foreignPaths())
}

// foreignPaths are the files of all folders.
func (in *input) foreignPaths() (paths []string) {
	for _, set := range in.foreign {
		paths = append(paths, set.paths...)
	}
	return paths
}

// check reads everything once, before minutes are computed in vain. The error is a dataset.Problems
// that names every bad file, or that of ctx.
func (in *input) check(ctx context.Context, classes []string, stderr io.Writer) error {
	paths := in.foreignPaths()
	for _, set := range in.centres {
		for _, p := range set.photographs {
			paths = append(paths, p.path)
		}
	}
	progress := command.NewProgress(stderr, len(in.cases)+len(paths))
	var problems dataset.Problems
	for _, err := range []error{checkCases(ctx, in.cases, classes, progress), checkPictures(ctx, paths, progress)} {
		if several := (dataset.Problems)(nil); errors.As(err, &several) {
			problems = append(problems, several...)
		} else if err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// checkCases reads every image, mask and truth of the cases as score will, a few cases at a time.
// The error is a dataset.Problems that names every bad file, or that of ctx.
func checkCases(ctx context.Context, cases []dataset.Case, classes []string, progress *command.Progress) error {
	defer progress.Clear()
	var problems dataset.Problems
	for few := range slices.Chunk(cases, runtime.GOMAXPROCS(0)) {
		progress.Show("%s: reading", few[0].Name)
		_, bad, err := dataset.LoadSound(ctx, few, nil)
		if err != nil {
			return err
		}
		problems = append(problems, bad...)
		for _, c := range few {
			progress.Begin()
			for _, class := range classes {
				if _, err := readTruth(c, class); err != nil {
					problems = append(problems, err.Error())
				}
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// split picks the cases.
func split(d *dataset.Dataset, name string) (cases []dataset.Case, err error) {
	switch name {
	case "heldout":
		cases = d.HeldOut()
	case "train":
		cases = d.Training()
	default:
		cases = d.Cases
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s: no images in the split %s; every fifth image is held out, so give at least %d, or -split all", d.Name, name, dataset.HoldOut)
	}
	return cases, nil
}
