package evaluate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/study/score"
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
func (r *Request) open(m *weights.Model) (in *input, err error) {
	in = &input{}
	if r.Data != "" {
		if in.data, err = r.Images.Open(); err != nil {
			return nil, err
		}
		if err = in.data.As(m.Metadata.Classes); err != nil {
			return nil, fmt.Errorf("%w: give data of classes that %s segments", err, m.Metadata.Name)
		}
		if in.cases, err = r.Images.Part(in.data); err != nil {
			return nil, err
		}
	}
	if in.centres, err = readEach(r.Centres, readCentres); err != nil {
		return nil, err
	}
	in.foreign, err = readEach(r.Foreign, readForeign)
	return in, err
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
	return all, score.AsError(problems)
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
func (in *input) images(r *Request) int {
	n := len(in.cases)
	if r.Changed {
		n += len(in.cases) * len(Changes)
	}
	return n + (r.looks()-1)*photographs(in.centres) + len(in.pictures())
}
