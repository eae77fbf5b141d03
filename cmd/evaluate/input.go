package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/weights"
)

// input is everything that the program scores.
type input struct {
	data    *dataset.Dataset // with the model's classes; nil without -data
	cases   []dataset.Case   // of the split
	centres []*album
	foreign []*album
}

// open opens the data sets and lists the pictures. Classes of the model that the data lacks have no
// marks.
func (r *request) open(m *weights.Model) (in *input, err error) {
	in = &input{}
	if r.data != "" {
		if in.data, err = openDivided(r.split, strings.Split(r.data, ",")...); err != nil {
			return nil, err
		}
		if err = in.data.As(m.Metadata.Classes); err != nil {
			return nil, fmt.Errorf("%w: give data of classes that %s segments", err, m.Metadata.Name)
		}
		if in.cases, err = partOf(in.data, r.on); err != nil {
			return nil, err
		}
	}
	if in.centres, err = readEach(r.centres, readCentres); err != nil {
		return nil, err
	}
	in.foreign, err = readEach(r.foreign, readForeign)
	return in, err
}

// parts are the values of -on.
var parts = []string{"test", "validation", "train", "all"}

// partNames are parts for people.
const partNames = "test, validation, train or all"

// openDivided opens data sets, divided as a split's file says; an empty file: as their folders say.
func openDivided(split string, folders ...string) (*dataset.Dataset, error) {
	data, err := dataset.Open(folders...)
	if err == nil && split != "" {
		err = data.Divide(split)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// partOf is a part of a data set's images. An empty part is an error.
func partOf(d *dataset.Dataset, on string) ([]dataset.Case, error) {
	cases := map[string][]dataset.Case{"test": d.HeldOut(), "validation": d.Validation(), "train": d.Training(), "all": d.Cases}[on]
	switch {
	case len(cases) > 0:
		return cases, nil
	case len(d.Splits) > 0:
		return nil, fmt.Errorf("%s: its split has no images for %s; list some, or give another -on", d.Name, on)
	case on == "validation":
		return nil, fmt.Errorf("%s has no split, and without one there are no validation images: write %s, or name a file by -split", d.Name, dataset.SplitFile)
	}
	return nil, fmt.Errorf("%s: no images for %s; every fifth image is held out: give at least %d images, or -on all", d.Name, on, dataset.HoldOut)
}

// readEach reads every path of a list; an empty list has none. The error is a dataset.Problems with
// the problems of all paths.
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
	return all, orNil(problems)
}

// orNil is the problems as an error; nil without problems.
func orNil(problems dataset.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// distinct splits paths at commas. It refuses empty paths, paths that do not exist, and two paths
// of the same file.
func distinct(text string) (paths []string, err error) {
	var infos []os.FileInfo
	for path := range strings.SplitSeq(text, ",") {
		if path = strings.TrimSpace(path); path == "" {
			return nil, fmt.Errorf("%q: a name is empty; remove the comma or give the name", text)
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot be read (%w)", path, errors.Unwrap(err))
		}
		if again := slices.IndexFunc(infos, func(other os.FileInfo) bool { return os.SameFile(info, other) }); again >= 0 {
			return nil, fmt.Errorf("%s and %s are the same and would count twice; name it once", paths[again], path)
		}
		paths, infos = append(paths, path), append(infos, info)
	}
	return paths, nil
}

// pictures lists the image files of a folder in sorted order, without hidden files.
func pictures(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); command.HoldsImage(path) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// pictures lists the files of -centres and -foreign.
func (in *input) pictures() (paths []string) {
	for _, a := range slices.Concat(in.centres, in.foreign) {
		for _, p := range a.photographs {
			paths = append(paths, p.path)
		}
	}
	return paths
}

// images is the number of pictures to segment, with those of -changed and -turned.
func (in *input) images(r *request) int {
	n := len(in.cases)
	if r.changed {
		n += len(in.cases) * len(changes)
	}
	return n + (r.looks()-1)*photographs(in.centres) + len(in.pictures())
}

// checkImages reads every image, mask and truth, and every other picture, once before the long computation begins. The error is a
// dataset.Problems that names every bad file, or that of ctx.
func checkImages(ctx context.Context, cases []dataset.Case, pictures, classes []string, stderr io.Writer) error {
	progress := command.NewProgress(stderr, len(cases)+len(pictures))
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
	for _, path := range pictures {
		if err := ctx.Err(); err != nil {
			return err
		}
		progress.Begin()
		progress.Show("%s: reading", path)
		if _, err := command.ReadImage(path); err != nil {
			problems = append(problems, err.Error())
		}
	}
	return orNil(problems)
}
